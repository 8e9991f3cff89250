// Package rows reads the rows of CSV and JSON Lines files, one at a time.
package rows

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// Field is a value of a row.
type Field struct {
	Name string
	// Holds is what the column holds; see [Columns]. It is "" for a key that holds nothing else.
	Holds string
	// Text is the value of a CSV file, or that of a JSON string.
	Text string
	// JSON is a value in JSON that is not a string.
	JSON json.RawMessage
	// Line and Column are where the value begins, counted from 1. A column is a byte, and 0 in JSON.
	Line, Column int
}

// IsNull reports whether the field is an empty value in CSV, or null in JSON.
func (f Field) IsNull() bool {
	if f.JSON != nil {
		return string(f.JSON) == "null"
	}
	return f.Text == ""
}

// Problem returns what is wrong with the field.
func (f Field) Problem(format string, args ...any) *Problem {
	return &Problem{Line: f.Line, Column: f.Column, Name: f.Name, Text: fmt.Sprintf(format, args...)}
}

// Row is a row of a file. Its fields are valid until the next row is read.
type Row struct {
	Line   int
	Fields []Field
}

// Reader reads the rows of a file.
type Reader struct {
	header []Field // of CSV; nil for JSON
	all    iter.Seq2[Row, error]
}

// Lacks reports whether no column of CSV holds one of some names. In JSON, each row has its own.
func (r *Reader) Lacks(names ...string) bool {
	return r.header != nil && !slices.ContainsFunc(r.header, func(f Field) bool { return slices.Contains(names, f.Holds) })
}

// All ranges over the rows, once. A *Problem is about one row, and the range goes on after
// it. Any other error is the last element.
func (r *Reader) All() iter.Seq2[Row, error] { return r.all }

// byteOrderMark begins the files of some editors, and of spreadsheets.
const (
	byteOrderMark = "\ufeff"
	markProblem   = "begins with a byte order mark (U+FEFF), as where two files were put together"
)

var errEmpty = errors.New("the file is empty")

// ParseDelimiter returns what separates the values of CSV: one character, "tab", or a comma for "".
func ParseDelimiter(text string) (rune, error) {
	switch runes := []rune(text); {
	case text == "":
		return ',', nil
	case text == "tab":
		return '\t', nil
	case len(runes) == 1 && !strings.ContainsRune("\"\r\n\ufffd", runes[0]):
		return runes[0], nil
	}
	return 0, fmt.Errorf("%q must be one character, such as ';', or tab", text)
}

// Source describes a file.
type Source struct {
	Name      string
	Delimiter rune // of CSV
	Columns
}

// NewReader returns a reader of the file, and skips a byte order mark. A name that ends with .csv, .jsonl or .ndjson gives the
// format; otherwise a file that begins with { is JSON Lines, one that begins with [ is an array, and any other is CSV with a
// header. An array is read like JSON Lines.
func (s *Source) NewReader(r io.Reader) (*Reader, error) {
	buffered := bufio.NewReaderSize(r, 64<<10)
	start, err := buffered.Peek(8)
	if len(start) == 0 && err != io.EOF {
		return nil, err
	}
	if err := checkStart(start); err != nil {
		return nil, err
	}
	if bytes.HasPrefix(start, []byte(byteOrderMark)) {
		_, _ = buffered.Discard(3) // it is buffered
		start = start[3:]
	}
	if len(start) == 0 {
		return nil, errEmpty
	}
	switch extension := strings.ToLower(filepath.Ext(s.Name)); {
	case extension != ".csv" && start[0] == '[':
		return &Reader{all: s.array(buffered)}, nil
	case extension == ".jsonl", extension == ".ndjson", extension != ".csv" && start[0] == '{':
		return &Reader{all: s.jsonLines(buffered)}, nil
	default:
		return s.csv(buffered)
	}
}

// checkStart returns an error that names what a file is, if it is no text in UTF-8.
func checkStart(start []byte) error {
	for _, each := range []struct{ start, is string }{
		{"PK\x03\x04", "a spreadsheet (.xlsx), or another zip file; save it as CSV"},
		{"\xd0\xcf\x11\xe0", "a spreadsheet (.xls); save it as CSV"},
		{"\x1f\x8b", "compressed with gzip; unpack it"},
		{"\xff\xfe", "UTF-16; save it as UTF-8"},
		{"\xfe\xff", "UTF-16; save it as UTF-8"},
	} {
		if bytes.HasPrefix(start, []byte(each.start)) {
			return errors.New("the file is " + each.is)
		}
	}
	if bytes.IndexByte(start, 0) >= 0 { // in UTF-16, half of the bytes of plain text are NUL
		return errors.New("the file is UTF-16 or no text; save it as UTF-8")
	}
	return nil
}

// Problem is why a row cannot be used. The rows after it can.
type Problem struct {
	Line, Column int
	// Name is the name of the column, or "" if the problem is with the whole row.
	Name string
	Text string
}

func (p *Problem) Error() string {
	at := fmt.Sprintf("line %d", p.Line)
	if p.Column > 0 {
		at += fmt.Sprintf(", column %d", p.Column)
	}
	if p.Name != "" {
		at += fmt.Sprintf(" (%s)", p.Name)
	}
	return at + ": " + p.Text
}

// ProblemOf returns what is wrong with a row, or nil for another error.
func ProblemOf(err error) *Problem {
	problem, _ := errors.AsType[*Problem](err)
	return problem
}

// Problems are rows that cannot be used. The zero Problems are none.
type Problems struct {
	Count int
	first []*Problem
}

// shown is how many problems are listed.
const shown = 10

// Add adds a row.
func (p *Problems) Add(problem *Problem) {
	if p.Count++; p.Count <= shown {
		p.first = append(p.first, problem)
	}
}

// String lists the first of them, each in an indented line that begins with a line break.
func (p *Problems) String() string {
	var b strings.Builder
	for _, problem := range p.first {
		b.WriteString("\n  " + problem.Error())
	}
	if more := p.Count - len(p.first); more > 0 {
		b.WriteString("\n  and " + words.Thousands(more) + " more")
	}
	return b.String()
}
