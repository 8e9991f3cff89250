package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/messaging-go/messaging/internal/wire"
)

// Format is the format of a file.
type Format string

// The formats, which are also the suffixes of file names.
const (
	CSV       Format = "csv"
	JSONLines Format = "jsonl"
	Parquet   Format = "parquet"
)

// FormatOf returns the format for the name of a file.
func FormatOf(path string) (Format, error) {
	switch f := Format(strings.TrimPrefix(filepath.Ext(path), ".")); f {
	case CSV, JSONLines, Parquet:
		return f, nil
	default:
		return "", fmt.Errorf("%q must end with .csv, .jsonl or .parquet", filepath.Base(path))
	}
}

// encoder writes records in a format.
type encoder[T any] interface {
	// encode writes records. It may keep them until the next checkpoint.
	encode(records []T) error
	// flush writes what encode has kept.
	flush() error
	// close writes the end of the file.
	close() error
}

func newEncoder[T any](w io.Writer, records Records[T], columns []Column[T], options Options) encoder[T] {
	switch options.Format {
	case Parquet:
		return newParquet(w, columns)
	case JSONLines:
		return &jsonEncoder[T]{w, records, options.Columns}
	default:
		return &csvEncoder[T]{w: w, csv: csv.NewWriter(w), columns: columns, safe: options.SpreadsheetSafe}
	}
}

// csvEncoder writes CSV with a header.
type csvEncoder[T any] struct {
	w       io.Writer
	csv     *csv.Writer // writes to w
	columns []Column[T]
	safe    bool
	cells   []string
}

func (e *csvEncoder[T]) header() error {
	for _, c := range e.columns {
		e.cells = append(e.cells, c.Name)
	}
	return e.csv.Write(e.cells)
}

func (e *csvEncoder[T]) encode(records []T) error {
	for i := range records {
		e.cells = e.cells[:0]
		for _, c := range e.columns {
			cell := c.Value(&records[i]).text(c.Kind)
			if e.safe && isFormula(cell) {
				cell = "'" + cell
			}
			e.cells = append(e.cells, cell)
		}
		if err := e.write(); err != nil {
			return err
		}
	}
	return nil
}

// write writes the cells. A single empty one is quoted, since no reader counts an empty line
// as a row.
func (e *csvEncoder[T]) write() error {
	if len(e.cells) != 1 || e.cells[0] != "" {
		return e.csv.Write(e.cells)
	}
	if err := e.flush(); err != nil {
		return err
	}
	_, err := io.WriteString(e.w, "\"\"\n")
	return err
}

func (e *csvEncoder[T]) flush() error {
	e.csv.Flush()
	return e.csv.Error()
}

func (e *csvEncoder[T]) close() error { return e.flush() }

var phoneNumber = regexp.MustCompile(`^\+[0-9]{4,15}$`)

// isFormula reports whether a spreadsheet may run a cell. A phone number begins with a plus
// sign as well.
func isFormula(cell string) bool {
	return cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) && !phoneNumber.MatchString(cell)
}

// jsonEncoder writes each record as the service would: an object in a line.
type jsonEncoder[T any] struct {
	w       io.Writer
	records Records[T]
	columns []string // to write; nil means all members
}

func (e *jsonEncoder[T]) encode(records []T) error {
	page := wire.NewWriter()
	for i := range records {
		if e.columns == nil && len(e.records.Extra(&records[i])) == 0 {
			page.Begin()
			e.records.Members(page, &records[i])
			page.End()
		} else if err := e.write(page, &records[i]); err != nil {
			return err
		}
		_, _ = page.Write([]byte{'\n'}) // it returns no error
	}
	lines, err := page.Finish()
	if err != nil {
		return err
	}
	_, err = e.w.Write(lines)
	return err
}

// write writes a record by way of its MarshalJSON method, which takes several times as long.
func (e *jsonEncoder[T]) write(w io.Writer, record *T) error {
	line, err := json.Marshal(record)
	if err == nil && e.columns != nil {
		line, err = selectMembers(line, e.columns)
	}
	if err != nil {
		return err
	}
	_, err = w.Write(line)
	return err
}

// selectMembers returns an object with the named members, in this order.
func selectMembers(object []byte, names []string) ([]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil {
		return nil, err
	}
	var selected bytes.Buffer
	for i, name := range names {
		selected.WriteByte("{,"[min(i, 1)])
		value, exists := members[name]
		if !exists {
			value = json.RawMessage("null")
		}
		selected.WriteString(jsonText(name) + ":")
		selected.Write(value)
	}
	selected.WriteByte('}')
	return selected.Bytes(), nil
}

func (e *jsonEncoder[T]) flush() error { return nil }
func (e *jsonEncoder[T]) close() error { return nil }

// Select returns the columns with these names, in this order, or all of them without a name.
func (r Records[T]) Select(names []string) ([]Column[T], error) {
	if names == nil {
		return r.Columns, nil
	}
	var selected []Column[T]
	for i, name := range names {
		at := slices.IndexFunc(r.Columns, func(c Column[T]) bool { return c.Name == name })
		switch {
		case at < 0:
			return nil, fmt.Errorf("%q is not a column of %s; the columns are %s", name, r.Name, r.columnNames())
		case slices.Contains(names[:i], name):
			return nil, fmt.Errorf("%q is named twice", name)
		}
		selected = append(selected, r.Columns[at])
	}
	return selected, nil
}

func (r Records[T]) columnNames() string {
	var names []string
	for _, c := range r.Columns {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}
