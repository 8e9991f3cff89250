package inspector

import (
	"regexp"
	"slices"
	"strconv"
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

// markup splits HTML. Its parts are exactly the source. Their classes also say where a line would
// begin, since many messages are one long line.
func markup(source string) (parts []part) {
	rest := source
	var open blocks
	for tokens := html.NewTokenizer(strings.NewReader(source)); ; {
		kind := tokens.Next()
		if kind == html.ErrorToken {
			break
		}
		raw := rest[:len(tokens.Raw())]
		rest = rest[len(raw):]
		switch kind {
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			tag := tagParts(raw)
			if class := open.next(kind, tag[0].Text); class != "" && len(parts) > 0 && !strings.HasSuffix(parts[len(parts)-1].Text, "\n") {
				tag[0].Class += " " + class
			}
			parts = append(parts, tag...)
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

// blocks are the open elements that begin a line, the outermost first.
type blocks []block

type block struct {
	name  string
	inner bool // whether another one was in it
}

// isBlock has the elements that begin a line.
var isBlock = map[string]bool{"html": true, "head": true, "body": true, "style": true, "title": true, "table": true, "thead": true,
	"tbody": true, "tfoot": true, "tr": true, "td": true, "th": true, "div": true, "section": true, "article": true, "header": true,
	"footer": true, "main": true, "p": true, "h1": true, "h2": true, "h3": true, "h4": true, "h5": true, "h6": true, "ul": true,
	"ol": true, "li": true, "center": true, "blockquote": true, "pre": true}

// deepest is how far lines are indented.
const deepest = 6

// next returns the class of the indentation of a tag, or "" if it begins no line. The text is the
// tag up to its name.
func (b *blocks) next(kind html.TokenType, text string) string {
	name := strings.ToLower(strings.TrimLeft(text, "</"))
	switch {
	case !isBlock[name]:
		return ""
	case kind == html.EndTagToken:
		for i := range slices.Backward(*b) {
			if open := (*b)[i]; open.name == name {
				if *b = (*b)[:i]; open.inner {
					return b.indentation()
				}
				return ""
			}
		}
		return ""
	}
	class := b.indentation()
	if len(*b) > 0 {
		(*b)[len(*b)-1].inner = true
	}
	if kind == html.StartTagToken {
		*b = append(*b, block{name: name})
	}
	return class
}

func (b *blocks) indentation() string { return "i" + strconv.Itoa(min(len(*b), deepest)) }
