package history

import (
	"bytes"
	"encoding/json"
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
	decoder := json.NewDecoder(bytes.NewReader(e.Request.Body))
	decoder.UseNumber()
	var body any
	if decoder.Decode(&body) != nil {
		return false
	}
	return findValue(body, nil, func(at []string, text string) bool {
		return len(at) >= len(path) && slices.EqualFunc(at[len(at)-len(path):], path, strings.EqualFold) && matches(text)
	})
}

// findValue reports whether a value within another one matches. The elements of an array have
// the path of the array.
func findValue(value any, at []string, match func(at []string, text string) bool) bool {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			if findValue(member, append(slices.Clip(at), name), match) {
				return true
			}
		}
		return false
	case []any:
		return slices.ContainsFunc(value, func(element any) bool { return findValue(element, at, match) })
	case string:
		return match(at, value)
	default:
		text, err := json.Marshal(value)
		return err == nil && match(at, string(text))
	}
}

// Mentions reports whether the body of the request has one of some texts as a value. Empty texts are left out.
func (e *Entry) Mentions(texts ...string) bool {
	body := unescaped(e.Request.Body)
	return slices.ContainsFunc(texts, func(text string) bool { return text != "" && containsFold(body, lower(`"`+text+`"`)) })
}

// hasText reports whether a text in the next value matches, with the name of the member that it is in. It reads no further
// than that, since a body can name many recipients.
func hasText(decoder *json.Decoder, name string, matches func(name, text string) bool) (found bool, err error) {
	token, err := decoder.Token()
	if text, ok := token.(string); ok {
		return matches(name, text), err
	}
	if token != json.Delim('{') && token != json.Delim('[') {
		return false, err
	}
	for decoder.More() {
		if token == json.Delim('{') {
			key, err := decoder.Token()
			if err != nil {
				return false, err
			}
			name, _ = key.(string)
		}
		if found, err := hasText(decoder, name, matches); found || err != nil {
			return found, err
		}
	}
	_, err = decoder.Token() // the end
	return false, err
}
