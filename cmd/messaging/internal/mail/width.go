package mail

import (
	"regexp"
	"strconv"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

var (
	// narrowStyles are styles of the whole message for a narrow window.
	narrowStyles = regexp.MustCompile(`(?i)@media[^{]*max-width`)
	styledWidth  = regexp.MustCompile(`(?i)(?:^|[\s;]|min-)width\s*:\s*(\d+)(px|%)`)
	maxWidth     = regexp.MustCompile(`(?i)max-width\s*:`)
)

// IsFixed reports whether a message is wider than a phone whatever the width of its window: it has
// a part with a fixed width, and no styles for narrow windows. An email program makes it smaller.
func IsFixed(message string) bool {
	const phone = 430
	fixed := false
	for n := range parse(message).Descendants() {
		switch n.DataAtom {
		case atom.Style:
			if n.FirstChild != nil && narrowStyles.MatchString(n.FirstChild.Data) {
				return false
			}
		case atom.Table, atom.Td, atom.Div, atom.Img:
			fixed = fixed || widthOf(n) > phone
		}
	}
	return fixed
}

// widthOf returns the width that an element has in every window, or 0.
func widthOf(n *html.Node) int {
	style := attribute(n, "style")
	if maxWidth.MatchString(style) {
		return 0
	}
	found := styledWidth.FindStringSubmatch(style) // which wins over the attribute
	switch {
	case found == nil:
		return pixels(n, "width")
	case found[2] == "%":
		return 0
	}
	width, _ := strconv.Atoi(found[1]) // what is too large for a number is too large for a window
	return width
}
