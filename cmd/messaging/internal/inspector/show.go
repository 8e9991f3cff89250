package inspector

import (
	"fmt"
	"strings"
	"unicode"
)

// show returns a text with its control characters as symbols. Otherwise, they can be
// missed, or change the order of what stands beside them.
func show(text string) string {
	if !strings.ContainsFunc(text, isInvisible) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case !isInvisible(r):
			b.WriteRune(r)
		case r < ' ':
			b.WriteRune('\u2400' + r)
		default:
			_, _ = fmt.Fprintf(&b, "‹U+%04X›", r) // a builder returns no error
		}
	}
	return b.String()
}

// isInvisible reports whether a character has no shape of its own and can change how
// others are shown.
func isInvisible(r rune) bool {
	const joiner, nonJoiner = '\u200d', '\u200c' // emoji and several scripts need them
	return r != '\n' && r != '\t' && r != joiner && r != nonJoiner && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) ||
		r == '\u2028' || r == '\u2029'
}
