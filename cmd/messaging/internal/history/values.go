package history

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

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
