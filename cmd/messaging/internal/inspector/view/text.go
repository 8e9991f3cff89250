// Package view makes what the pages of the inspector show: values, from the store, the
// events and an entry.
package view

import (
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Tag is an outcome in words. Its class gives it its color.
type Tag struct{ Class, Text string }

// Snippet is code with a button that copies it.
type Snippet struct{ Label, Text string }

// maxShown is the size of the largest body that a page shows in full, and maxRows is how
// many rows a table shows.
const maxShown, maxRows = 256 << 10, 500

// spaced returns a name of JSON as people write it.
func spaced(name string) string { return strings.ReplaceAll(name, "_", " ") }

func capitalized(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// prefixed returns a text with what is before it, unless it is empty.
func prefixed(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}

// joined returns the texts that are not empty, with points between them.
func joined(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), " · ")
}

// cut returns the beginning of a text that a page can show.
func cut(text string) string {
	if len(text) <= maxShown {
		return text
	}
	return validText(text[:maxShown]) + "…"
}

// validText returns a text with its invalid UTF-8 replaced.
func validText[T string | []byte](text T) string {
	return strings.ToValidUTF8(string(text), string(utf8.RuneError))
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// took writes a duration to the millisecond, or to the microsecond if it is shorter than one.
func took(d time.Duration) string {
	if d < time.Millisecond {
		return d.Truncate(time.Microsecond).String()
	}
	return d.Truncate(time.Millisecond).String()
}

// QueryString returns the query of a URL without values that are "" or 0.
func QueryString(namesAndValues ...any) string {
	var parts []string
	for i := 0; i < len(namesAndValues); i += 2 {
		if name, value := namesAndValues[i], namesAndValues[i+1]; value != "" && value != 0 {
			parts = append(parts, fmt.Sprintf("%v=%s", name, template.URLQueryEscaper(value)))
		}
	}
	return prefixed("?", strings.Join(parts, "&"))
}
