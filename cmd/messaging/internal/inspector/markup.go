package inspector

import (
	"regexp"
	"strings"

	"golang.org/x/net/html"
)

// maxParts is how many parts of a source have colors: most take an element of the page.
const maxParts = 10_000

// Markup returns the beginning of the message as it was sent, with a class for each part of
// its tags unless they are too many.
func (v *emailView) Markup() []part {
	source := v.Source()
	if parts := markup(source); len(parts) <= maxParts {
		return parts
	}
	return []part{{"", source}}
}

// markup splits HTML. Its parts are exactly the source.
func markup(source string) (parts []part) {
	rest := source
	for tokens := html.NewTokenizer(strings.NewReader(source)); ; {
		kind := tokens.Next()
		if kind == html.ErrorToken {
			break
		}
		raw := rest[:len(tokens.Raw())]
		rest = rest[len(raw):]
		switch kind {
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			parts = append(parts, tagParts(raw)...)
		case html.CommentToken, html.DoctypeToken:
			parts = append(parts, part{"c", raw})
		default:
			parts = append(parts, part{"", raw})
		}
	}
	return append(parts, part{"", rest}) // a tag without an end
}

var (
	tagName   = regexp.MustCompile(`^</?[^\s/>]*`)
	attribute = regexp.MustCompile(`([^\s=/>]+)(?:(\s*=\s*)("[^"]*"|'[^']*'|[^\s>]+))?`)
)

// tagParts splits a tag into its name, the names and the values of its attributes, and what
// is between them.
func tagParts(tag string) (parts []part) {
	add := func(class, text string) {
		if text != "" {
			parts = append(parts, part{class, text})
		}
	}
	name := tagName.FindString(tag)
	add("k", name)
	tag = tag[len(name):]
	at := 0
	for _, m := range attribute.FindAllStringSubmatchIndex(tag, -1) {
		add("", tag[at:m[2]])
		add("n", tag[m[2]:m[3]])
		if at = m[1]; m[6] >= 0 {
			add("", tag[m[4]:m[5]])
			add("s", tag[m[6]:m[7]])
		}
	}
	end := strings.TrimRight(tag[at:], "/>")
	add("", end)
	add("k", tag[at+len(end):])
	return parts
}
