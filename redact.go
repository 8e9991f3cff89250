package messaging

import (
	"bytes"
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
	"strconv"
	"strings"
	"syscall"
)

// redactor removes an API key from what an error or a response keeps.
type redactor struct{ key string }

// redactedKey stands for the API key where a response quotes it.
const redactedKey = "[API key]"

// minRedactedKey is the length of the shortest key that is searched for: a
// shorter one would be found in texts that do not quote it.
const minRedactedKey = 8

func (r redactor) isQuotedIn(text string) bool {
	return len(r.key) >= minRedactedKey && strings.Contains(text, r.key)
}

// text returns a decoded text without the key.
func (r redactor) text(text string) string {
	if !r.isQuotedIn(text) {
		return text
	}
	return strings.ReplaceAll(text, r.key, redactedKey)
}

// body returns a copy of at most limit bytes of the start of body, without the
// key: as it is, or as a JSON string or a URL spells it. A key that crosses the
// limit is removed as well.
func (r redactor) body(body []byte, limit int) []byte {
	body = bytes.Clone(body[:min(len(body), r.window(limit))])
	if len(r.key) >= minRedactedKey {
		if key := []byte(r.key); bytes.Contains(body, key) {
			body = bytes.ReplaceAll(body, key, []byte(redactedKey))
		}
		body = r.removeEscaped(body, '\\', jsonCharacter)
		body = r.removeEscaped(body, '%', urlCharacter)
	}
	return body[:min(len(body), limit)]
}

// window is how much of a body has to be read to find every key that starts
// within limit.
func (r redactor) window(limit int) int {
	const longestSpelling = len(`\u002f`)
	return limit + longestSpelling*len(r.key)
}

// removeEscaped replaces every key in body whose characters are written as next
// reads them. A body without the escape character has none.
func (r redactor) removeEscaped(body []byte, escape byte, next func([]byte) (c byte, size int)) []byte {
	if bytes.IndexByte(body, escape) < 0 {
		return body
	}
	var kept []byte
	for i := 0; i < len(body); {
		if length := r.escapedLength(body[i:], next); length > 0 {
			kept = append(kept, redactedKey...)
			i += length
			continue
		}
		kept = append(kept, body[i])
		i++
	}
	return kept
}

// escapedLength is the length of the key at the start of text, 0 for none.
func (r redactor) escapedLength(text []byte, next func([]byte) (c byte, size int)) int {
	length := 0
	for i := range len(r.key) {
		c, size := next(text[length:])
		if size == 0 || c != r.key[i] {
			return 0
		}
		length += size
	}
	return length
}

// jsonCharacter reads the ASCII character that text starts with, in a JSON string.
func jsonCharacter(text []byte) (c byte, size int) {
	switch {
	case len(text) == 0:
		return 0, 0
	case text[0] != '\\':
		return text[0], 1
	case len(text) >= 2 && (text[1] == '/' || text[1] == '\\' || text[1] == '"'):
		return text[1], 2
	case len(text) >= 6 && text[1] == 'u':
		return hexCharacter(text[2:6], 6)
	}
	return 0, 0
}

// urlCharacter reads the ASCII character that text starts with, in a URL.
func urlCharacter(text []byte) (c byte, size int) {
	switch {
	case len(text) == 0:
		return 0, 0
	case text[0] != '%':
		return text[0], 1
	case len(text) >= 3:
		return hexCharacter(text[1:3], 3)
	}
	return 0, 0
}

func hexCharacter(digits []byte, size int) (byte, int) {
	c, err := strconv.ParseUint(string(digits), 16, 8)
	if err != nil {
		return 0, 0
	}
	return byte(c), size
}

// header returns header without the key, in names and values. It is a copy only
// where the key is found.
func (r redactor) header(header http.Header) http.Header {
	if !r.isInHeader(header) {
		return header
	}
	redacted := make(http.Header, len(header))
	for name, values := range header {
		if r.isInName(name) {
			name = redactedKey
		}
		for _, value := range values {
			redacted[name] = append(redacted[name], r.text(value))
		}
	}
	return redacted
}

func (r redactor) isInHeader(header http.Header) bool {
	for name, values := range header {
		if r.isInName(name) {
			return true
		}
		for _, value := range values {
			if r.isQuotedIn(value) {
				return true
			}
		}
	}
	return false
}

// isInName ignores case, because net/http changes the case of header names.
func (r redactor) isInName(name string) bool {
	return len(r.key) >= minRedactedKey && len(name) >= len(r.key) &&
		strings.Contains(strings.ToLower(name), strings.ToLower(r.key))
}

// opaqueError shows a text that is safe to show in place of that of an error,
// which may quote the request or the response. [errors.Is] and [errors.As] find
// what the error is; nothing that prints an error does.
type opaqueError struct {
	text string
	err  error
}

func (e *opaqueError) Error() string { return e.text }

// Is reports whether the error is target. The errors of contexts are not found:
// those of the caller's context are never opaque, and a dialer's own timeout
// claims to be context.DeadlineExceeded as well.
func (e *opaqueError) Is(target error) bool {
	return target != context.DeadlineExceeded && target != context.Canceled && errors.Is(e.err, target)
}

// As finds everything but a *url.Error, which prints the URL and its query.
func (e *opaqueError) As(target any) bool {
	if _, isURL := target.(**url.Error); isURL {
		return false
	}
	return errors.As(e.err, target)
}

// Format keeps %#v from printing the error.
func (e *opaqueError) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, e.text) }

// redactedTransportError returns an error of a transport with a text that is safe
// to show: that of an error of a known type, or a fixed phrase, or none. Any other
// text is withheld, since only its author knows what it quotes.
func redactedTransportError(err error) error {
	err = withoutURL(err)
	text := knownText(err)
	if text == "" {
		text = knownPhrase(err)
	}
	return &opaqueError{text, err}
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
		http.ErrSchemeMismatch, errNoResponse, context.Canceled, context.DeadlineExceeded:
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
	"server closed idle connection",
	"TLS handshake timeout",
	"timeout awaiting response headers",
	"i/o timeout",
	"stream error",
	"server sent GOAWAY",
	"graceful shutdown GOAWAY",
	"client connection lost",
	"client connection force closed",
	"HTTP/1.x transport connection broken",
}

// redactedSourceError returns an error of a function that the caller has given,
// such as a key source. Its text is the caller's to decide, less the URL of a
// request that it has made.
func redactedSourceError(err error) error {
	err = withoutURL(err)
	if withURL := (*url.Error)(nil); errors.As(err, &withURL) { // among several
		return redactedTransportError(err)
	}
	return err
}

// withoutURL returns the cause of an error of net/url: such an error prints the
// URL with its query, where the filters are, and so somebody's e-mail address.
func withoutURL(err error) error {
	for {
		withURL, isURL := err.(*url.Error)
		if !isURL || withURL.Err == nil {
			return err
		}
		err = withURL.Err
	}
}
