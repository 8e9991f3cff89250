package mail

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Clean returns the document to show for an HTML message. The policy of the page that
// shows it blocks everything that the document would load. But for a preconnect, a
// frame and a link that is clicked, a browser opens connections without regard to the
// policy. Clean removes these elements, and what animates them, and makes links lead
// nowhere. The title of a link shows its address, and a box the place of a remote image.
//
// A browser can read a document differently from how it was written, so Clean parses its
// own result until nothing is left to remove. It reports false if that does not end; the
// message can then be shown only as text.
func Clean(message string) (document string, ok bool) {
	const rounds = 5
	document = message
	for range rounds {
		root, err := html.ParseWithOptions(strings.NewReader(document), html.ParseOptionEnableScripting(false))
		if err != nil { // nested too deeply
			return "", false
		}
		changed := disarm(root)
		var b strings.Builder
		if err := html.Render(&b, root); err != nil {
			return "", false
		}
		document = b.String()
		if changed == 0 {
			return document, true
		}
	}
	return "", false
}

// unwanted are the elements that connect by themselves or change how a page
// connects.
var unwanted = map[string]bool{"link": true, "script": true, "base": true, "iframe": true, "frame": true, "frameset": true, "object": true,
	"embed": true, "portal": true, "fencedframe": true,
	// of SVG: an animation can set the address of a link
	"animate": true, "animatetransform": true, "animatemotion": true, "animatecolor": true, "set": true, "discard": true,
	"handler": true, "listener": true}

// disarm removes the unwanted elements of a document, makes its links lead nowhere and replaces its images. It returns how
// many it changed.
func disarm(root *html.Node) (changed int) {
	var removed []*html.Node
	for n := range root.Descendants() {
		_, isPragma := attribute(n.Attr, "http-equiv")
		if n.Type == html.ElementNode && (unwanted[localName(n)] || n.DataAtom == atom.Meta && isPragma) {
			removed = append(removed, n)
			continue
		}
		changed += disarmLinks(n)
		if (n.DataAtom == atom.Img || n.DataAtom == atom.Source) && isRemote(n) {
			replaceImage(n)
			changed++
		}
	}
	for _, n := range removed {
		n.Parent.RemoveChild(n)
	}
	return changed + len(removed)
}

// localName returns the name of an element in lower case, without a prefix.
func localName(n *html.Node) string {
	name := strings.ToLower(n.Data)
	return name[strings.LastIndexByte(name, ':')+1:]
}

// leading are the attributes whose address a click opens.
var leading = map[string]bool{"href": true, "xlink:href": true, "ping": true, "action": true, "formaction": true}

// disarmLinks makes the links of an element to other documents lead nowhere, and returns how many it changed.
func disarmLinks(n *html.Node) (changed int) {
	for i, a := range n.Attr {
		if !leading[strings.ToLower(a.Key)] || strings.HasPrefix(a.Val, "#") || strings.HasPrefix(a.Val, "data:image/") {
			continue
		}
		n.Attr[i].Val = "#"
		if _, titled := attribute(n.Attr, "title"); a.Key == "href" && !titled {
			n.Attr = append(n.Attr, html.Attribute{Key: "title", Val: a.Val})
		}
		changed++
	}
	return changed
}

// replaceImage shows a box with the alternative text in place of an image that would be loaded.
func replaceImage(n *html.Node) {
	n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "src" || a.Key == "srcset" })
	if n.DataAtom == atom.Img {
		n.Attr = append(n.Attr, html.Attribute{Key: "src", Val: box(n)})
	}
}

// isRemote reports whether an image would be loaded.
func isRemote(n *html.Node) bool {
	source := strings.ToLower(strings.TrimSpace(valueOf(n.Attr, "src") + valueOf(n.Attr, "srcset")))
	return source != "" && !strings.HasPrefix(source, "data:")
}

// box returns the address of a picture of the size that an image has, with its alternative text.
func box(n *html.Node) string {
	const usualWidth, usualHeight = 240, 80
	label := strings.Join(strings.FieldsFunc(valueOf(n.Attr, "alt"), isNotShown), " ")
	return "data:image/svg+xml," + url.PathEscape(fmt.Sprintf(picture, cmp.Or(pixels(n, "width"), usualWidth),
		cmp.Or(pixels(n, "height"), usualHeight), html.EscapeString(label)))
}

const picture = `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d">` +
	`<rect width="100%%" height="100%%" fill="#ececea" stroke="#b4b2ac" stroke-dasharray="4"/>` +
	`<text x="50%%" y="50%%" text-anchor="middle" dominant-baseline="central" font-family="system-ui,sans-serif" ` +
	`font-size="13" fill="#55534e">%s</text></svg>`

// pixels returns an attribute that is a number of pixels, or 0.
func pixels(n *html.Node, name string) int {
	const most = 4000
	value, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(valueOf(n.Attr, name)), "px"))
	if err != nil || value < 0 {
		return 0
	}
	return min(value, most)
}

// isNotShown is for what separates words, and for what is not allowed in XML.
func isNotShown(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || !unicode.IsPrint(r) || r == unicode.ReplacementChar
}
