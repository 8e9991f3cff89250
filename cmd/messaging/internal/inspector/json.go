package inspector

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
)

// maxShown is the size of the largest body that a page shows in full.
const maxShown = 256 << 10

// Longer or deeper JSON is shown as text.
const maxLines, maxDepth = 4000, 64

// jsonLine is a line of indented JSON.
type jsonLine struct {
	Indent string
	Parts  []part
	// Notes are the problems of the value on this line, and Hint is what else is to be said.
	Notes []string
	Hint  string
	// Problems are the same with their paths, and Anchor is what links to them lead to.
	Problems []problem
	Anchor   string
	// Opens is whether lines within the value of this one follow.
	Opens bool
}

// problem is what is wrong with the value of a path.
type problem struct{ Path, Text string }

// lineNotes are texts about values, by their paths.
type lineNotes struct {
	problems map[string][]string
	hints    map[string]string
	unknown  map[string]string // members that the operation does not have, and what is meant
}

// Depth is how deep the line is indented.
func (l jsonLine) Depth() int { return len(l.Indent) / 2 }

// Text returns the line without its indentation.
func (l jsonLine) Text() string {
	var b strings.Builder
	for _, part := range l.Parts {
		b.WriteString(part.Text)
	}
	return b.String()
}

// markKey marks the key of the line.
func (l *jsonLine) markKey(hint string) {
	l.Hint = hint
	for i := range l.Parts {
		if l.Parts[i].Class == "k" {
			l.Parts[i].Class = "k odd"
			return
		}
	}
}

// part is a part of a line. The class is for its color.
type part struct{ Class, Text string }

// jsonLines returns the lines of a body as indented JSON, in the order of its keys, with
// the notes at the lines of their paths. The problem of a missing member is at the
// line of the object that lacks it. It reports false if the body is not JSON, or is too
// long or too deep for a page.
func jsonLines(body []byte, notes lineNotes) (lines []jsonLine, ok bool) {
	if len(body) > maxShown || !json.Valid(body) || !utf8.Valid(body) {
		return nil, false
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	p := jsonPrinter{decoder: decoder, problems: notes.problems, paths: map[string]int{}}
	p.value("", "")
	if p.tooLong {
		return nil, false
	}
	p.annotate()
	for path, hint := range notes.hints {
		if line, ok := p.lineOf(path); ok {
			p.lines[line].Hint = hint
		}
	}
	for path, meant := range notes.unknown {
		if line, ok := p.lineOf(path); ok {
			p.lines[line].markKey(unknownHint(path, meant))
		}
	}
	return p.lines, true
}

type jsonPrinter struct {
	decoder  *json.Decoder
	problems map[string][]string
	lines    []jsonLine
	paths    map[string]int // the lines of the values, by path
	tooLong  bool
}

// add adds parts to the last line.
func (p *jsonPrinter) add(class, text string) {
	last := &p.lines[len(p.lines)-1]
	last.Parts = append(last.Parts, part{class, text})
}

func (p *jsonPrinter) newLine(indent string) { p.lines = append(p.lines, jsonLine{Indent: indent}) }

// value prints the next value at the end of the last line.
func (p *jsonPrinter) value(path, indent string) {
	if len(p.lines) == 0 {
		p.newLine("")
	}
	if p.tooLong = p.tooLong || len(p.lines) > maxLines || len(indent) > 2*maxDepth; p.tooLong {
		return
	}
	p.paths[path] = len(p.lines) - 1
	token, err := p.decoder.Token()
	if err != nil { // the body is valid
		return
	}
	switch token := token.(type) {
	case json.Delim:
		p.container(token, path, indent)
	case string:
		p.add("s", quote(token))
	case json.Number:
		p.add("n", token.String())
	case bool:
		p.add("n", strconv.FormatBool(token))
	default:
		p.add("n", "null")
	}
}

func (p *jsonPrinter) container(open json.Delim, path, indent string) {
	p.add("", open.String())
	inner, i := indent+"  ", 0
	for ; !p.tooLong && p.decoder.More(); i++ {
		if i > 0 {
			p.add("", ",")
		} else {
			p.lines[len(p.lines)-1].Opens = true
		}
		p.newLine(inner)
		key := strconv.Itoa(i)
		if open == '{' {
			token, _ := p.decoder.Token() // the body is valid: a key
			key, _ = token.(string)
			p.add("k", quote(key))
			p.add("", ": ")
		}
		p.value(join(path, key), inner)
	}
	_, _ = p.decoder.Token() // the end
	if i > 0 {
		p.newLine(indent)
	}
	p.add("", map[json.Delim]string{'{': "}", '[': "]"}[open])
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// quote returns a JSON string with an escape for each character that nobody sees.
func quote(s string) string { return visible.JSON(s, visible.HiddenInProse) }

// annotate adds the problems to the lines.
func (p *jsonPrinter) annotate() {
	paths := make([]string, 0, len(p.problems))
	for path := range p.problems {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	for _, path := range paths {
		at, rest := path, ""
		line, ok := p.lineOf(at)
		for !ok && at != "" {
			parent, last := "", at
			if i := strings.LastIndexByte(at, '.'); i >= 0 {
				parent, last = at[:i], at[i+1:]
			}
			at, rest = parent, join(last, rest)
			line, ok = p.lineOf(at)
		}
		l := &p.lines[line]
		l.Anchor = fmt.Sprintf("body-%d", line+1)
		for _, text := range p.problems[path] {
			l.Notes = append(l.Notes, strings.TrimSuffix(rest, ".")+" "+text)
			l.Problems = append(l.Problems, problem{path, text})
		}
	}
}

// lineOf returns the line of a path. A single recipient can be sent without an array;
// its path still has the index 0.
func (p *jsonPrinter) lineOf(path string) (int, bool) {
	if line, ok := p.paths[path]; ok {
		return line, true
	}
	if rest, ok := strings.CutPrefix(path, "recipients.0"); ok {
		line, ok := p.paths["recipients"+rest]
		return line, ok
	}
	return 0, path == ""
}
