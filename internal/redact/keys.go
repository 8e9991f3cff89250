// Package redact removes API keys from what is kept of a response. It also replaces the
// texts of errors from other packages that may quote a request.
package redact

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
)

// Keys holds the API keys that a call has sent. Its methods remove them from what is kept
// of the responses.
type Keys struct {
	current string
	earlier []string // of earlier attempts, if the key was rotated
}

// redactedKey replaces an API key that a response quotes.
const redactedKey = "[API key]"

// minLength is the length of the shortest key that is searched for. A shorter key would
// also be found in texts that do not quote it.
const minLength = 8

// Use adds key to the keys that are searched for.
func (k *Keys) Use(key string) {
	if k.current != "" && k.current != key {
		k.earlier = append(k.earlier, k.current)
	}
	k.current = key
}

// all ranges over the keys that are searched for.
func (k *Keys) all(yield func(string) bool) {
	for _, key := range k.earlier {
		if len(key) >= minLength && !yield(key) {
			return
		}
	}
	if len(k.current) >= minLength {
		yield(k.current)
	}
}

// Text returns text without the keys.
func (k *Keys) Text(text string) string {
	if !k.AreIn(text) {
		return text
	}
	return string(k.Body([]byte(text), len(text)))
}

// AreIn reports whether text quotes a key, either as it is or escaped.
func (k *Keys) AreIn(text string) bool {
	for key := range k.all {
		if len(text) >= len(key) && (strings.Contains(text, key) || strings.ContainsAny(text, escapes)) {
			return len(k.spans([]byte(text))) > 0
		}
	}
	return false
}

// AreInError reports whether an error in the tree of err quotes a key, including what an
// error of this package withholds.
func (k *Keys) AreInError(err error) bool {
	return walk(err, func(err error) bool {
		if withheld, ok := err.(*opaque); ok && k.AreInError(*withheld.err) {
			return true
		}
		return k.AreIn(textOf(err))
	})
}

// Body returns a copy of the first limit bytes of body, without the keys. To find a key that
// crosses the limit, it reads beyond the limit; see [Keys.Window].
func (k *Keys) Body(body []byte, limit int) []byte {
	body = body[:min(len(body), k.Window(limit))]
	limit = min(limit, len(body))
	kept, next := make([]byte, 0, limit), 0
	for _, key := range k.spans(body) {
		if key.start >= limit {
			break
		}
		kept = append(append(kept, body[next:key.start]...), redactedKey...)
		next = key.end
	}
	kept = append(kept, body[min(next, limit):limit]...)
	return kept[:min(len(kept), limit)]
}

// Window returns how many bytes must be read to find every key that begins before limit.
func (k *Keys) Window(limit int) int {
	const longestCharacter = len(`\u005c\u0075\u0030\u0030\u0037\u0033`) // escaped twice
	longest := 0
	for key := range k.all {
		longest = max(longest, len(key))
	}
	return limit + longest*longestCharacter
}

// span is a part of a text that quotes a key.
type span struct{ start, end int }

// spans returns the parts of text that quote a key, in order and without overlaps.
func (k *Keys) spans(text []byte) []span {
	const levels = 2 // of escapes; a URL within JSON within JSON is the deepest that was seen
	var found []span
	k.find(reading{text: text}, levels, &found)
	slices.SortFunc(found, func(a, b span) int { return a.start - b.start })
	merged := found[:0]
	for _, s := range found {
		if last := len(merged) - 1; last >= 0 && s.start < merged[last].end {
			merged[last].end = max(merged[last].end, s.end)
		} else {
			merged = append(merged, s)
		}
	}
	return merged
}

// find searches a reading of a text. Then it removes one level of the escapes of JSON
// strings or of URLs, and searches the two readings that result.
func (k *Keys) find(in reading, levels int, found *[]span) {
	for key := range k.all {
		for from := 0; ; {
			i := bytes.Index(in.text[from:], []byte(key))
			if i < 0 {
				break
			}
			*found = append(*found, span{in.offset(from + i), in.offset(from + i + len(key))})
			from += i + len(key)
		}
	}
	if levels > 0 && bytes.ContainsAny(in.text, escapes) {
		k.find(in.unescaped(jsonCharacter), levels-1, found)
		k.find(in.unescaped(urlCharacter), levels-1, found)
	}
}

// Header returns header without the keys in its names and values. It returns a copy only if
// it finds a key.
func (k *Keys) Header(header http.Header) http.Header {
	if !k.areInHeader(header) {
		return header
	}
	redacted := make(http.Header, len(header))
	for name, values := range header {
		if k.areInName(name) {
			name = redactedKey
		}
		for _, value := range values {
			redacted[name] = append(redacted[name], k.Text(value))
		}
	}
	return redacted
}

func (k *Keys) areInHeader(header http.Header) bool {
	for name, values := range header {
		if k.areInName(name) || slices.ContainsFunc(values, k.AreIn) {
			return true
		}
	}
	return false
}

// areInName ignores case, because net/http changes the case of header names.
func (k *Keys) areInName(name string) bool {
	for key := range k.all {
		if len(name) >= len(key) && strings.Contains(strings.ToLower(name), strings.ToLower(key)) {
			return true
		}
	}
	return false
}
