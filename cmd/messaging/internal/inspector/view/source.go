package view

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"

	"github.com/messaging-go/messaging/cmd/messaging/internal/mail"
)

// source is the beginning of a message as it was sent.
type source struct {
	Lines []sourceLine
	// Divided reports whether it is broken into more lines than it has, because its own are
	// too long to read. Only otherwise are the numbers of the lines those of the message.
	Divided bool
	Cut     int // how many bytes are not shown
}

// sourceLine is a line of a source.
type sourceLine struct {
	Number      int
	Indentation string // a class, or ""
	Parts       []part
	Clipped     bool // whether Gmail cuts off the message in the line

	at int // where it begins
}

// maxParts is how many colored parts and lines of a source are shown: each takes an element of the page.
const maxParts = 10_000

func newSource(message string) source {
	shown := message[:min(len(message), maxShown)]
	s := source{Divided: isUnreadable(shown)}
	p := sourcePrinter{divide: s.Divided}
	p.print(validEnd(shown))
	s.Lines, s.Cut = p.lines, len(message)-p.at
	if i := lineIndex(s.Lines, mail.Clipped); i >= 0 && len(message) > mail.Clipped {
		s.Lines[i].Clipped = true
	}
	return s
}

// validEnd returns a text without a part of a character at its end.
func validEnd(text string) string { return strings.ToValidUTF8(text, "") }

// isUnreadable reports whether lines are too long to read.
func isUnreadable(text string) bool {
	const readable, readableAlone = 1000, 120
	lines, longest := 0, 0
	for line := range strings.Lines(text) {
		lines, longest = lines+1, max(longest, len(line))
	}
	return longest > readable || lines == 1 && longest > readableAlone
}

// lineIndex returns the index of the line that has a byte of the source, or -1.
func lineIndex(lines []sourceLine, at int) int {
	i, found := slices.BinarySearchFunc(lines, at, func(line sourceLine, at int) int { return cmp.Compare(line.at, at) })
	if !found {
		i--
	}
	return i
}

// sourcePrinter splits HTML into lines and parts, which together are exactly the source. If
// it divides, a line also begins where a block does, since many messages are one long line.
type sourcePrinter struct {
	divide bool
	lines  []sourceLine
	ended  bool // whether the last line has its end
	at     int
	parts  int
	blocks int   // how many began
	open   []int // of each open block, how many had begun then
}

func (p *sourcePrinter) print(text string) {
	rest := text
	for tokens := html.NewTokenizer(strings.NewReader(text)); len(p.lines) < maxParts; {
		kind := tokens.Next()
		if kind == html.ErrorToken {
			p.add("", rest) // a tag without an end
			return
		}
		raw := rest[:len(tokens.Raw())]
		rest = rest[len(raw):]
		switch kind {
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			p.tag(kind, raw)
		case html.CommentToken, html.DoctypeToken:
			p.add("c", raw)
		default:
			p.add("", raw)
		}
	}
}

var (
	tagName   = regexp.MustCompile(`^</?[^\s/>]*`)
	attribute = regexp.MustCompile(`([^\s=/>]+)(?:(\s*=\s*)("[^"]*"|'[^']*'|[^\s>]+))?`)
	// block matches the elements that begin a line.
	block = regexp.MustCompile(`(?i)^</?(html|head|body|style|title|table|thead|tbody|tfoot|tr|td|th|div|section|article|header|` +
		`footer|main|p|h[1-6]|ul|ol|li|center|blockquote|pre)$`)
)

// deepest is how far lines are indented.
const deepest = 6

// tag adds a tag in its parts: its name, the names and the values of its attributes, and
// what is between them.
func (p *sourcePrinter) tag(kind html.TokenType, tag string) {
	name := tagName.FindString(tag)
	if p.divide && block.MatchString(name) {
		p.begin(kind)
	}
	p.add("k", name)
	tag = tag[len(name):]
	at := 0
	for _, m := range attribute.FindAllStringSubmatchIndex(tag, -1) {
		p.add("", tag[at:m[2]])
		p.add("n", tag[m[2]:m[3]])
		if at = m[1]; m[6] >= 0 {
			p.add("", tag[m[4]:m[5]])
			p.add("s", tag[m[6]:m[7]])
		}
	}
	end := strings.TrimRight(tag[at:], "/>")
	p.add("", end)
	p.add("k", tag[at+len(end):])
}

// begin begins a line for the start of a block, and for its end if another block was in it.
func (p *sourcePrinter) begin(kind html.TokenType) {
	isInner := kind != html.EndTagToken
	if depth := len(p.open) - 1; !isInner && depth >= 0 {
		isInner = p.open[depth] < p.blocks
		p.open = p.open[:depth]
	}
	if isInner && len(p.lines) > 0 && !p.ended {
		p.newLine("i" + strconv.Itoa(min(len(p.open), deepest)))
	}
	if kind == html.StartTagToken {
		p.blocks++
		p.open = append(p.open, p.blocks)
	}
}

func (p *sourcePrinter) newLine(indentation string) {
	p.lines, p.ended = append(p.lines, sourceLine{Number: len(p.lines) + 1, Indentation: indentation, at: p.at}), false
}

// add adds a part, which may have several lines. When there are too many, lines have no colors.
func (p *sourcePrinter) add(class, text string) {
	for part := range strings.Lines(text) {
		if p.ended && len(p.lines) == maxParts {
			return
		}
		if p.ended || len(p.lines) == 0 {
			p.newLine("")
		}
		p.addPart(class, part)
		p.at += len(part)
		p.ended = strings.HasSuffix(part, "\n")
	}
}

func (p *sourcePrinter) addPart(class, text string) {
	line := &p.lines[len(p.lines)-1]
	if p.parts++; p.parts > maxParts {
		class = ""
	}
	if last := len(line.Parts) - 1; last >= 0 && line.Parts[last].Class == class {
		line.Parts[last].Text += text
		return
	}
	line.Parts = append(line.Parts, part{class, text})
}
