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
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// redactor removes API keys from what an error or a response keeps.
type redactor struct {
	key     string
	earlier []string // keys of earlier attempts of a call
}

// redactedKey stands for an API key where a response quotes it.
const redactedKey = "[API key]"

// minRedactedKey is the length of the shortest key that is searched for: a shorter
// one would be found in texts that do not quote it.
const minRedactedKey = 8

// use makes r search for key as well.
func (r *redactor) use(key string) {
	if r.key != "" && r.key != key {
		r.earlier = append(r.earlier, r.key)
	}
	r.key = key
}

// text returns text without the keys, however they are spelled in it.
func (r *redactor) text(text string) string {
	if !r.isQuotedIn(text) {
		return text
	}
	return string(r.body([]byte(text), len(text)))
}

// isQuotedIn reports whether a key is in text, however it is spelled.
func (r *redactor) isQuotedIn(text string) bool {
	if len(r.earlier) == 0 && (len(r.key) < minRedactedKey || len(text) < len(r.key)) || !r.mayBeIn(text) {
		return false
	}
	for i := range len(text) {
		if r.quotedLength(text[i:]) > 0 {
			return true
		}
	}
	return false
}

// mayBeIn rules out most texts at little cost.
func (r *redactor) mayBeIn(text string) bool {
	return strings.IndexByte(text, '\\') >= 0 || strings.IndexByte(text, '%') >= 0 || strings.Contains(text, r.key) ||
		slices.ContainsFunc(r.earlier, func(key string) bool { return strings.Contains(text, key) })
}

// body returns a copy of the first limit bytes of body, without the keys. It reads
// on to the end of a key that crosses the limit; see window.
func (r *redactor) body(body []byte, limit int) []byte {
	body = body[:min(len(body), r.window(limit))]
	limit = min(limit, len(body))
	isEscaped := bytes.IndexByte(body, '\\') >= 0 || bytes.IndexByte(body, '%') >= 0
	if !isEscaped && len(r.earlier) == 0 && !bytes.Contains(body, []byte(r.key)) {
		return bytes.Clone(body[:limit]) // as most are
	}
	text, kept := string(body), make([]byte, 0, limit)
	for i := 0; i < limit; {
		if length := r.quotedLength(text[i:]); length > 0 {
			kept = append(kept, redactedKey...)
			i += length
			continue
		}
		kept = append(kept, text[i])
		i++
	}
	return kept[:min(len(kept), limit)]
}

// window is the number of bytes that have to be read to find every key that starts
// before limit.
func (r *redactor) window(limit int) int {
	const longestSpelling = len(`\\u0025u002f`)
	longest := len(r.key)
	for _, key := range r.earlier {
		longest = max(longest, len(key))
	}
	return limit + longestSpelling*longest
}

// quotedLength returns the number of bytes that a key takes at the start of text, 0
// for none.
func (r *redactor) quotedLength(text string) int {
	if length := spelledLength(text, r.key); length > 0 {
		return length
	}
	for _, key := range r.earlier {
		if length := spelledLength(text, key); length > 0 {
			return length
		}
	}
	return 0
}

// spelledLength returns the number of bytes that key takes at the start of text: as
// it is, or with characters as JSON strings and URLs escape them, once or several
// times over.
func spelledLength(text, key string) int {
	if len(key) < minRedactedKey {
		return 0
	}
	if strings.HasPrefix(text, key) {
		return len(key)
	}
	length := 0
	for i := range len(key) {
		size := characterLength(text[length:], key[i])
		if size == 0 {
			return 0
		}
		length += size
	}
	return length
}

// characterLength returns the number of bytes that c takes at the start of text, 0
// if text starts with something else.
func characterLength(text string, c byte) int {
	backslashes := leadingBackslashes(text)
	rest := text[backslashes:]
	switch {
	case c == '\\' && backslashes > 0:
		return backslashes
	case rest == "":
		return 0
	case c == '%':
		return characterPercent(text)
	case rest[0] == c:
		return backslashes + 1
	case backslashes > 0 && rest[0] == 'u' && hexValue(rest, 1, 4) == int(c):
		return backslashes + len("u002f")
	}
	percent := characterPercent(text)
	if percent > 0 && hexValue(text, percent, 2) == int(c) {
		return percent + len("2f")
	}
	return 0
}

// characterPercent returns the length of a percent sign at the start of text, which
// can be escaped itself, 0 if there is none.
func characterPercent(text string) int {
	length := 0
	if text[0] == '%' {
		length = 1
	} else if n := leadingBackslashes(text); n > 0 && strings.HasPrefix(text[n:], "u0025") {
		length = n + len("u0025")
	}
	for length > 0 && strings.HasPrefix(text[length:], "25") { // %2525 is %25, which is %
		length += len("25")
	}
	return length
}

// maxBackslashes is how many backslashes can escape a character: four JSON strings
// within each other take fifteen. The limit keeps the search of a text that consists
// of backslashes from taking quadratic time.
const maxBackslashes = 16

// leadingBackslashes returns the number of backslashes at the start of text, at most
// maxBackslashes.
func leadingBackslashes(text string) int {
	n := 0
	for n < len(text) && n < maxBackslashes && text[n] == '\\' {
		n++
	}
	return n
}

// hexValue returns the value of the hexadecimal digits of text from start on, -1 if
// there are none.
func hexValue(text string, start, digits int) int {
	if len(text) < start+digits {
		return -1
	}
	value, err := strconv.ParseUint(text[start:start+digits], 16, 16)
	if err != nil {
		return -1
	}
	return int(value)
}

// header returns header without the keys, in names and values. It is a copy only
// if a key is found.
func (r *redactor) header(header http.Header) http.Header {
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

func (r *redactor) isInHeader(header http.Header) bool {
	for name, values := range header {
		if r.isInName(name) || slices.ContainsFunc(values, r.isQuotedIn) {
			return true
		}
	}
	return false
}

// isInName ignores case, because net/http changes the case of header names.
func (r *redactor) isInName(name string) bool {
	if len(name) < minRedactedKey || len(r.earlier) == 0 && len(name) < len(r.key) {
		return false
	}
	isIn := func(key string) bool {
		return len(key) >= minRedactedKey && len(name) >= len(key) && strings.Contains(strings.ToLower(name), strings.ToLower(key))
	}
	return isIn(r.key) || slices.ContainsFunc(r.earlier, isIn)
}

// opaqueError shows a text that is safe to show instead of that of an error, which
// may quote the request or the response. [errors.Is] and [errors.As] find what the
// error is; nothing that prints an error does.
type opaqueError struct {
	text string
	err  error
	// sealed says that not even errors.As finds the error, since it quotes a key.
	sealed bool
}

func (e *opaqueError) Error() string { return e.text }

// Is reports whether the error is target. The errors of contexts are not found:
// those of the caller's context are not opaque, and a dialer's own timeout claims to
// be context.DeadlineExceeded as well.
func (e *opaqueError) Is(target error) bool {
	return target != context.DeadlineExceeded && target != context.Canceled && errors.Is(e.err, target)
}

// As finds everything but a *url.Error, which prints the URL and its query. An
// interface that a *url.Error implements, such as net.Error, is found behind it.
func (e *opaqueError) As(target any) bool {
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
	return &opaqueError{text: text, err: err}
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
	serverClosedIdle,
	tlsHandshakeTimeout,
	"timeout awaiting response headers",
	"i/o timeout",
	"stream error",
	"server sent GOAWAY",
	"graceful shutdown GOAWAY",
	"client connection lost",
	"client connection force closed",
	"HTTP/1.x transport connection broken",
}

// tlsHandshakeTimeout is the text of an error of net/http.
const tlsHandshakeTimeout = "TLS handshake timeout"

// serverClosedIdle is the text of an error of net/http about a connection that the
// server closed before a request was written to it.
const serverClosedIdle = "server closed idle connection"

// redactedSourceError returns an error of a function that the caller has given,
// such as a key source. Its text is the caller's to decide, without the URL of a
// request that it has made.
func redactedSourceError(err error) error {
	err = withoutURL(err)
	if withURL := (*url.Error)(nil); errors.As(err, &withURL) { // around or among others
		return redactedTransportError(err)
	}
	return &opaqueError{text: err.Error(), err: err}
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
