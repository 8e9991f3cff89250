// Package visible makes characters that a reader cannot see visible: controls, marks that
// change the direction of text, and letters without a shape.
package visible

import (
	"fmt"
	"strings"
	"unicode"
)

// Hidden reports whether a reader cannot see r.
func Hidden(r rune) bool {
	return r > unicode.MaxLatin1 && unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || !unicode.IsGraphic(r)
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
