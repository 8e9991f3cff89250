package rows

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/messaging-go/messaging/cmd/messaging/internal/bounded"
)

func newCSV(r io.Reader) (*Reader, error) {
	reader := csv.NewReader(bounded.Lines(r))
	reader.FieldsPerRecord = -1 // counted by row, which knows the position
	header, err := reader.Read()
	if errors.Is(err, io.EOF) {
		return nil, errEmpty
	}
	if err != nil {
		return nil, quoteError(err)
	}
	if err := checkHeader(header); err != nil {
		return nil, err
	}
	reader.ReuseRecord = true
	return &Reader{Columns: header, all: csvRows(reader, header)}, nil
}

// checkHeader returns an error for a first row that is not a list of names.
func checkHeader(header []string) error {
	if only := header[0]; len(header) == 1 && strings.ContainsAny(only, ";\t") {
		return fmt.Errorf("line 1: the columns must be separated by commas, and the header has none: %q", only)
	}
	seen := make(map[string]int, len(header))
	for i, name := range header {
		switch earlier, twice := seen[name]; {
		case name == "":
			return fmt.Errorf("line 1: header %d of %d is empty", i+1, len(header))
		case !utf8.ValidString(name):
			return fmt.Errorf("line 1: header %d of %d is not UTF-8", i+1, len(header))
		case twice:
			return fmt.Errorf("line 1: headers %d and %d are both %q", earlier, i+1, name)
		}
		seen[name] = i + 1
	}
	return nil
}

func csvRows(reader *csv.Reader, header []string) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		row := Row{Fields: make([]Field, len(header))}
		for {
			record, err := reader.Read()
			if err == io.EOF {
				return
			}
			if err == nil {
				err = row.fill(reader, header, record)
			} else {
				err = rowError(err)
			}
			if _, goesOn := errors.AsType[*Problem](err); !yield(row, err) || err != nil && !goesOn {
				return
			}
		}
	}
}

// fill makes the row that of a record.
func (row *Row) fill(reader *csv.Reader, header, record []string) error {
	row.Line, _ = reader.FieldPos(0)
	if len(record) != len(header) {
		return &Problem{Line: row.Line, Text: fmt.Sprintf("has %d values, but the header has %d columns", len(record), len(header))}
	}
	for i, text := range record {
		line, column := reader.FieldPos(i)
		if !utf8.ValidString(text) {
			return &Problem{Line: line, Column: column, Name: header[i], Text: "is not UTF-8"}
		}
		row.Fields[i] = Field{Name: header[i], Text: text, Line: line, Column: column}
	}
	return nil
}

// rowError returns the error for a record that cannot be read. A quote within a value spoils
// one row. After a quoted value that does not end, nobody knows where the next row begins.
func rowError(err error) error {
	if parse, ok := errors.AsType[*csv.ParseError](err); ok && errors.Is(err, csv.ErrBareQuote) {
		return &Problem{Line: parse.Line, Column: parse.Column, Text: `has a quotation mark within a value; quote the whole value and ` +
			`double the mark`}
	}
	return quoteError(err)
}

func quoteError(err error) error {
	parse, ok := errors.AsType[*csv.ParseError](err)
	if !ok {
		return err
	}
	return fmt.Errorf("line %d, column %d: a quoted value that begins at line %d does not end properly; the rows after it cannot be "+
		"told apart",
		parse.Line, parse.Column, parse.StartLine)
}
