// Package mail reads the message of an email broadcast: it makes a copy that is safe to
// show, and finds its text and placeholders.
package mail

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// IsHTML reports whether a message looks like HTML. How the service decides that is not
// documented.
func IsHTML(message string) bool { return tag.MatchString(message) }

var tag = regexp.MustCompile(`(?i)</?[a-z][a-z0-9]*(\s[^<>]*)?/?>|<!doctype`)

// parse parses as a browser does without scripts: the content of noscript is part of
// the document.
func parse(document string) *html.Node {
	root, err := html.ParseWithOptions(strings.NewReader(document), html.ParseOptionEnableScripting(false))
	if err != nil { // nested too deeply
		return &html.Node{Type: html.DocumentNode}
	}
	return root
}

// attribute returns the value of an attribute, and whether it is there.
func attribute(attributes []html.Attribute, name string) (value string, ok bool) {
	for _, a := range attributes {
		if strings.EqualFold(a.Key, name) {
			return a.Val, true
		}
	}
	return "", false
}

func valueOf(attributes []html.Attribute, name string) string {
	value, _ := attribute(attributes, name)
	return value
}

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

const blockNames = `html|head|body|title|meta|style|p|div|h[1-6]|li|ul|ol|table|tr|td|th|section|header|footer|blockquote|pre|br|img`

var blockName = regexp.MustCompile(`^(` + blockNames + `)$`)

// text returns the text in a node, with a line break around each block.
func text(n *html.Node) string {
	switch {
	case n.Type == html.TextNode:
		return strings.ReplaceAll(n.Data, "\n", " ")
	case unread[n.DataAtom]:
		return ""
	case n.DataAtom == atom.Br:
		return "\n"
	case n.DataAtom == atom.Img:
		return valueOf(n.Attr, "alt")
	}
	var b strings.Builder
	for child := range n.ChildNodes() {
		b.WriteString(text(child))
	}
	switch {
	case n.DataAtom == atom.Td, n.DataAtom == atom.Th:
		return b.String() + " "
	case n.Type == html.ElementNode && blockName.MatchString(n.Data):
		return "\n" + b.String() + "\n"
	}
	return b.String()
}

var unread = map[atom.Atom]bool{atom.Style: true, atom.Script: true, atom.Title: true, atom.Template: true}

var pixelWidth = regexp.MustCompile(`(?i)(?:^|[\s;-])width\s*:\s*(\d+)px`)

// IsFixed reports whether a message is wider than a phone whatever the width of its window: it has
// a part with a larger width in pixels, and no max-width. An email program makes it smaller.
func IsFixed(message string) bool {
	const phone = 430
	if strings.Contains(strings.ToLower(message), "max-width") {
		return false
	}
	for n := range parse(message).Descendants() {
		inStyle := 0
		if found := pixelWidth.FindStringSubmatch(valueOf(n.Attr, "style")); found != nil {
			inStyle, _ = strconv.Atoi(found[1]) // what is too large for a number is too large for a window
		}
		if inStyle > phone || n.DataAtom != atom.Div && pixels(n, "width") > phone {
			return true
		}
	}
	return false
}

// supplied is what services for email usually fill in without a variable: fields of the customer, and addresses of pages.
// Whether this one does is not documented, so a placeholder with such a name is no mistake that a request shows.
var supplied = regexp.MustCompile(`^((customer\.)?(customerid|email|firstname|lastname|phoneno)|` +
	`(unsubscribe|viewinbrowser|preferences)(url|link)?)$`)

// HasVariable reports whether a placeholder has a variable among those that were sent, by its whole name or by what is before
// the first dot, as in order.id, or may need none.
func HasVariable(sent map[string]any, placeholder string) bool {
	object, _, _ := strings.Cut(placeholder, ".")
	_, isSent := sent[placeholder]
	_, isPart := sent[object]
	return isSent || isPart ||
		supplied.MatchString(strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(placeholder)))
}

// placeholder is a name in {{name}} or {{{name}}}, which can have filters, as in {{name | upper}}. What begins with a sign,
// such as {{#if}} and {{/if}}, is no name in any usual language.
var placeholder = regexp.MustCompile(`\{\{\s*([^\s{}|#/^>!&][^\s{}|]*)\s*(?:\|[^{}]*)?\}\}`)

// Placeholders returns the names of the placeholders in the texts, sorted, each once.
func Placeholders(texts ...string) (names []string) {
	for _, text := range texts {
		for _, found := range placeholder.FindAllStringSubmatch(text, -1) {
			names = append(names, found[1])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
