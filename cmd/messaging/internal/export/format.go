package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/messaging-go/messaging/internal/wire"
)

// Format is the format of a file.
type Format string

// The formats, which are also the suffixes of file names.
const (
	CSV       Format = "csv"
	JSONLines Format = "jsonl"
)

// FormatOf returns the format for the name of a file.
func FormatOf(path string) (Format, error) {
	switch f := Format(strings.ToLower(strings.TrimPrefix(filepath.Ext(path), "."))); f {
	case CSV, JSONLines:
		return f, nil
	case "ndjson":
		return JSONLines, nil
	default:
		return "", fmt.Errorf("%q must end with .csv or .jsonl", filepath.Base(path))
	}
}

// encoder writes records in a format.
type encoder[T any] interface {
	// begin writes the start of the file.
	begin() error
	encode(records []T) error
}

func newEncoder[T any](w io.Writer, records Records[T], columns []Column[T], options Options) encoder[T] {
	if options.Format == JSONLines {
		return &jsonEncoder[T]{w, wire.NewWriter(), columns, records.Extra, options.Columns == nil}
	}
	return &csvEncoder[T]{w: w, columns: columns, safe: options.SpreadsheetSafe}
}

// csvEncoder writes CSV with a header. Its lines are those of encoding/csv, which takes much
// longer and needs each value as a string.
type csvEncoder[T any] struct {
	w       io.Writer
	columns []Column[T]
	safe    bool
	lines   []byte // of the last page, whose memory is used again
}

func (e *csvEncoder[T]) begin() error {
	var header []byte
	for i, c := range e.columns {
		header = e.end(append(header, c.Name...), len(header), i)
	}
	_, err := e.w.Write(header)
	return err
}

func (e *csvEncoder[T]) encode(records []T) error {
	lines := e.lines[:0]
	for i := range records {
		for at := range e.columns {
			start := len(lines)
			lines = e.end(e.columns[at].append(lines, &records[i]), start, at)
		}
	}
	e.lines = lines
	_, err := e.w.Write(lines)
	return err
}

// end ends the cell of a column that begins at start.
func (e *csvEncoder[T]) end(lines []byte, start, column int) []byte {
	if e.safe && isFormula(lines[start:]) {
		lines = slices.Insert(lines, start, '\'')
	}
	if cell := lines[start:]; needsQuotes(cell) || len(cell) == 0 && len(e.columns) == 1 { // no reader counts an empty line as a row
		doubled := bytes.ReplaceAll(cell, []byte(`"`), []byte(`""`))
		lines = append(append(append(lines[:start], '"'), doubled...), '"')
	}
	if column < len(e.columns)-1 {
		return append(lines, ',')
	}
	return append(lines, '\n')
}

// needsQuotes reports whether encoding/csv writes a cell in quotes.
func needsQuotes(cell []byte) bool {
	for _, c := range cell {
		if isSpecial[c] {
			return true
		}
	}
	first, _ := utf8.DecodeRune(cell)
	return unicode.IsSpace(first) || string(cell) == `\.`
}

var isSpecial = [256]bool{',': true, '"': true, '\r': true, '\n': true}

// isFormula reports whether a spreadsheet may run a cell. A phone number begins with a plus
// sign as well, but it is the digits after it alone.
func isFormula(cell []byte) bool {
	switch {
	case len(cell) == 0 || strings.IndexByte("=+-@", cell[0]) < 0:
		return false
	case cell[0] == '+' && len(cell) > 1:
		return len(bytes.Trim(cell[1:], "0123456789")) > 0
	}
	return true
}

// jsonEncoder writes each record as the service would: an object in a line. MarshalJSON of the records takes several times as
// long.
type jsonEncoder[T any] struct {
	w       io.Writer
	lines   *wire.Writer // of a page, whose memory is used again
	columns []Column[T]
	extra   func(*T) map[string]json.RawMessage
	isWhole bool // no column is left out
}

func (e *jsonEncoder[T]) begin() error { return nil }

func (e *jsonEncoder[T]) encode(records []T) error {
	for i := range records {
		e.lines.Begin()
		e.members(&records[i])
		e.lines.End()
		_, _ = e.lines.Write([]byte{'\n'}) // it returns no error
	}
	_, err := e.lines.WriteTo(e.w)
	return err
}

// members writes the members of a record. An extra one is in place of a value that its column could not hold.
func (e *jsonEncoder[T]) members(record *T) {
	extra := e.extra(record)
	for _, column := range e.columns {
		if value, ok := extra[column.Name]; ok {
			e.raw(column.Name, value)
		} else if column.member != nil {
			column.member(e.lines, record)
		}
	}
	if !e.isWhole || len(extra) == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		if !slices.ContainsFunc(e.columns, func(c Column[T]) bool { return c.Name == name }) {
			e.raw(name, extra[name])
		}
	}
}

// raw writes a member whose name may need escape sequences.
func (e *jsonEncoder[T]) raw(name string, value json.RawMessage) {
	quoted := jsonText(name)
	e.lines.Name(quoted[1 : len(quoted)-1])
	e.lines.Value(value)
}

// Select returns the columns with these names, in this order, or all of them without a name.
func (r Records[T]) Select(names []string) ([]Column[T], error) {
	if names == nil {
		return r.Columns, nil
	}
	var known []string
	for _, c := range r.Columns {
		known = append(known, c.Name)
	}
	var selected []Column[T]
	for i, name := range names {
		at := slices.Index(known, name)
		switch {
		case at < 0:
			return nil, usage("%q is not a column of %s; the columns are %s", name, r.Name, strings.Join(known, ", "))
		case slices.Contains(names[:i], name):
			return nil, usage("%q is named twice", name)
		}
		selected = append(selected, r.Columns[at])
	}
	return selected, nil
}
