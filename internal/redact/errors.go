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

// opaque shows a text that is safe to show instead of that of an error, which
// may quote the request or the response. [errors.Is] and [errors.As] find what the
// error is; nothing that prints an error does.
type opaque struct {
	text string
	err  error
	// sealed says that not even errors.As finds the error, since it quotes a key.
	sealed bool
}

// Sealed returns an error with the given text. It hides err, which quotes a key, from
// everything: fmt, errors.As and encoding/json find nothing but the text.
func Sealed(text string, err error) error { return &opaque{text: text, err: err, sealed: true} }

func (e *opaque) Error() string { return e.text }

// Is reports whether the error is target. The errors of contexts are not found:
// those of the caller's context are not opaque, and a dialer's own timeout claims to
// be context.DeadlineExceeded as well.
func (e *opaque) Is(target error) bool {
	return target != context.DeadlineExceeded && target != context.Canceled && errors.Is(e.err, target)
}

// As finds everything but a *url.Error, which prints the URL and its query. An
// interface that a *url.Error implements, such as net.Error, is found behind it.
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

// TransportError returns an error of a transport with a text that is safe
// to show: that of an error of a known type, or a fixed phrase, or none. Any other
// text is withheld, since only its author knows what it quotes.
func TransportError(err error) error {
	err = WithoutURL(err)
	text := knownText(err)
	if text == "" {
		text = knownPhrase(err)
	}
	return &opaque{text: text, err: err}
}

// knownText returns the text of the first error in the tree of err that is known
// to quote neither request nor response, "" where there is none.
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

// knownPhrase returns a phrase that says what the text of err is about, quoting
// nothing of it.
func knownPhrase(err error) string {
	text := err.Error()
	for _, phrase := range phrases {
		if strings.Contains(text, phrase) {
			return phrase
		}
	}
	for status := http.StatusBadRequest; status < 600; status++ { // of a proxy that refuses CONNECT
		if text != "" && text == http.StatusText(status) {
			return "proxy: " + text
		}
	}
	return "transport error (its text may quote the request or the response, and is withheld)"
}

// phrases are the parts of the texts of net/http that quote nothing, for errors
// that have no exported type.
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

// SourceError returns an error of a function that the caller has given,
// such as a key source. Its text is the caller's to decide, without the URL of a
// request that it has made.
func SourceError(err error) error {
	err = WithoutURL(err)
	if withURL := (*url.Error)(nil); errors.As(err, &withURL) { // around or among others
		return TransportError(err)
	}
	return &opaque{text: err.Error(), err: err}
}

// WithoutURL returns the cause of an error of net/url: such an error prints the
// URL with its query, where the filters are, and so somebody's email address.
func WithoutURL(err error) error {
	for {
		withURL, isURL := err.(*url.Error)
		if !isURL || withURL.Err == nil {
			return err
		}
		err = withURL.Err
	}
}
