// Package visible makes characters that a reader cannot see visible: controls, marks that
// change the direction of text, and letters without a shape.
package visible

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Hidden reports whether a reader cannot see r.
func Hidden(r rune) bool {
	return r > unicode.MaxLatin1 && unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || !unicode.IsGraphic(r)
}

// HiddenInProse reports whether a reader cannot see r, and prose does not need it: newlines,
// tabs, and the joiners of emoji and of several scripts are not hidden.
func HiddenInProse(r rune) bool {
	const joiner, nonJoiner = '\u200d', '\u200c'
	return r != '\n' && r != '\t' && r != joiner && r != nonJoiner && Hidden(r)
}

// Text returns s with an escape such as \u202e for each hidden character. Strings of Go and
// TOML have the same escapes.
func Text(s string) string {
	if !strings.ContainsFunc(s, Hidden) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case !Hidden(r):
			b.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}

// Quote returns s as a string of Go or TOML.
func Quote(s string) string {
	return `"` + Text(quoted.Replace(s)) + `"`
}

var quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// Prose returns s with symbols for characters that are hidden in prose. Otherwise, a reader
// can miss them, or they change the order of what stands beside them.
func Prose(s string) string {
	if !strings.ContainsFunc(s, HiddenInProse) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case !HiddenInProse(r):
			b.WriteRune(r)
		case r < ' ':
			b.WriteRune('\u2400' + r)
		default:
			fmt.Fprintf(&b, "‹U+%04X›", r)
		}
	}
	return b.String()
}

// JSON returns s as a string of JSON, with escapes for the characters that are hidden but
// none for HTML.
func JSON(s string, hidden func(rune) bool) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s) // a string can be encoded
	encoded := strings.TrimSuffix(b.String(), "\n")
	if !strings.ContainsFunc(encoded, hidden) {
		return encoded
	}
	var escaped strings.Builder
	for _, r := range encoded {
		if !hidden(r) {
			escaped.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&escaped, `\u%04x`, unit)
		}
	}
	return escaped.String()
}
