// Package mail reads the message of an email broadcast: it makes a copy that is safe to
// show, and finds links, remote images, text and placeholders.
package mail

import (
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// IsHTML reports whether a message looks like HTML. How the service decides that is not
// documented.
func IsHTML(message string) bool { return tag.MatchString(message) }

var tag = regexp.MustCompile(`(?i)</?[a-z][a-z0-9]*(\s[^<>]*)?/?>|<!doctype`)

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
		changed := removeUnwanted(root) + disarmLinks(root) + replaceImages(root)
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

// parse parses as a browser does without scripts: the content of noscript is part of
// the document.
func parse(document string) *html.Node {
	root, err := html.ParseWithOptions(strings.NewReader(document), html.ParseOptionEnableScripting(false))
	if err != nil { // nested too deeply
		return &html.Node{Type: html.DocumentNode}
	}
	return root
}

// unwanted are the elements that connect by themselves or change how a page
// connects.
var unwanted = map[string]bool{"link": true, "script": true, "base": true, "iframe": true, "frame": true, "frameset": true, "object": true,
	"embed": true, "portal": true, "fencedframe": true,
	// of SVG: an animation can set the address of a link
	"animate": true, "animatetransform": true, "animatemotion": true, "animatecolor": true, "set": true, "discard": true,
	"handler": true, "listener": true}

// removeUnwanted removes elements, and returns how many it removed.
func removeUnwanted(root *html.Node) int {
	var found []*html.Node
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && (unwanted[localName(n)] || n.DataAtom == atom.Meta && hasAttribute(n, "http-equiv")) {
			found = append(found, n)
		}
	}
	for _, n := range found {
		n.Parent.RemoveChild(n)
	}
	return len(found)
}

// localName returns the name of an element in lower case, without a prefix.
func localName(n *html.Node) string {
	name := strings.ToLower(n.Data)
	return name[strings.LastIndexByte(name, ':')+1:]
}

// leading are the attributes whose address a click opens.
var leading = map[string]bool{"href": true, "xlink:href": true, "ping": true, "action": true, "formaction": true}

// disarmLinks makes the links to other documents lead nowhere, and returns how
// many it changed.
func disarmLinks(root *html.Node) (changed int) {
	for n := range root.Descendants() {
		for i, a := range n.Attr {
			if !leading[strings.ToLower(a.Key)] || strings.HasPrefix(a.Val, "#") || strings.HasPrefix(a.Val, "data:image/") {
				continue
			}
			n.Attr[i].Val = "#"
			if a.Key == "href" && !hasAttribute(n, "title") {
				n.Attr = append(n.Attr, html.Attribute{Key: "title", Val: a.Val})
			}
			changed++
		}
	}
	return changed
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if strings.EqualFold(a.Key, name) {
			return a.Val
		}
	}
	return ""
}

func hasAttribute(n *html.Node, name string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return strings.EqualFold(a.Key, name) })
}

// Link is a link of a message.
type Link struct {
	URL, Text string
	Problems  []string // in a few words
}

// IsBroken reports whether nobody who receives the message can follow the link.
func (l Link) IsBroken() bool {
	return slices.ContainsFunc(l.Problems, func(p string) bool {
		return p == nowhere && l.URL != "#" || p == relative || p == local || p == scripted
	})
}

// Links returns the links of a message, in order.
func Links(message string) (links []Link) {
	if !IsHTML(message) {
		for _, url := range plainURL.FindAllString(message, -1) {
			links = append(links, Link{URL: url, Problems: hostProblems(url)})
		}
		return links
	}
	for n := range parse(message).Descendants() {
		if n.DataAtom == atom.A && hasAttribute(n, "href") {
			links = append(links, Link{attribute(n, "href"), strings.Join(strings.Fields(text(n)), " "), linkProblems(n)})
		}
	}
	return links
}

var plainURL = regexp.MustCompile(`https?:/[^\s<>"]*`)

// RemoteImages returns the number of images that the message would load.
func RemoteImages(message string) (n int) {
	for node := range parse(message).Descendants() {
		if node.DataAtom == atom.Img && isRemote(node) {
			n++
		}
	}
	return n
}

// Text returns the text of a message as a reader without HTML sees it.
func Text(message string) string {
	if !IsHTML(message) {
		return message
	}
	var lines []string
	for line := range strings.SplitSeq(text(parse(message)), "\n") {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// text returns the text in a node, with a line break around each block.
func text(n *html.Node) string {
	switch {
	case n.Type == html.TextNode:
		return strings.ReplaceAll(n.Data, "\n", " ")
	case n.DataAtom == atom.Style || n.DataAtom == atom.Script || n.DataAtom == atom.Title || isHidden(n):
		return ""
	case n.DataAtom == atom.Br:
		return "\n"
	case n.DataAtom == atom.Img:
		return attribute(n, "alt")
	}
	var b strings.Builder
	for child := range n.ChildNodes() {
		b.WriteString(text(child))
	}
	switch {
	case blocks[n.DataAtom]:
		return "\n" + b.String() + "\n"
	case n.DataAtom == atom.Td, n.DataAtom == atom.Th:
		return b.String() + " "
	}
	return b.String()
}

// isHidden reports whether no reader sees an element.
func isHidden(n *html.Node) bool {
	style := strings.ToLower(strings.ReplaceAll(attribute(n, "style"), " ", ""))
	return n.DataAtom == atom.Template || strings.Contains(style, "display:none") ||
		slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "hidden" })
}

var blocks = map[atom.Atom]bool{atom.P: true, atom.Div: true, atom.H1: true, atom.H2: true, atom.H3: true, atom.H4: true, atom.Li: true,
	atom.Ul: true, atom.Ol: true, atom.Tr: true, atom.Table: true, atom.Section: true, atom.Header: true, atom.Footer: true,
	atom.Blockquote: true, atom.Pre: true}
