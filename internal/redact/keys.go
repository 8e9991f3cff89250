// Package redact removes API keys from what is kept of a response, and from the texts of
// errors of other code.
package redact

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Keys holds the API keys that a call has sent: several, if the key was rotated. Its methods
// remove them from what is kept of the responses. A key is found in any case, since net/http
// changes the case of header names, and this module that of the types of parameters.
type Keys struct {
	keys  []string
	first [1]string // the memory of keys, since most calls have one
	query string    // of the request; see [Keys.Foreign]
}

// redactedKey replaces an API key that a response quotes.
const redactedKey = "[API key]"

// Use adds key to the keys that are searched for.
func (k *Keys) Use(key string) {
	if key == "" || slices.Contains(k.keys, key) {
		return
	}
	if k.keys == nil {
		k.keys = k.first[:0]
	}
	k.keys = append(k.keys, key)
}

// UseQuery sets the query that is hidden in the texts of errors of other code.
func (k *Keys) UseQuery(query string) { k.query = query }

// Text returns text without the keys.
func (k *Keys) Text(text string) string {
	if !k.AreIn(text) {
		return text
	}
	return string(k.Body([]byte(text), len(text)))
}

// AreIn reports whether text quotes a key, either as it is or escaped.
func (k *Keys) AreIn(text string) bool { return len(spans(k.keys, text)) > 0 }

// Body returns a copy of the first limit bytes of body, without the keys. To find a key that
// crosses the limit, it reads beyond the limit; see [Keys.Window].
func (k *Keys) Body(body []byte, limit int) []byte {
	body = body[:min(len(body), k.Window(limit))]
	limit = min(limit, len(body))
	kept, next := make([]byte, 0, limit), 0
	for _, key := range spans(k.keys, body) {
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
	const longestCharacter = len(`\u0073`)
	longest := 0
	for _, key := range k.keys {
		longest = max(longest, len(key))
	}
	return limit + longest*longestCharacter
}

// span is a part of a text that quotes a key.
type span struct{ start, end int }

// document is what can quote a key. The header of every response is searched as it is, without
// copying it.
type document interface{ string | []byte }

// spans returns the parts of text that quote a key, in order and without overlaps.
func spans[D document](keys []string, text D) []span {
	var found []span
	for _, key := range keys {
		first := lower(key[0])
		for i := 0; i+len(key) <= len(text); i++ {
			if c := text[i]; lower(c) != first && !beginsEscape(c) {
				continue
			}
			if size := quoted(text[i:], key); size > 0 {
				found = append(found, span{i, i + size})
				i += size - 1
			}
		}
	}
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

// lower returns an ASCII letter in lower case, and any other character as it is.
func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// quoted returns the length of the key at the start of text, as it is or with one level of
// escapes. It returns 0 if there is none.
func quoted[D document](text D, key string) (size int) {
	for size < len(key) && size < len(text) && lower(text[size]) == lower(key[size]) {
		size++
	}
	if size == len(key) {
		return size
	}
	size = 0
	for i := range len(key) {
		if size == len(text) {
			return 0
		}
		c, n := firstCharacter(text[size:])
		if lower(c) != lower(key[i]) {
			return 0
		}
		size += n
	}
	return size
}

// beginsEscape reports whether a character begins an escape sequence of JSON strings, URLs and
// HTML. It is called for every character of a response header, so it does not search.
func beginsEscape(c byte) bool { return c == '\\' || c == '%' || c == '&' }

// entities are the named characters of HTML that a key can hold.
var entities = map[string]byte{"amp": '&', "quot": '"', "lt": '<', "gt": '>'}

// firstCharacter returns the first character of text without its escape sequence, and the
// size of the sequence. Only characters that a key can hold are unescaped.
func firstCharacter[D document](text D) (c byte, size int) {
	switch {
	case len(text) >= 2 && text[0] == '\\' && strings.IndexByte(`\"/`, text[1]) >= 0:
		return text[1], 2
	case len(text) >= 6 && text[0] == '\\' && text[1] == 'u':
		return character(text, string(text[2:6]), 16, 6)
	case len(text) >= 3 && text[0] == '%':
		return character(text, string(text[1:3]), 16, 3)
	case text[0] != '&':
		return text[0], 1
	}
	const longest = len("&#x0002B;")
	end := strings.IndexByte(string(text[:min(len(text), longest)]), ';')
	if end < 0 {
		return text[0], 1
	}
	name := string(text[1:end])
	if c, ok := entities[name]; ok {
		return c, end + 1
	}
	number, isNumber := strings.CutPrefix(name, "#")
	if hex := strings.TrimLeft(number, "xX"); isNumber && hex != number {
		return character(text, hex, 16, end+1)
	} else if isNumber {
		return character(text, number, 10, end+1)
	}
	return text[0], 1
}

// character returns the printable ASCII character with a number, or the first character of
// text if there is none.
func character[D document](text D, number string, base, size int) (byte, int) {
	n, err := strconv.ParseUint(number, base, 16)
	if err != nil || n <= ' ' || n > '~' {
		return text[0], 1
	}
	return byte(n), size
}

// Header returns header without the keys in its names and values. It returns a copy only if
// it finds a key.
func (k *Keys) Header(header http.Header) http.Header {
	if !k.areInHeader(header) {
		return header
	}
	redacted := make(http.Header, len(header))
	for name, values := range header {
		if k.AreIn(name) {
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
		if k.AreIn(name) || slices.ContainsFunc(values, k.AreIn) {
			return true
		}
	}
	return false
}
