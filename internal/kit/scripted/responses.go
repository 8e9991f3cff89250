package scripted

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
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

// Gzip compresses text.
func Gzip(text string) string {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return packed.String()
}
