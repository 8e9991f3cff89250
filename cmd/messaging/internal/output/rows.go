package output

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
)

// Column is a column of a table. It has either Text or Time.
type Column[T any] struct {
	Name string
	Text func(T) string
	Time func(T) time.Time
}

// Table describes how rows are written.
type Table[T any] struct {
	Columns []Column[T]
	// Fields returns the names of the members that a row has in JSON; see [FieldsOf].
	Fields func() []string
}

// tableRows is how many rows of a table are aligned together.
const tableRows = 1000

// Rows writes rows.
type Rows[T any] struct {
	columns []Column[T]
	written
}

// written is what does not depend on the type of the rows, so that the program has it once.
type written struct {
	p       *Printer
	names   []string
	pending [][]string // rows of the table that are not yet written
	count   int
	err     error
}

// NewRows checks the fields of --json. It returns [ErrFieldsListed] if it has listed them
// instead. The caller must call Close.
func NewRows[T any](p *Printer, t Table[T]) (*Rows[T], error) {
	if err := p.CheckFields(t.Fields); err != nil {
		return nil, err
	}
	r := &Rows[T]{columns: t.Columns, written: written{p: p}}
	for _, c := range t.Columns {
		r.names = append(r.names, c.Name)
	}
	return r, nil
}

// Write writes a row.
func (r *Rows[T]) Write(row T) error {
	if r.p.json {
		return r.writeObject(row)
	}
	return r.writeCells(r.cells(row))
}

// cells returns the cells of a row.
func (r *Rows[T]) cells(row T) []cell {
	cells := make([]cell, len(r.columns))
	for i, c := range r.columns {
		if c.Time != nil {
			cells[i] = cell{at: c.Time(row), isTime: true}
		} else {
			cells[i].text = c.Text(row)
		}
	}
	return cells
}

// cell is a text or a time.
type cell struct {
	text   string
	at     time.Time
	isTime bool
}

// texts returns the texts of cells.
func (p *Printer) texts(cells []cell, escape func(string) string) []string {
	texts := make([]string, len(cells))
	for i, c := range cells {
		switch {
		case !c.isTime:
			texts[i] = escape(c.text)
		case c.at.IsZero():
		case p.outTTY:
			texts[i] = Relative(c.at, p.now())
		default:
			texts[i] = c.at.UTC().Format(time.RFC3339)
		}
	}
	return texts
}

func (r *written) writeCells(cells []cell) error {
	if r.err != nil {
		return r.err
	}
	if !r.p.outTTY {
		_, r.err = io.WriteString(r.p.Out, strings.Join(r.p.texts(cells, escapeTSV), "\t")+"\n")
	} else if r.pending = append(r.pending, r.p.texts(cells, visible.Text)); len(r.pending) == tableRows {
		r.err = r.flush()
	}
	r.count++
	return r.err
}

func (r *written) writeObject(row any) error {
	if r.err != nil {
		return r.err
	}
	object, err := r.p.selected(row)
	if err != nil {
		r.err = err
		return err
	}
	before, after := "", "\n"
	if !r.p.ndjson {
		before, after = ",\n", ""
		if r.count == 0 {
			before = "[\n"
		}
	}
	_, r.err = io.WriteString(r.p.Out, before+object+after)
	r.count++
	return r.err
}

// Close writes what is left, and ends the array of --json. Call it before an error is
// reported, so that what came before the error can be read.
func (r *written) Close() error {
	if r.err != nil {
		return r.err
	}
	switch {
	case r.p.json && !r.p.ndjson && r.count == 0:
		_, r.err = io.WriteString(r.p.Out, "[]\n")
	case r.p.json && !r.p.ndjson:
		_, r.err = io.WriteString(r.p.Out, "\n]\n")
	default:
		r.err = r.flush()
	}
	return r.err
}

// selected returns the JSON of a row, with the fields of --json alone.
func (p *Printer) selected(row any) (string, error) {
	text, err := encode(row)
	if p.fields == nil || err != nil {
		return text, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &members); err != nil {
		return "", err
	}
	list := make([]string, len(p.fields))
	for i, field := range p.fields {
		value, ok := members[field]
		if !ok {
			value = json.RawMessage("null")
		}
		list[i] = fmt.Sprintf("%q:%s", field, value)
	}
	return encode(json.RawMessage("{" + strings.Join(list, ",") + "}"))
}

// One writes a single row: as an object with --json, as a list of its columns on a
// terminal.
func One[T any](p *Printer, t Table[T], row T) error {
	rows, err := NewRows(p, t)
	if err != nil {
		return err
	}
	if p.json {
		return rows.writeOne(row)
	}
	return rows.writeList(rows.cells(row))
}

func (r *written) writeOne(row any) error {
	object, err := r.p.selected(row)
	if err != nil {
		return err
	}
	_, err = io.WriteString(r.p.Out, object+"\n")
	return err
}

// writeList writes a row as a list of its columns, on a terminal.
func (r *written) writeList(cells []cell) error {
	if !r.p.outTTY {
		return r.writeCells(cells)
	}
	w := newTable()
	for i, text := range r.p.texts(cells, visible.Text) {
		w.AppendRow(table.Row{r.names[i], text})
	}
	return r.p.render(w)
}

// flush writes the rows of the table that are not yet written.
func (r *written) flush() error {
	if len(r.pending) == 0 {
		return nil
	}
	w := newTable()
	if r.count <= tableRows {
		var header table.Row
		for _, name := range r.names {
			header = append(header, r.p.Bold(strings.ToUpper(name)))
		}
		w.AppendRow(header)
	}
	for _, texts := range r.pending {
		var cells table.Row
		for _, text := range texts {
			cells = append(cells, text)
		}
		w.AppendRow(cells)
	}
	r.pending = r.pending[:0]
	return r.p.render(w)
}

func newTable() table.Writer {
	w := table.NewWriter()
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Box.UnfinishedRow = "…"
	w.SetStyle(style)
	return w
}

// render writes a table, cut to the width of the terminal.
func (p *Printer) render(w table.Writer) error {
	for line := range strings.SplitSeq(w.Render(), "\n") {
		line = strings.TrimRight(line, " ")
		if text.StringWidthWithoutEscSequences(line) > p.width {
			line = text.Snip(line, p.width, "…")
		}
		if _, err := io.WriteString(p.Out, line+"\n"); err != nil {
			return err
		}
	}
	return nil
}

var tsv = strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`)

// escapeTSV escapes what would end a cell or a line, and hidden characters.
func escapeTSV(s string) string { return visible.Text(tsv.Replace(s)) }

// Relative writes how long ago t was, or how long it takes until then.
func Relative(t, now time.Time) string {
	age, form := now.Sub(t), "%d%s ago"
	if age < 0 {
		age, form = -age, "in %d%s"
	}
	for _, unit := range []struct {
		name string
		size time.Duration
	}{{" d", 24 * time.Hour}, {" h", time.Hour}, {" min", time.Minute}} {
		if age >= unit.size {
			return fmt.Sprintf(form, age/unit.size, unit.name)
		}
	}
	return fmt.Sprintf(form, age/time.Second, " s")
}
