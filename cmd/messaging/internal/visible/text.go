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

// IsBlank reports whether a text leaves nothing to see on a page.
func IsBlank(text string) bool {
	return strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || Hidden(r) }) == ""
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
	return replaced(s, Hidden, func(r rune) string {
		if r <= 0xffff {
			return fmt.Sprintf(`\u%04x`, r)
		}
		return fmt.Sprintf(`\U%08x`, r)
	})
}

// replaced returns s with what write returns in place of each hidden character.
func replaced(s string, hidden func(rune) bool, write func(rune) string) string {
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			b.WriteString(write(r))
		} else {
			b.WriteRune(r)
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
	return replaced(s, HiddenInProse, func(r rune) string {
		if r < ' ' {
			return string('\u2400' + r)
		}
		return fmt.Sprintf("‹U+%04X›", r)
	})
}

// JSON returns s as a string of JSON, with escapes for the characters that are hidden but
// none for HTML.
func JSON(s string, hidden func(rune) bool) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s) // a string can be encoded
	return EscapeJSON(strings.TrimSuffix(b.String(), "\n"), hidden)
}

// EscapeJSON escapes the hidden characters of compact JSON, all of which are in strings.
func EscapeJSON(s string, hidden func(rune) bool) string {
	return replaced(s, hidden, func(r rune) (escaped string) {
		for _, unit := range utf16.AppendRune(nil, r) {
			escaped += fmt.Sprintf(`\u%04x`, unit)
		}
		return escaped
	})
}
