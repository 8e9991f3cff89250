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
)

// Format is the format of a file.
type Format string

// The formats, which are also the suffixes of file names.
const (
	CSV       Format = "csv"
	JSONLines Format = "jsonl"
)

// Field is a value of a row.
type Field struct {
	Name string
	// Text is the value of a CSV file, or that of a JSON string.
	Text string
	// JSON is a value in JSON Lines that is not a string.
	JSON json.RawMessage
	// Line and Column are where the value begins, counted from 1. A column is a byte.
	Line, Column int
}

// IsNull reports whether the field is an empty value in CSV, or null in JSON Lines.
func (f Field) IsNull() bool {
	if f.JSON != nil {
		return string(f.JSON) == "null"
	}
	return f.Text == ""
}

// Row is a row of a file. Its fields are valid until the next row is read.
type Row struct {
	Line   int
	Fields []Field
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

// Reader reads the rows of a file.
type Reader struct {
	// Columns are the names in the header of a CSV file, in order.
	Columns []string
	all     iter.Seq2[Row, error]
}

// All ranges over the rows, once. A *Problem is about one row, and the range goes on after
// it. Any other error is the last element.
func (r *Reader) All() iter.Seq2[Row, error] { return r.all }

var (
	errUTF16 = errors.New("the file is UTF-16; save it as UTF-8")
	errEmpty = errors.New("the file is empty")
)

// CheckEncoding returns an error for the beginning of a file in another encoding than UTF-8.
func CheckEncoding(start []byte) error {
	if bytes.HasPrefix(start, []byte{0xff, 0xfe}) || bytes.HasPrefix(start, []byte{0xfe, 0xff}) {
		return errUTF16
	}
	return nil
}

// NewReader returns a reader of a file, which begins with the header in the format CSV. A
// byte order mark is skipped.
func NewReader(format Format, r io.Reader) (*Reader, error) {
	buffered := bufio.NewReaderSize(r, 64<<10)
	start, err := buffered.Peek(3)
	switch {
	case len(start) == 0 && err == io.EOF:
		return nil, errEmpty
	case len(start) == 0:
		return nil, err
	case CheckEncoding(start) != nil:
		return nil, errUTF16
	case string(start) == "\ufeff":
		_, _ = buffered.Discard(len(start)) // it is buffered
	}
	switch format {
	case CSV:
		return newCSV(buffered)
	case JSONLines:
		return &Reader{all: jsonLines(buffered)}, nil
	default:
		return nil, fmt.Errorf("unknown format %q", format)
	}
}
