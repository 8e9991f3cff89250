package output

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"

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
	// Uncut is whether a terminal shows the whole of a row that is wider than it is.
	Uncut bool
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
	uncut   bool
	names   []string
	pending [][]string // rows of the table that are not yet written
	count   int
	err     error
}

// NewRows returns a writer of rows. The caller must call Close.
func NewRows[T any](p *Printer, t Table[T]) *Rows[T] {
	r := &Rows[T]{columns: t.Columns, written: written{p: p, uncut: t.Uncut}}
	for _, c := range t.Columns {
		r.names = append(r.names, c.Name)
	}
	return r
}

// Write writes a row.
func (r *Rows[T]) Write(row T) error {
	if r.err == nil && r.p.json {
		r.writeObject(row)
	} else if r.err == nil {
		r.writeCells(r.cells(row))
	}
	return r.err
}

// cells returns the cells of a row. A time is relative on a terminal.
func (r *Rows[T]) cells(row T) []string {
	cells := make([]string, len(r.columns))
	for i, c := range r.columns {
		switch {
		case c.Time != nil:
			cells[i] = r.p.time(c.Time(row))
		case r.p.outTTY:
			cells[i] = visible.Text(c.Text(row))
		default:
			cells[i] = escapeTSV(c.Text(row))
		}
	}
	return cells
}

// time writes a time, or nothing for the zero time.
func (p *Printer) time(t time.Time) string {
	switch {
	case t.IsZero():
		return ""
	case p.outTTY:
		return relative(t, p.now())
	}
	return t.UTC().Format(time.RFC3339)
}

func (r *written) writeCells(cells []string) {
	r.count++
	if !r.p.outTTY {
		_, r.err = io.WriteString(r.p.Out, strings.Join(cells, "\t")+"\n")
	} else if r.pending = append(r.pending, cells); len(r.pending) == tableRows {
		r.err = r.flush()
	}
}

func (r *written) writeObject(row any) {
	object, err := r.p.Picked(row)
	if err != nil {
		r.err = err
		return
	}
	before, after := "", "\n"
	if !r.p.ndjson {
		before, after = ",\n", ""
		if r.count == 0 {
			before = "[\n"
		}
	}
	r.count++
	_, r.err = io.WriteString(r.p.Out, before+object+after)
}

// Close writes what is left, and ends the array of --json. Call it before an error is
// reported, so that what came before the error can be read.
func (r *written) Close() error {
	switch {
	case r.err != nil:
	case !r.p.json:
		r.err = r.flush()
	case !r.p.ndjson && r.count == 0:
		_, r.err = io.WriteString(r.p.Out, "[]\n")
	case !r.p.ndjson:
		_, r.err = io.WriteString(r.p.Out, "\n]\n")
	}
	return r.err
}

// One writes a single row: as an object with --json, as a list of its columns on a
// terminal.
func One[T any](p *Printer, t Table[T], row T) error {
	if p.json {
		return p.Object(row)
	}
	rows := NewRows(p, t)
	cells := rows.cells(row)
	if !p.outTTY {
		rows.writeCells(cells)
		return rows.err
	}
	var lines [][]string
	for i, text := range cells {
		lines = append(lines, []string{rows.names[i], text})
	}
	return rows.align(lines, plain)
}

// flush writes the rows of the table that are not yet written.
func (r *written) flush() error {
	pending := r.pending
	r.pending = nil
	if len(pending) == 0 || r.count > tableRows {
		return r.align(pending, plain)
	}
	var header []string
	for _, name := range r.names {
		header = append(header, strings.ToUpper(name))
	}
	return r.align(slices.Insert(pending, 0, header), r.p.Bold)
}

func plain(line string) string { return line }

// align writes rows of a table with columns of one width, cut to the width of the terminal. first changes the first line.
func (r *written) align(rows [][]string, first func(string) string) error {
	widths := map[int]int{}
	for _, row := range rows {
		for i, text := range row {
			widths[i] = max(widths[i], runewidth.StringWidth(text)+2)
		}
	}
	for n, row := range rows {
		line := ""
		for i, text := range row {
			line += runewidth.FillRight(text, widths[i])
		}
		if line = strings.TrimRight(line, " "); !r.uncut {
			line = runewidth.Truncate(line, r.p.width, "…")
		}
		if n == 0 {
			line = first(line)
		}
		if _, err := io.WriteString(r.p.Out, line+"\n"); err != nil {
			return err
		}
	}
	return nil
}

var tsv = strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`)

// escapeTSV escapes what would end a cell or a line, and hidden characters.
func escapeTSV(s string) string { return visible.Text(tsv.Replace(s)) }

// relative writes how long ago t was, or how long it takes until then.
func relative(t, now time.Time) string {
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
