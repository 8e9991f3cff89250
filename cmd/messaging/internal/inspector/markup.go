package inspector

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"

	"github.com/messaging-go/messaging/cmd/messaging/internal/mail"
)

// maxParts is how many lines and colored parts of a source are shown as such: each takes an element
// of the page.
const maxParts = 10_000

// sourceLine is a line of a source.
type sourceLine struct {
	// Number is that of the line, or 0 if lines are not shown.
	Number int
	// Indentation is a class, or "". A line that is one in the message has its own indentation.
	Indentation string
	Parts       []part
	// Clipped reports whether Gmail cuts off the message in the line.
	Clipped bool

	at int // where it begins
}

// Lines returns the beginning of the message as it was sent, in lines.
func (v *emailView) Lines() []sourceLine {
	lines := fitted(markup(v.Source(), v.AreLinesAdded()))
	if i := lineIndex(lines, mail.Clipped); i >= 0 && len(v.Message) > mail.Clipped {
		lines[i].Clipped = true
	}
	return lines
}

// fitted returns lines that a page can show: those at the end have no colors, and what are too many lines is one.
func fitted(lines []sourceLine) []sourceLine {
	colored := maxParts - len(lines)
	for i := range lines {
		if colored -= len(lines[i].Parts); colored < 0 {
			lines[i].Parts = []part{{"", lines[i].text()}}
		}
	}
	if len(lines) <= maxParts {
		return lines
	}
	var rest strings.Builder
	for _, line := range lines[maxParts:] {
		rest.WriteString(line.text())
	}
	return append(lines[:maxParts], sourceLine{Parts: []part{{"", rest.String()}}, at: lines[maxParts].at})
}

// text returns the source of the line.
func (l sourceLine) text() string {
	var b strings.Builder
	for _, p := range l.Parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// AreLinesAdded reports whether the source is broken into more lines than it has, because its own are
// too long to read. Only otherwise are the numbers of the lines those of the message.
func (v *emailView) AreLinesAdded() bool {
	const readable, readableAlone = 1000, 120
	lines, longest := 0, 0
	for line := range strings.Lines(v.Source()) {
		lines, longest = lines+1, max(longest, len(line))
	}
	return longest > readable || lines == 1 && longest > readableAlone
}

// lineAt returns the number of the line that has a byte of the source, or 0.
func lineAt(lines []sourceLine, at int) int {
	if i := lineIndex(lines, at); i >= 0 {
		return lines[i].Number
	}
	return 0
}

// lineIndex returns the index of the line that has a byte of the source, or -1.
func lineIndex(lines []sourceLine, at int) int {
	i, found := slices.BinarySearchFunc(lines, at, func(line sourceLine, at int) int { return cmp.Compare(line.at, at) })
	if !found {
		i--
	}
	return i
}

// markup splits HTML into lines and parts, which together are exactly the source. With addLines, a
// line also begins where a block does, since many messages are one long line.
func markup(source string, addLines bool) []sourceLine {
	rest := source
	var lines sourceLines
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
			if indentation := open.next(kind, tag[0].Text); addLines && indentation != "" {
				lines.begin(indentation)
			}
			lines.add(tag...)
		case html.CommentToken, html.DoctypeToken:
			lines.add(part{"c", raw})
		default:
			lines.add(part{"", raw})
		}
	}
	lines.add(part{"", rest}) // a tag without an end
	return lines.all
}

// sourceLines takes the parts of a source in turn.
type sourceLines struct {
	all   []sourceLine
	at    int
	ended bool // whether the last line has its end
}

// begin begins a line, unless the last one has just begun.
func (l *sourceLines) begin(indentation string) {
	if len(l.all) > 0 && !l.ended {
		l.next()
		l.all[len(l.all)-1].Indentation = indentation
	}
}

func (l *sourceLines) next() {
	l.all, l.ended = append(l.all, sourceLine{Number: len(l.all) + 1, at: l.at}), false
}

// add adds parts, which may have several lines.
func (l *sourceLines) add(parts ...part) {
	for _, p := range parts {
		for text := range strings.Lines(p.Text) {
			if l.ended || len(l.all) == 0 {
				l.next()
			}
			line := &l.all[len(l.all)-1]
			line.Parts = append(line.Parts, part{p.Class, text})
			l.at += len(text)
			l.ended = strings.HasSuffix(text, "\n")
		}
	}
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
