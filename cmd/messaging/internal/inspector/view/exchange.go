package view

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
)

// exchange is a request and its response.
type exchange struct {
	*history.Entry
	QueryProblems     map[string][]string // by the names of parameters
	Request, Response side
}

func newExchange(e *history.Entry) exchange {
	view := exchange{Entry: e,
		Request: newSide(e.Request.Header, e.Request.Body, e.Problems), Response: newSide(e.ResponseHeader, e.ResponseBody, nil)}
	view.Request.Download = bodyPath(e)
	if e.IsRead() {
		view.QueryProblems = e.Problems
	}
	return view
}

// side is a request or a response.
type side struct {
	Header http.Header
	Lines  []jsonLine // nil if the body is not JSON
	Text   string     // of a body that is not JSON
	Syntax *syntaxError
	Cut    int // how many bytes are not shown
	// Download is the address of the whole body, or "".
	Download string
	Empty    bool
}

func newSide(header http.Header, body []byte, problems map[string][]string) side {
	s := side{Header: header, Empty: len(body) == 0}
	var ok bool
	if s.Lines, ok = jsonLines(body, problems); ok {
		return s
	}
	s.Cut = max(0, len(body)-maxShown)
	s.Text = validText(body[:len(body)-s.Cut])
	if s.Cut == 0 {
		s.Syntax = newSyntaxError(body)
	}
	return s
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
	for at < len(body) && at > 0 && !utf8.RuneStart(body[at]) {
		at--
	}
	before := body[:at]
	_, size := utf8.DecodeRune(body[at:])
	line := bytes.LastIndexByte(before, '\n') + 1
	return &syntaxError{Before: validText(before), At: validText(body[at : at+size]), After: validText(body[at+size:]),
		Line: bytes.Count(before, []byte("\n")) + 1, Column: utf8.RuneCount(before[line:]) + 1, Problem: syntax.Error()}
}
