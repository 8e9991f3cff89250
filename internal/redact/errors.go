package redact

import (
	"cmp"
	"compress/flate"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"
)

// opaque shows a safe text in place of the text of an error, which may quote the request or
// the response. [errors.Is] and [errors.As] find the error, but nothing that prints errors
// shows it.
//
// They do not find an error of this module in it. The error comes from a function that the
// caller supplied, so an error of this module in it describes another call.
type opaque struct {
	text string
	// err is a pointer, because fmt prints an opaque in an unexported field of another
	// struct without its Format method if the verb does not fit, such as %s. fmt does not
	// follow a pointer within a struct.
	err *error
	// sealed means that even errors.As does not find the error, since it quotes a key. The
	// error comes from this module.
	sealed bool
}

// Sealed returns an error with the given text. It hides err, which quotes a key: fmt,
// errors.As and encoding/json find only the text.
func Sealed(text string, err error) error { return &opaque{text: text, err: &err, sealed: true} }

func (e *opaque) Error() string { return e.text }

// Is reports whether the error is target. It does not match the errors of contexts. The
// errors of the caller's own context are never opaque, and a dialer's own timeout would
// also match context.DeadlineExceeded.
func (e *opaque) Is(target error) bool {
	if target == context.DeadlineExceeded || target == context.Canceled || !e.sealed && isOwn(reflect.TypeOf(target)) {
		return false
	}
	return Is(*e.err, target)
}

// Is is like [errors.Is], but does not call the methods of a nil pointer.
func Is(err, target error) bool {
	comparable := reflect.TypeOf(target).Comparable()
	return walk(err, func(err error) bool {
		if comparable && err == target {
			return true
		}
		matcher, ok := err.(interface{ Is(error) bool })
		return ok && !isNil(err) && matcher.Is(target)
	})
}

// As finds everything except a nil pointer, an error of this module, and a *url.Error, which
// prints the URL and its query. For an interface that these implement, such as net.Error, it
// finds a cause instead.
func (e *opaque) As(target any) bool {
	found := reflect.ValueOf(target).Elem()
	if e.sealed {
		return false
	}
	return walk(*e.err, func(err error) bool {
		switch finder, ok := err.(interface{ As(any) bool }); {
		case isHidden(reflect.TypeOf(err)), isNil(err):
			return false
		case reflect.TypeOf(err).AssignableTo(found.Type()):
			found.Set(reflect.ValueOf(err))
			return true
		case !ok || !finder.As(target):
			return false
		}
		if value := found.Interface(); value != nil && isHidden(reflect.TypeOf(value)) {
			found.SetZero()
			return false
		}
		return true
	})
}

// walk calls visit with err and its causes, in the order of [errors.Is], until visit
// returns true.
func walk(err error, visit func(error) bool) bool {
	switch {
	case err == nil:
		return false
	case visit(err):
		return true
	case isNil(err):
		return false
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return walk(e.Unwrap(), visit)
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(e.Unwrap(), func(cause error) bool { return walk(cause, visit) })
	}
	return false
}

// isNil reports whether err is a nil pointer. It counts as an error, but its methods may
// panic.
func isNil(err error) bool {
	value := reflect.ValueOf(err)
	return value.Kind() == reflect.Pointer && value.IsNil()
}

func isHidden(t reflect.Type) bool { return isOwn(t) || t == reflect.TypeFor[*url.Error]() }

// module is the path of this module.
var module = strings.TrimSuffix(reflect.TypeFor[opaque]().PkgPath(), "/internal/redact")

// isOwn reports whether an error of type t describes the outcome of a call.
func isOwn(t reflect.Type) bool {
	switch packageOf(t) {
	case module, module + "/internal/exchange", module + "/internal/wire":
		return true
	}
	return false
}

// packageOf returns the path of the package that declares t, or the type that t points to.
func packageOf(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.PkgPath()
}

// Format keeps %#v from printing the error.
func (e *opaque) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, e.text) }

// TransportError returns an error of a transport with a text that is safe to show. This is
// the text of an error of a known type, or a fixed phrase. Any other text is withheld, since
// only its author knows what it quotes.
func TransportError(err error) error {
	err = WithoutURL(err)
	text := knownText(err)
	if text == "" {
		text = knownPhrase(err)
	}
	return &opaque{text: text, err: &err}
}

// knownText returns the text of the first error in the tree of err that is known to quote
// neither the request nor the response, or "" if there is none.
func knownText(err error) (text string) {
	walk(err, func(err error) bool {
		if isKnown(err) {
			text = err.Error()
		}
		return text != ""
	})
	return text
}

func isKnown(err error) bool {
	if err == nil || isNil(err) {
		return false
	}
	switch e := err.(type) {
	case *net.OpError:
		return isKnown(e.Err)
	case *os.SyscallError:
		return isKnown(e.Err)
	case *tls.CertificateVerificationError:
		return isKnown(e.Err)
	case *net.DNSError, syscall.Errno, tls.AlertError, tls.RecordHeaderError,
		x509.UnknownAuthorityError, x509.HostnameError, x509.CertificateInvalidError,
		flate.CorruptInputError:
		return true
	}
	switch err {
	case io.EOF, io.ErrUnexpectedEOF, os.ErrDeadlineExceeded, net.ErrClosed, gzip.ErrHeader, gzip.ErrChecksum,
		http.ErrSchemeMismatch, context.Canceled, context.DeadlineExceeded:
		return true
	}
	return false
}

// knownPhrase returns a fixed phrase that describes the text of err without quoting any
// other part of it. It names the type of err, which quotes nothing either.
func knownPhrase(err error) string {
	text, kind := textOf(err), kindOf(err)
	for _, phrase := range phrases {
		switch {
		case !containsWords(text, phrase):
		case kind == "":
			return phrase
		default:
			return phrase + " (" + kind + ")"
		}
	}
	for status := http.StatusBadRequest; status < 600; status++ { // from a proxy that rejects CONNECT
		if text != "" && text == http.StatusText(status) {
			return "proxy: " + text
		}
	}
	return fmt.Sprintf("transport error of type %s (its text may quote the request or the response, and is withheld)",
		cmp.Or(kind, reflect.TypeOf(err).String()))
}

// textOf returns the text of err. It can be a nil pointer or wrap nil, so that its Error
// method panics.
func textOf(err error) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("%T without a text", err)
		}
	}()
	return err.Error()
}

// kindOf returns the first type in the tree of err that says more than that it is an error
// of the standard library, or "".
func kindOf(err error) (kind string) {
	walk(err, func(err error) bool {
		switch t := reflect.TypeOf(err); packageOf(t) {
		case "errors", "fmt", "net/http":
		default:
			kind = t.String()
		}
		return kind != ""
	})
	return kind
}

// containsWords reports whether text contains a phrase that is not part of a longer word.
func containsWords(text, phrase string) bool {
	before, after, found := strings.Cut(text, phrase)
	if !found {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(before)
	first, _ := utf8.DecodeRuneInString(after)
	return !unicode.IsLetter(last) && !unicode.IsLetter(first) || containsWords(after, phrase)
}

// phrases are parts of error texts that quote nothing, of errors without an exported type:
// texts of net/http, and what other transports commonly report. A phrase comes before one
// that it contains.
var phrases = []string{
	"malformed HTTP response",
	"malformed HTTP version",
	"malformed HTTP status code",
	"malformed MIME header",
	"malformed chunked encoding",
	"unsupported transfer encoding",
	"bad Content-Length",
	"multiple Content-Length headers",
	"chunk length",
	"chunked line",
	"unexpected EOF reading trailer",
	"server response headers exceeded",
	ServerClosedIdle,
	TLSHandshakeTimeout,
	"timeout awaiting response headers",
	"i/o timeout",
	"stream error",
	"server sent GOAWAY",
	"graceful shutdown GOAWAY",
	"client connection lost",
	"client connection force closed",
	"HTTP/1.x transport connection broken",
	"no responder found",
	"connection refused",
	"connection reset by peer",
	"no such host",
	"too many open files",
	"circuit open",
	"unexpected EOF",
	"EOF",
}

// TLSHandshakeTimeout is the text of an error of net/http.
const TLSHandshakeTimeout = "TLS handshake timeout"

// ServerClosedIdle is the text of an error of net/http about a connection that the
// server closed before a request was written to it.
const ServerClosedIdle = "server closed idle connection"

// SourceError returns an error from a function that the caller supplied, such as a key
// source. The caller decides what its text shows, but the URL of a request that the
// function made is removed.
func SourceError(err error) error {
	err = WithoutURL(err)
	if walk(err, isURLError) { // wrapped by another error, or joined with others
		return TransportError(err)
	}
	return &opaque{text: textOf(err), err: &err}
}

// ValueError returns an error of encoding/json about a value of the response, with a text
// that does not quote the value. The error may come from an UnmarshalJSON method, even one
// of the standard library, which can quote anything.
func ValueError(err error) error {
	text := "error of type " + reflect.TypeOf(err).String() + " (its text may quote the response, and is withheld)"
	if mismatch, ok := err.(*json.UnmarshalTypeError); ok && mismatch != nil {
		text = fmt.Sprintf("%s does not fit into %v", cmp.Or(mismatch.Field, "it"), mismatch.Type)
	}
	return &opaque{text: "cannot be read: " + text, err: &err}
}

func isURLError(err error) bool {
	_, isURL := err.(*url.Error)
	return isURL
}

// WithoutURL returns the cause of a *url.Error, which would print the URL with its query.
// The query holds the filters, and so can hold an email address.
func WithoutURL(err error) error {
	for {
		withURL, isURL := err.(*url.Error)
		if !isURL || withURL == nil || withURL.Err == nil {
			return err
		}
		err = withURL.Err
	}
}
