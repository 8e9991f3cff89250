package scripted

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"unicode/utf16"

	"github.com/messaging-go/messaging"
)

// Success and Failure are the bodies of a response to any send.
const (
	Success = `{"success":true,"data":null,"message":"Done"}`
	Failure = `{"success":false,"message":"No."}`
)

// MaxKeptBody is how much of the body of an error response is kept.
const MaxKeptBody = 64 << 10

// NestedArrays returns JSON arrays within each other.
func NestedArrays(levels int) string {
	return strings.Repeat("[", levels) + strings.Repeat("]", levels)
}

// UTF16 encodes text in UTF-16, little-endian, with a byte order mark.
func UTF16(text string) string {
	encoded := []byte{0xFF, 0xFE}
	for _, unit := range utf16.Encode([]rune(text)) {
		encoded = append(encoded, byte(unit), byte(unit>>8))
	}
	return string(encoded)
}

// Gzip compresses text.
func Gzip(text string) string {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return packed.String()
}

// FieldErrors returns the errors of several fields. Its arguments are a field and
// its messages in turn; bars separate several messages of one field.
func FieldProblems(fieldsAndMessages ...string) []messaging.FieldProblem {
	var all []messaging.FieldProblem
	for i := 0; i < len(fieldsAndMessages); i += 2 {
		messages := strings.Split(fieldsAndMessages[i+1], "|")
		all = append(all, messaging.FieldProblem{Field: fieldsAndMessages[i], Messages: messages})
	}
	return all
}
