package redact

import (
	"compress/flate"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"strings"
	"syscall"
)

// opaque shows a safe text in place of the text of an error, which may quote the request or
// the response. [errors.Is] and [errors.As] find the error, but nothing that prints errors
// shows it.
type opaque struct {
	text string
	err  error
	// sealed means that even errors.As does not find the error, since it quotes a key.
	sealed bool
}

// Sealed returns an error with the given text. It hides err, which quotes a key: fmt,
// errors.As and encoding/json find only the text.
func Sealed(text string, err error) error { return &opaque{text: text, err: err, sealed: true} }

func (e *opaque) Error() string { return e.text }

// Is reports whether the error is target. It does not match the errors of contexts. The
// errors of the caller's own context are never opaque, and a dialer's own timeout would
// also match context.DeadlineExceeded.
func (e *opaque) Is(target error) bool {
	return target != context.DeadlineExceeded && target != context.Canceled && errors.Is(e.err, target)
}

// As finds everything except a *url.Error, which prints the URL and its query. For an
// interface that a *url.Error implements, such as net.Error, it finds the cause instead.
func (e *opaque) As(target any) bool {
	if e.sealed {
		return false
	}
	found := reflect.ValueOf(target).Elem()
	for err := e.err; errors.As(err, target); {
		withURL, isURL := found.Interface().(*url.Error)
		if !isURL {
			return true
		}
		err = withURL.Err
	}
	found.SetZero()
	return false
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
	return &opaque{text: text, err: err}
}

// knownText returns the text of the first error in the tree of err that is known to quote
// neither the request nor the response, or "" if there is none.
func knownText(err error) string {
	if isKnown(err) {
		return err.Error()
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return knownText(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, cause := range e.Unwrap() {
			if text := knownText(cause); text != "" {
				return text
			}
		}
	}
	return ""
}

func isKnown(err error) bool {
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
// other part of it.
func knownPhrase(err error) string {
	text := err.Error()
	for _, phrase := range phrases {
		if strings.Contains(text, phrase) {
			return phrase
		}
	}
	for status := http.StatusBadRequest; status < 600; status++ { // from a proxy that rejects CONNECT
		if text != "" && text == http.StatusText(status) {
			return "proxy: " + text
		}
	}
	return "transport error (its text may quote the request or the response, and is withheld)"
}

// phrases are parts of error texts of net/http that quote nothing, for errors without an
// exported type.
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
	if withURL := (*url.Error)(nil); errors.As(err, &withURL) { // wrapped by another error, or joined with others
		return TransportError(err)
	}
	return &opaque{text: err.Error(), err: err}
}

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
