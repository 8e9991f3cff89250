package inspector

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"
)

// unknownHint says at a member that the operation does not have it.
func unknownHint(path, meant string) string {
	if strings.HasPrefix(path, "payload.") && !strings.HasPrefix(path, "payload.customer.") {
		return "not a parameter of the event" + didYouMean(meant)
	}
	return "not a key of this request" + didYouMean(meant)
}

// syntaxError is where a body stops being JSON.
type syntaxError struct {
	Before, At, After string
	Line, Column      int // from 1, in characters
	Problem           string
}

// newSyntaxError returns nil if a body is JSON, is empty or does not look like JSON.
func newSyntaxError(body []byte) *syntaxError {
	if text := bytes.TrimLeft(body, " \t\r\n"); len(text) == 0 || !strings.ContainsRune(`{["`, rune(text[0])) {
		return nil
	}
	var value json.RawMessage
	var syntax *json.SyntaxError
	if err := json.Unmarshal(body, &value); !errors.As(err, &syntax) {
		return nil
	}
	at := int(syntax.Offset) - 1 // the offset is behind the character
	if strings.HasPrefix(syntax.Error(), "unexpected end") {
		at = len(body)
	}
	before := body[:at]
	for at < len(body) && !utf8.RuneStart(body[at]) {
		at--
		before = body[:at]
	}
	_, size := utf8.DecodeRune(body[at:])
	line := bytes.LastIndexByte(before, '\n') + 1
	return &syntaxError{Before: validText(before), At: validText(body[at : at+size]), After: validText(body[at+size:]),
		Line: bytes.Count(before, []byte("\n")) + 1, Column: utf8.RuneCount(before[line:]) + 1, Problem: syntax.Error()}
}

// validText returns a text with its invalid UTF-8 replaced.
func validText(text []byte) string { return strings.ToValidUTF8(string(text), string(utf8.RuneError)) }
