package rows

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"
)

func (s *Source) csv(r io.Reader) (*Reader, error) {
	limited := &io.LimitedReader{R: r, N: maxRow}
	reader := csv.NewReader(limited)
	reader.FieldsPerRecord = -1 // counted by row, which knows the position
	reader.Comma = s.Delimiter
	next := func() ([]string, error) {
		start := reader.InputOffset()
		record, err := reader.Read()
		if limited.N <= 0 { // it was cut off
			return nil, fmt.Errorf("the row at byte %d is longer than %d bytes", start, maxRow)
		}
		limited.N = maxRow
		return record, err
	}
	record, err := next()
	if errors.Is(err, io.EOF) {
		return nil, errEmpty
	}
	if err = quoteError(err); err != nil {
		if s.Delimiter == ',' {
			err = fmt.Errorf("%w; pass --delimiter ';' or --delimiter tab if one of them separates the columns", err)
		}
		return nil, err
	}
	header := make([]Field, len(record)) // a column without a name is one of them
	for i, name := range record {
		line, column := reader.FieldPos(i)
		header[i] = Field{Name: name, Line: line, Column: column}
	}
	if err = checkNames(header, s.Delimiter); err == nil {
		err = s.checkHeader(header)
	}
	if err != nil {
		return nil, err
	}
	reader.ReuseRecord = true
	return &Reader{header, s.csvRows(reader, next, header)}, nil
}

// checkNames returns an error for a first row that is not a list of names.
func checkNames(header []Field, delimiter rune) error {
	if only := header[0].Name; len(header) == 1 && delimiter == ',' && strings.ContainsAny(only, ";\t") {
		return fmt.Errorf("line 1: the header has no comma; pass --delimiter ';' or --delimiter tab if %q are several columns", only)
	}
	seen := make(map[string]int, len(header))
	for i, field := range header {
		switch earlier, twice := seen[field.Name]; {
		case field.Name == "":
			continue
		case !utf8.ValidString(field.Name):
			return fmt.Errorf("line 1: header %d of %d is not UTF-8", i+1, len(header))
		case twice:
			return fmt.Errorf("line 1: headers %d and %d are both %q", earlier, i+1, field.Name)
		}
		seen[field.Name] = i + 1
	}
	if len(seen) == 0 {
		return errors.New("line 1: the header has no names")
	}
	return nil
}

func (s *Source) csvRows(reader *csv.Reader, next func() ([]string, error), header []Field) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		var row Row
		for {
			record, err := next()
			if err == io.EOF {
				return
			}
			if err == nil && !slices.ContainsFunc(record, func(text string) bool { return text != "" }) {
				continue // as a spreadsheet writes after its last row
			}
			if err == nil {
				err = s.fill(&row, reader, header, record)
			} else {
				err = rowError(err)
			}
			if !yield(row, err) || err != nil && ProblemOf(err) == nil {
				return
			}
		}
	}
}

// fill makes the row that of a record.
func (s *Source) fill(row *Row, reader *csv.Reader, header []Field, record []string) error {
	row.Line, _ = reader.FieldPos(0)
	row.Fields = row.Fields[:0]
	if len(record) != len(header) {
		return &Problem{Line: row.Line, Text: fmt.Sprintf("has %d values, but the header has %d columns", len(record), len(header))}
	}
	for i, text := range record {
		line, column := reader.FieldPos(i)
		field := Field{Name: header[i].Name, Holds: header[i].Holds, Text: text, Line: line, Column: column}
		switch {
		case !utf8.ValidString(text):
			return field.Problem("is not UTF-8")
		case i == 0 && strings.HasPrefix(text, byteOrderMark):
			return field.Problem(markProblem)
		case field.Name == "" && text != "":
			return field.Problem("has a value, but its column has no name in the header")
		case s.isUsed(field):
			row.Fields = append(row.Fields, field)
		}
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
		"told apart", parse.Line, parse.Column, parse.StartLine)
}
