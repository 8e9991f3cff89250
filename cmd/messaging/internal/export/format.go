package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
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

// encoder appends a record to lines.
type encoder[T any] func(lines []byte, record *T) ([]byte, error)

// newEncoder returns the encoder of a format, and what a file begins with.
func newEncoder[T any](records Records[T], options Options) (encode encoder[T], begin []byte) {
	if options.Format == JSONLines {
		return (&jsonEncoder[T]{line: wire.NewWriter(), records: records}).append, nil
	}
	e := csvEncoder[T]{records.columns, options.SpreadsheetSafe}
	for i, c := range e.columns {
		begin = e.end(append(begin, c.name...), len(begin), i)
	}
	return e.append, begin
}

// csvEncoder writes CSV with a header. Its lines are those of encoding/csv, which takes much
// longer and needs each value as a string.
type csvEncoder[T any] struct {
	columns []column[T]
	safe    bool
}

func (e csvEncoder[T]) append(lines []byte, record *T) ([]byte, error) {
	for i, c := range e.columns {
		start := len(lines)
		lines = e.end(appendText(lines, c.field(record)), start, i)
	}
	return lines, nil
}

// appendText appends the value of a field as CSV has it, without quotes.
func appendText(cell []byte, field any) []byte {
	switch value := field.(type) {
	case *string:
		return append(cell, *value...)
	case *orNull:
		return append(cell, *value...)
	case *time.Time:
		return wire.AppendTime(cell, *value, time.RFC3339)
	case *[]string:
		return append(cell, strings.Join(*value, ",")...)
	case *int:
		return strconv.AppendInt(cell, int64(*value), 10)
	}
	return append(cell, jsonText(field)...)
}

// jsonText returns a value as JSON. The values here come from JSON.
func jsonText(value any) []byte {
	text, _ := json.Marshal(value) // which does not fail for them
	return text
}

// end ends the cell of a column that begins at start.
func (e csvEncoder[T]) end(lines []byte, start, column int) []byte {
	if e.safe && isFormula(lines[start:]) {
		lines = slices.Insert(lines, start, '\'')
	}
	if cell := lines[start:]; needsQuotes(cell) {
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

// isFormula reports whether a spreadsheet may run a cell, after what it removes or makes narrow. A phone number begins with
// a plus sign as well, but it is the digits after it alone.
func isFormula(cell []byte) bool {
	first, _ := utf8.DecodeRune(cell)
	switch {
	case len(cell) == 0 || !strings.ContainsRune("=+-@\t\r\n＝＋－＠", first):
		return false
	case cell[0] == '+' && len(cell) > 1:
		return len(bytes.Trim(cell[1:], "0123456789")) > 0
	}
	return true
}

// jsonEncoder writes each record as the service would: an object in a line. MarshalJSON of the records takes several times as
// long.
type jsonEncoder[T any] struct {
	line    *wire.Writer
	lines   bytes.Buffer // what append was called with, so that it needs no memory for it
	records Records[T]
}

func (e *jsonEncoder[T]) append(lines []byte, record *T) ([]byte, error) {
	members := e.records.extra(record)
	e.line.Begin()
	for _, c := range e.records.columns {
		if _, ok := members[c.name]; !ok { // otherwise, the field could not hold the member
			e.member(c.name, c.field(record))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		e.raw(name, members[name])
	}
	e.line.End()
	e.lines = *bytes.NewBuffer(lines)
	_, err := e.line.WriteTo(&e.lines)
	return append(e.lines.Bytes(), '\n'), err
}

// member writes the member that MarshalJSON writes.
func (e *jsonEncoder[T]) member(name string, field any) {
	switch value := field.(type) {
	case *string:
		e.line.TextMember(name, *value)
	case *orNull:
		if *value == "" {
			e.line.Name(name)
			e.line.Value(nil)
			return
		}
		e.line.TextMember(name, string(*value))
	case *time.Time:
		e.line.TimeMember(name, *value, e.records.timeForm)
	case *[]string:
		e.line.TextMember(name, strings.Join(*value, ","))
	default:
		e.line.Name(name)
		e.line.Value(field)
	}
}

// raw writes a member whose name may need escape sequences.
func (e *jsonEncoder[T]) raw(name string, value json.RawMessage) {
	quoted := jsonText(name)
	e.line.Name(string(quoted[1 : len(quoted)-1]))
	e.line.Value(value)
}
