package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// contains reports whether the request or the response contains a word.
func (e *Entry) contains(word string) bool {
	if containsFold(unescaped(e.Request.Body), word) || containsFold(e.Op, word) || containsFold(e.Request.Path, word) ||
		containsFold(unescaped(e.ResponseBody), word) || containsFold(e.Fault, word) || containsFold(e.EventName, word) {
		return true
	}
	for name, values := range e.Request.Query {
		if containsFold(name, word) || slices.ContainsFunc(values, func(v string) bool { return containsFold(v, word) }) {
			return true
		}
	}
	return headerContains(e.Request.Header, word) || headerContains(e.ResponseHeader, word)
}

// headerContains reports whether a value contains a word. Values in place of credentials
// are left out: they are the same in every request.
func headerContains(header http.Header, word string) bool {
	for _, values := range header {
		if slices.ContainsFunc(values, func(v string) bool { return v != "REDACTED" && containsFold(v, word) }) {
			return true
		}
	}
	return false
}

// lower returns a text in lower case, for containsFold.
func lower(text string) string { return strings.ToLower(text) }

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

// hasValue reports whether a value of the body of the request matches another one, of which it has at least a part. Its
// path ends with the names of path.
func (e *Entry) hasValue(path []string, part string, matches func(text string) bool) bool {
	if text := unescaped(e.Request.Body); !containsFold(text, path[len(path)-1]) || !containsFold(text, part) {
		return false // most bodies need not be read
	}
	return json.Valid(e.Request.Body) && e.findValue(func(at []string, text string) bool {
		return len(at) >= len(path) && slices.EqualFunc(at[len(at)-len(path):], path, strings.EqualFold) && matches(text)
	})
}

// findValue reports whether a text, number or other single value in the body of the request matches, with the names of the
// members that it is in.
func (e *Entry) findValue(matches func(at []string, text string) bool) bool {
	decoder := json.NewDecoder(bytes.NewReader(e.Request.Body))
	decoder.UseNumber()
	found, _ := findNext(decoder, nil, matches) // what cannot be read has no values
	return found
}

// findNext looks for a value that matches in the next value. It reads no further than that, since a body can name many
// recipients. The elements of an array have the path of the array.
func findNext(decoder *json.Decoder, at []string, matches func(at []string, text string) bool) (found bool, err error) {
	token, err := decoder.Token()
	if err != nil {
		return false, err
	}
	if token == nil {
		return matches(at, "null"), nil
	}
	if _, isNested := token.(json.Delim); !isNested {
		return matches(at, fmt.Sprint(token)), nil
	}
	for decoder.More() {
		member := at
		if token == json.Delim('{') {
			name, err := decoder.Token()
			if err != nil {
				return false, err
			}
			member = append(at, fmt.Sprint(name)) // in the place of the member before it
		}
		if found, err := findNext(decoder, member, matches); found || err != nil {
			return found, err
		}
	}
	_, err = decoder.Token() // the end
	return false, err
}

// Mentions reports whether the body of the request has one of some texts as a value. Empty texts are left out.
func (e *Entry) Mentions(texts ...string) bool {
	body := unescaped(e.Request.Body)
	return slices.ContainsFunc(texts, func(text string) bool { return text != "" && containsFold(body, lower(`"`+text+`"`)) })
}
