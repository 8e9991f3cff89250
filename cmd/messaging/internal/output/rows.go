package output

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
)

// Table describes how rows are written: in JSON as they are, otherwise as cells with the values of their members in JSON.
type Table struct {
	// Sample is a row that has every member.
	Sample any
	// Columns are the members that have a cell; nil means all.
	Columns []string
	// Texts returns a cell that is not just the value.
	Texts map[string]func(json.RawMessage) string
}

// Fields returns the names of the members that a row has in JSON.
func (t Table) Fields() []string { return FieldsOf(t.Sample) }

// Names returns the names of the columns.
func (t Table) Names() []string {
	if t.Columns == nil {
		return t.Fields()
	}
	return t.Columns
}

// tableRows is how many rows of a table are aligned together.
const tableRows = 1000

// Rows writes rows.
type Rows struct {
	p       *Printer
	table   Table
	one     bool
	names   []string
	pending [][]string // rows of the table that are not yet written
	count   int
	err     error
}

// NewRows returns a writer of rows. With one, a single row is written, as an object or a list of its columns. The caller must
// call Close.
func (p *Printer) NewRows(t Table, one bool) *Rows {
	return &Rows{p: p, table: t, one: one, names: t.Names()}
}

// Write writes a row.
func (r *Rows) Write(row any) error {
	if r.err == nil && r.p.json {
		r.err = r.writeObject(row)
	} else if r.err == nil {
		r.err = r.writeCells(row)
	}
	r.count++
	return r.err
}

func (r *Rows) writeObject(row any) error {
	object, err := r.p.Picked(row)
	if err != nil {
		return err
	}
	switch {
	case r.one || r.p.ndjson:
		object += "\n"
	case r.count == 0:
		object = "[\n" + object
	default:
		object = ",\n" + object
	}
	_, err = io.WriteString(r.p.Out, object)
	return err
}

func (r *Rows) writeCells(row any) error {
	cells, err := r.cells(row)
	switch {
	case err != nil:
		return err
	case !r.p.outTTY:
		_, err = io.WriteString(r.p.Out, strings.Join(cells, "\t")+"\n")
		return err
	case r.one:
		for i, text := range cells {
			r.pending = append(r.pending, []string{r.names[i], text})
		}
		return nil
	case r.count == 0:
		r.pending = append(r.pending, nil)
		for _, name := range r.names {
			r.pending[0] = append(r.pending[0], strings.ToUpper(name))
		}
	}
	if r.pending = append(r.pending, cells); len(r.pending) > tableRows {
		return r.flush()
	}
	return nil
}

// cells returns the cells of a row, in which nothing ends a cell or a line.
func (r *Rows) cells(row any) ([]string, error) {
	object, err := json.Marshal(row)
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil {
		return nil, err
	}
	cells := make([]string, len(r.names))
	for i, name := range r.names {
		text := TextOf
		if other := r.table.Texts[name]; other != nil {
			text = other
		}
		cells[i] = text(members[name])
		if !r.p.outTTY {
			cells[i] = tsv.Replace(cells[i])
		}
		cells[i] = visible.Text(cells[i])
	}
	return cells, nil
}

var tsv = strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`)

// TextOf returns a value as a cell: a text without quotation marks, texts with commas between them, and nothing for null.
func TextOf(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	var list []string
	if json.Unmarshal(value, &list) == nil {
		return strings.Join(list, ", ")
	}
	return string(value)
}

// Close writes what is left. It ends the array of --json only if that is complete, so that no parser takes it for the whole.
// Call it before an error is reported, so that what came before the error can be read.
func (r *Rows) Close(complete bool) error {
	switch isArray := r.p.json && !r.p.ndjson && !r.one && complete; {
	case r.err != nil:
	case !r.p.json:
		r.err = r.flush()
	case isArray && r.count == 0:
		_, r.err = io.WriteString(r.p.Out, "[]\n")
	case isArray:
		_, r.err = io.WriteString(r.p.Out, "\n]\n")
	}
	return r.err
}

// flush writes the pending rows with columns of one width. The first of a table is its header.
func (r *Rows) flush() error {
	widths := map[int]int{}
	for _, row := range r.pending {
		for i, text := range row {
			widths[i] = max(widths[i], runewidth.StringWidth(text)+2)
		}
	}
	for n, row := range r.pending {
		line := ""
		for i, text := range row {
			line += runewidth.FillRight(text, widths[i])
		}
		line = strings.TrimRight(line, " ")
		if n == 0 && !r.one && r.count <= tableRows {
			line = r.p.Bold(line)
		}
		if _, err := io.WriteString(r.p.Out, line+"\n"); err != nil {
			return err
		}
	}
	r.pending = nil
	return nil
}
