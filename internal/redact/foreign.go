package redact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"
)

// foreignError shows a safe text in place of the text of an error of other code, which may
// quote the request or the response. [errors.Is] and [errors.As] find the error.
type foreignError struct {
	text string
	// err is a pointer, because fmt prints a foreignError in an unexported field of another
	// struct without its Format method if the verb does not fit, such as %s. fmt does not
	// follow a pointer within a struct.
	err *error
}

// Foreign returns an error for one that comes from other code, such as a transport, a key
// source or an UnmarshalJSON method. Its text is that of err without the keys, the query of
// the request and the queries of URLs, and ends before the first quotation mark, after which most code quotes
// what it has read.
func (k *Keys) Foreign(err error) error {
	err = WithoutURL(err)
	text := k.Text(err.Error())
	if k.query != "" { // which can stand without a URL, as in a request line
		text = strings.ReplaceAll(text, k.query, "…")
	}
	text, _, quotes := strings.Cut(urlQuery.ReplaceAllString(text, "$1?…"), `"`)
	if quotes {
		text += "…"
	}
	return &foreignError{text: text, err: &err}
}

// Withhold returns an error with another text, for an error that can quote a response without
// a quotation mark, as those of encoding/json quote a number.
func Withhold(text string, err error) error { return &foreignError{text: text, err: &err} }

var urlQuery = regexp.MustCompile(`(\w://[^\s?]*)\?\S*`)

func (e *foreignError) Error() string { return e.text }

// Is reports whether the error is target. It does not match the errors of contexts, which
// mean that the caller's own context ended: the timeout of a dialer would match
// context.DeadlineExceeded.
func (e *foreignError) Is(target error) bool {
	return target != context.DeadlineExceeded && target != context.Canceled && errors.Is(*e.err, target)
}

// As finds what the error wraps, except for a *url.Error, which prints the query.
func (e *foreignError) As(target any) bool {
	_, isURL := target.(**url.Error)
	return !isURL && errors.As(*e.err, target)
}

// Format keeps %#v from printing the error.
func (e *foreignError) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, e.text) }

// WithoutURL returns the cause of a *url.Error, which would print the URL with its query.
// The query holds the filters, and so can hold an email address.
func WithoutURL(err error) error {
	for {
		withURL, isURL := err.(*url.Error)
		if !isURL || withURL.Err == nil {
			return err
		}
		err = withURL.Err
	}
}
