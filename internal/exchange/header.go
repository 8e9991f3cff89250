package exchange

import (
	"slices"
	"strings"
	"unicode"
)

// authorizationHeader carries the API key.
const authorizationHeader = "X-Authorization"

// reservedHeaders cannot be set by the caller. They include the headers that make some
// servers handle a request as one with another method.
var reservedHeaders = []string{
	authorizationHeader,
	"Accept-Encoding", "Host", "Content-Length", "Content-Type",
	"Connection", "Content-Encoding", "Expect", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
	"Cookie", "Proxy-Authorization", "X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override",
}

// isReserved reports whether a header cannot be set by the caller. Some servers read "_" in
// the name of a header as "-".
func isReserved(name string) bool {
	name = strings.ReplaceAll(name, "_", "-")
	return slices.ContainsFunc(reservedHeaders, func(reserved string) bool { return strings.EqualFold(name, reserved) })
}

// IsHeaderName reports whether name is a valid name of a header.
func IsHeaderName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, isNotTokenRune)
}

// HeaderProblem returns why a header cannot be set, or "" if it can.
func HeaderProblem(name, value string) string {
	switch {
	case !IsHeaderName(name):
		return "must be given a valid header name"
	case isReserved(name):
		return "cannot be set"
	case strings.ContainsFunc(value, unicode.IsControl):
		return "must not have a value with control characters"
	}
	return ""
}

// The lengths of the shortest and the longest API key. A shorter key would also be found in
// texts that do not quote it.
const (
	minKeyBytes = 8
	maxKeyBytes = 4 << 10
)

// KeyProblem returns why key cannot be sent in a header, or "" if it can.
func KeyProblem(key string) string {
	const scheme = "Bearer " // of another header
	switch {
	case key == "":
		return "is required"
	case len(key) > maxKeyBytes:
		return "must not be longer than 4 KiB"
	case strings.TrimSpace(key) != key:
		return "must not start or end with white space, such as the line break at the end of a file"
	case len(key) > len(scheme) && strings.EqualFold(key[:len(scheme)], scheme):
		return `must not begin with "Bearer "`
	case !IsPrintable(key) || strings.Contains(key, " "):
		return "must be printable ASCII without white space"
	case len(key) < minKeyBytes:
		return "must have at least 8 characters"
	}
	return ""
}

// IsMethod reports whether method is an HTTP method in upper case.
func IsMethod(method string) bool {
	return method != "" && !strings.ContainsFunc(method, isNotTokenRune) && method == strings.ToUpper(method)
}

// IsPrintable reports whether text is printable ASCII.
func IsPrintable(text string) bool { return !strings.ContainsFunc(text, isNotPrintableASCII) }

func isNotPrintableASCII(r rune) bool { return r < ' ' || r > '~' }

// isNotTokenRune reports whether r is not allowed in a method or header name.
func isNotTokenRune(r rune) bool {
	return isNotPrintableASCII(r) || strings.ContainsRune(` "(),/:;<=>?@[\]{}`, r)
}
