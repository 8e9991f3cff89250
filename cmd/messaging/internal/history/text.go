package history

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// contains reports whether the request or the response contains a word. Values in place of credentials
// are left out: they are the same in every request.
func (e *Entry) contains(word string) bool {
	matches := func(text string) bool { return text != "REDACTED" && containsFold(text, word) }
	if containsFold(unescaped(e.Request.Body), word) || containsFold(unescaped(e.ResponseBody), word) ||
		slices.ContainsFunc([]string{e.Op, e.Request.Path, e.Fault, e.EventName}, matches) {
		return true
	}
	for name, values := range e.Request.Query {
		if matches(name) || slices.ContainsFunc(values, matches) {
			return true
		}
	}
	for _, header := range []http.Header{e.Request.Header, e.ResponseHeader} {
		for _, values := range header {
			if slices.ContainsFunc(values, matches) {
				return true
			}
		}
	}
	return false
}

// Mentions reports whether the body of the request has one of some texts as a value. Empty texts are left out.
func (e *Entry) Mentions(texts ...string) bool {
	body := unescaped(e.Request.Body)
	return slices.ContainsFunc(texts, func(text string) bool {
		return text != "" && containsFold(body, strings.ToLower(`"`+text+`"`))
	})
}

// unescaped returns a JSON body as people read it: without the escapes in its
// strings.
func unescaped(body []byte) []byte {
	if bytes.IndexByte(body, '\\') < 0 {
		return body
	}
	return escape.ReplaceAllFunc(body, func(match []byte) []byte {
		var text string
		if json.Unmarshal(slices.Concat([]byte{'"'}, match, []byte{'"'}), &text) != nil {
			return match
		}
		return []byte(text)
	})
}

// escape matches adjacent escapes together, since two can be one character.
var escape = regexp.MustCompile(`(\\u[0-9a-fA-F]{4}|\\["\\/bfnrt])+`)

// containsFold reports whether text contains lower, which is in lower case. It does not
// allocate for ASCII, because a search calls it for every entry.
func containsFold[T string | []byte](text T, lower string) bool {
	if lower == "" {
		return true
	}
	if strings.ContainsFunc(lower, func(r rune) bool { return r > unicode.MaxASCII }) {
		return strings.Contains(strings.ToLower(string(text)), lower)
	}
	for i := 0; i+len(lower) <= len(text); i++ {
		j := 0
		for j < len(lower) && lowerASCII(text[i+j]) == lower[j] {
			j++
		}
		if j == len(lower) {
			return true
		}
	}
	return false
}

func lowerASCII(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// hasValue reports whether a text, number or other single value in the body of the request matches, with the names of the
// members that it is in. It reads one value at a time, since a decoded body can take ten times the memory.
func (e *Entry) hasValue(matches func(path []string, text string) bool) bool {
	decoder := json.NewDecoder(bytes.NewReader(e.Request.Body))
	decoder.UseNumber() // which keeps all digits
	return json.Valid(e.Request.Body) && findValue(decoder, nil, matches)
}

// findValue looks for a value that matches in the next one, which is valid. The elements of an array have the path of the array.
func findValue(decoder *json.Decoder, path []string, matches func(path []string, text string) bool) bool {
	token, _ := decoder.Token()
	begin, isContainer := token.(json.Delim)
	if !isContainer {
		return matches(path, fmt.Sprint(cmp.Or(token, any("null"))))
	}
	for decoder.More() {
		within := path
		if begin == '{' {
			name, _ := decoder.Token()
			within = append(path, fmt.Sprint(name)) // in the place of the member before it
		}
		if findValue(decoder, within, matches) {
			return true
		}
	}
	_, _ = decoder.Token() // its end
	return false
}
