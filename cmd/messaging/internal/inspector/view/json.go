package view

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Longer or deeper JSON is shown as text.
const maxLines, maxDepth = 4000, 64

// jsonLine is a line of indented JSON.
type jsonLine struct {
	Depth int
	Parts []part
	Marks []mark
	Opens bool // whether lines within the value of this one follow
}

// part is a part of a line. The class is for its color.
type part struct{ Class, Text string }

// mark is a problem of the value of a path.
type mark struct{ Path, Text string }

// Indent returns the white space before the line.
func (l jsonLine) Indent() string { return strings.Repeat("  ", l.Depth) }

// jsonLines returns the lines of a body as indented JSON, in the order of its keys, with
// the problems at the lines of their paths. That of a missing member is at the line of the
// object that lacks it. It reports false if the body is not JSON, or is too long or too deep
// for a page.
func jsonLines(body []byte, problems map[string][]string) (lines []jsonLine, ok bool) {
	if len(body) > maxShown || !json.Valid(body) || !utf8.Valid(body) {
		return nil, false
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	p := jsonPrinter{decoder: decoder, lines: make([]jsonLine, 1), paths: map[string]int{}}
	p.value("", 0)
	if p.tooLong {
		return nil, false
	}
	for _, path := range sortedKeys(problems) {
		for _, text := range problems[path] {
			p.mark(mark{path, text})
		}
	}
	return p.lines, true
}

type jsonPrinter struct {
	decoder *json.Decoder
	lines   []jsonLine
	paths   map[string]int // the lines of the values, by path
	tooLong bool
}

// add adds parts to the last line.
func (p *jsonPrinter) add(class, text string) {
	last := &p.lines[len(p.lines)-1]
	last.Parts = append(last.Parts, part{class, text})
}

// value prints the next value at the end of the last line.
func (p *jsonPrinter) value(path string, depth int) {
	if p.tooLong = p.tooLong || len(p.lines) > maxLines || depth > maxDepth; p.tooLong {
		return
	}
	p.paths[path] = len(p.lines) - 1
	token, _ := p.decoder.Token() // the body is valid
	switch token := token.(type) {
	case json.Delim:
		p.container(token, path, depth)
	case string:
		p.add("s", quote(token))
	default: // a number, a boolean or null
		literal, _ := json.Marshal(token)
		p.add("n", string(literal))
	}
}

func (p *jsonPrinter) container(open json.Delim, path string, depth int) {
	p.add("", open.String())
	i := 0
	for ; !p.tooLong && p.decoder.More(); i++ {
		if i > 0 {
			p.add("", ",")
		} else {
			p.lines[len(p.lines)-1].Opens = true
		}
		p.lines = append(p.lines, jsonLine{Depth: depth + 1})
		key := strconv.Itoa(i)
		if open == '{' {
			token, _ := p.decoder.Token()
			key, _ = token.(string)
			p.add("k", quote(key))
			p.add("", ": ")
		}
		p.value(strings.TrimPrefix(path+"."+key, "."), depth+1)
	}
	_, _ = p.decoder.Token() // the end
	if i > 0 {
		p.lines = append(p.lines, jsonLine{Depth: depth})
	}
	p.add("", map[json.Delim]string{'{': "}", '[': "]"}[open])
}

// mark adds a mark to the line of its path, or of what would contain it.
func (p *jsonPrinter) mark(m mark) {
	at, rest := m.Path, ""
	line, ok := p.paths[at]
	for !ok && at != "" {
		i := strings.LastIndexByte(at, '.')
		rest = strings.TrimSuffix(at[i+1:]+"."+rest, ".")
		at = at[:max(i, 0)]
		line, ok = p.paths[at]
	}
	m.Text = strings.TrimSpace(rest + " " + m.Text)
	p.lines[line].Marks = append(p.lines[line].Marks, m)
}
