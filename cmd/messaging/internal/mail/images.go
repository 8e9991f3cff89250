package mail

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// replaceImages shows a box with its alternative text in place of each image that would be
// loaded, and returns how many it replaced.
func replaceImages(root *html.Node) (replaced int) {
	for n := range root.Descendants() {
		if n.DataAtom != atom.Img && n.DataAtom != atom.Source || !isRemote(n) {
			continue
		}
		n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "src" || a.Key == "srcset" })
		if n.DataAtom == atom.Img {
			n.Attr = append(n.Attr, html.Attribute{Key: "src", Val: placeholder(n)})
		}
		replaced++
	}
	return replaced
}

// isRemote reports whether an image would be loaded.
func isRemote(n *html.Node) bool {
	source := strings.ToLower(strings.TrimSpace(attribute(n, "src") + attribute(n, "srcset")))
	return source != "" && !strings.HasPrefix(source, "data:")
}

// placeholder returns the address of a picture of the size that an image has, with its
// alternative text.
func placeholder(n *html.Node) string {
	const usual, perCharacter, line = 240, 7, 20
	width, height := pixels(n, "width"), pixels(n, "height")
	if width == 0 {
		width = max(usual, 3*height)
	}
	if height == 0 {
		height = max(width/3, 1)
	}
	label := []rune(strings.Join(strings.FieldsFunc(attribute(n, "alt"), isNotShown), " "))
	if most := (width - line) / perCharacter; len(label) > most {
		label = append(label[:max(0, most-1)], '…')
	}
	if height < line || width < 2*line {
		label = nil
	}
	return "data:image/svg+xml," + url.PathEscape(fmt.Sprintf(picture, width, height, html.EscapeString(string(label))))
}

const picture = `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d">` +
	`<rect width="100%%" height="100%%" fill="#ececea" stroke="#b4b2ac" stroke-dasharray="4"/>` +
	`<text x="50%%" y="50%%" text-anchor="middle" dominant-baseline="central" font-family="system-ui,sans-serif" ` +
	`font-size="13" fill="#55534e">%s</text></svg>`

// pixels returns an attribute that is a number of pixels, or 0.
func pixels(n *html.Node, name string) int {
	const most = 4000
	value, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(attribute(n, name)), "px"))
	if err != nil || value < 0 {
		return 0
	}
	return min(value, most)
}

// isNotShown is for what separates words, and for what is not allowed in XML.
func isNotShown(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || !unicode.IsPrint(r) || r == unicode.ReplacementChar
}
