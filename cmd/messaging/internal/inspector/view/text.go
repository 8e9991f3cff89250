// Package view makes what the pages of the inspector show: values, from the store, the
// events and an entry.
package view

import (
	"fmt"
	"html/template"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
)

// Tag is an outcome in words. Its class gives it its color.
type Tag struct{ Class, Text string }

// Snippet is code with a button that copies it.
type Snippet struct{ Label, Text string }

// maxShown is the size of the largest body that a page shows in full, and maxRows is how
// many rows a table shows.
const maxShown, maxRows = 256 << 10, 500

// hiddenMark is how visible.Prose writes a character that nobody can see.
var hiddenMark = regexp.MustCompile(`‹U\+[0-9A-F]+›`)

// show makes the hidden characters of a text visible. Their marks read from left to right
// within a text that reads from right to left, too.
func show(text string) string {
	return hiddenMark.ReplaceAllString(visible.Prose(text), "\u2066$0\u2069")
}

// quote returns a JSON string with an escape for each character that nobody sees.
func quote(s string) string { return visible.JSON(s, visible.HiddenInProse) }

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

func firstRows[T any](list []T) []T { return list[:min(len(list), maxRows)] }

func took(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	default:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
}

// QueryString returns the query of a URL without empty values.
func QueryString(namesAndValues ...string) string {
	var parts []string
	for i := 0; i < len(namesAndValues); i += 2 {
		if value := namesAndValues[i+1]; value != "" {
			parts = append(parts, namesAndValues[i]+"="+template.URLQueryEscaper(value))
		}
	}
	return prefixed("?", strings.Join(parts, "&"))
}
