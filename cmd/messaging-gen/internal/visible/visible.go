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

// Text returns s with the escape of a Go string, such as \u202e, for each hidden character.
func Text(s string) string {
	return replaced(s, func(r rune) string {
		if r <= 0xffff {
			return fmt.Sprintf(`\u%04x`, r)
		}
		return fmt.Sprintf(`\U%08x`, r)
	})
}

// Quote returns s as a string of Go.
func Quote(s string) string {
	return `"` + Text(quoted.Replace(s)) + `"`
}

var quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// JSON returns s as a string of JSON, with an escape for each hidden character, and none for HTML.
func JSON(s string) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s) // a string can be encoded
	return replaced(strings.TrimSuffix(b.String(), "\n"), func(r rune) (escaped string) {
		for _, unit := range utf16.AppendRune(nil, r) {
			escaped += fmt.Sprintf(`\u%04x`, unit)
		}
		return escaped
	})
}

// replaced returns s with what write returns in place of each hidden character.
func replaced(s string, write func(rune) string) string {
	var b strings.Builder
	for _, r := range s {
		if Hidden(r) {
			b.WriteString(write(r))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
