package view

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
)

// exchange is a request and its response.
type exchange struct {
	*history.Entry
	Request, Response side
}

func newExchange(e *history.Entry) exchange {
	return exchange{e, newSide(e.Request.Header, e.Request.Body, e.Problems, bodyPath(e)),
		newSide(e.ResponseHeader, e.ResponseBody, nil, "")}
}

// side is a request or a response.
type side struct {
	Header http.Header
	Lines  []jsonLine // nil if the body is not JSON
	Text   string     // of a body that is not JSON
	Syntax string     // where it stops being JSON
	Cut    int        // how many bytes are not shown
	// Download is the address of the whole body, or "".
	Download string
}

func newSide(header http.Header, body []byte, problems map[string][]string, download string) side {
	s := side{Header: header, Download: download}
	if s.Lines = jsonLines(body, problems); s.Lines == nil {
		s.Cut = max(0, len(body)-maxShown)
		s.Text, s.Syntax = validText(body[:len(body)-s.Cut]), syntaxProblem(body)
	}
	return s
}

// syntaxProblem says where and why a body stops being JSON, or returns "" for one that does not look like JSON.
func syntaxProblem(body []byte) string {
	var syntax, first *json.SyntaxError
	text := bytes.TrimLeft(body, " \t\r\n")
	if len(text) == 0 || !strings.ContainsRune(`{["`, rune(text[0])) || !errors.As(json.Unmarshal(body, new(json.RawMessage)), &syntax) {
		return ""
	}
	_ = errors.As(json.Unmarshal([]byte("x"), new(json.RawMessage)), &first)
	before := body[:syntax.Offset-first.Offset] // an offset is behind the character, or with GOEXPERIMENT=jsonv2 before it
	if strings.HasPrefix(syntax.Error(), "unexpected end") {
		before = body
	}
	line := bytes.LastIndexByte(before, '\n') + 1
	return fmt.Sprintf("line %d, column %d: %v", bytes.Count(before, []byte("\n"))+1, utf8.RuneCount(before[line:])+1, syntax)
}

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

// jsonText is a line of JSON as json.Indent writes it: a key, and a value or its first or last bracket.
var jsonText = regexp.MustCompile(`^(?:("(?:[^"\\]|\\.)*"): )?(.*?)(,?)\n?$`)

// jsonLines returns the lines of a body as indented JSON, in the order of its keys, with
// the problems at the lines of their paths. It returns nil if the body is not JSON, or is too
// long or too deep for a page.
func jsonLines(body []byte, problems map[string][]string) (lines []jsonLine) {
	var indented bytes.Buffer
	if len(body) > maxShown || !utf8.Valid(body) || json.Indent(&indented, bytes.TrimSpace(body), "", "") != nil {
		return nil
	}
	var open []container
	paths := map[string]int{} // the lines of the values
	for text := range strings.Lines(indented.String()) {
		found := jsonText.FindStringSubmatch(text)
		key, value := found[1], found[2]
		if value[0] == '}' || value[0] == ']' {
			open = open[:len(open)-1]
			lines = append(lines, jsonLine{Depth: len(open), Parts: []part{{"", value + found[3]}}})
			continue
		}
		line, path := jsonLine{Depth: len(open), Opens: value == "{" || value == "["}, ""
		if key != "" {
			line.Parts = []part{{"k", readable(key)}, {"", ": "}}
		}
		if len(open) > 0 {
			path = open[len(open)-1].pathOf(key)
		}
		paths[path] = len(lines)
		switch value[0] {
		case '"':
			line.Parts = append(line.Parts, part{"s", readable(value)})
		case '{', '[':
			line.Parts = append(line.Parts, part{"", value})
		default: // a number, a boolean or null
			line.Parts = append(line.Parts, part{"n", value})
		}
		if line.Parts = append(line.Parts, part{"", found[3]}); line.Opens {
			open = append(open, container{path: path})
		}
		if lines = append(lines, line); len(lines) > maxLines || len(open) > maxDepth {
			return nil
		}
	}
	for _, path := range sortedKeys(problems) {
		for _, text := range problems[path] {
			addMark(lines, paths, mark{path, text})
		}
	}
	return lines
}

// container is an object or an array whose values are read.
type container struct {
	path  string
	count int // of its values until now
}

// pathOf returns the path of the next value, which has a key in an object.
func (c *container) pathOf(key string) (path string) {
	name := strconv.Itoa(c.count)
	if key != "" {
		_ = json.Unmarshal([]byte(key), &name) // it is valid
	}
	c.count++
	return strings.TrimPrefix(c.path+"."+name, ".")
}

// readable returns a JSON string with the characters that people read, and an escape for each that nobody sees.
func readable(literal string) string {
	var text string
	_ = json.Unmarshal([]byte(literal), &text) // it is valid
	return visible.JSON(text, visible.HiddenInProse)
}

// addMark adds a mark to the line of its path. That of a missing member is at the line of the object that lacks it.
func addMark(lines []jsonLine, paths map[string]int, m mark) {
	at, rest := m.Path, ""
	line, ok := paths[at]
	for !ok && at != "" {
		i := strings.LastIndexByte(at, '.')
		rest = strings.TrimSuffix(at[i+1:]+"."+rest, ".")
		at = at[:max(i, 0)]
		line, ok = paths[at]
	}
	m.Text = strings.TrimSpace(rest + " " + m.Text)
	lines[line].Marks = append(lines[line].Marks, m)
}
