package output

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf16"

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
	p       *Printer
	t       Table[T]
	pending []T // rows of the table that are not yet written
	count   int
	err     error
}

// NewRows checks the fields of --json. It returns [ErrFieldsListed] if it has listed them
// instead. The caller must call Close.
func NewRows[T any](p *Printer, t Table[T]) (*Rows[T], error) {
	if err := p.CheckFields(t.Fields); err != nil {
		return nil, err
	}
	return &Rows[T]{p: p, t: t}, nil
}

// Write writes a row.
func (r *Rows[T]) Write(row T) error {
	if r.err != nil {
		return r.err
	}
	switch {
	case r.p.json:
		r.err = r.writeObject(row)
	case r.p.outTTY:
		if r.pending = append(r.pending, row); len(r.pending) == tableRows {
			r.err = r.flush()
		}
	default:
		_, r.err = io.WriteString(r.p.Out, strings.Join(r.cells(row, escapeTSV), "\t")+"\n")
	}
	r.count++
	return r.err
}

// Close writes what is left, and ends the array of --json. Call it before an error is
// reported, so that what came before the error can be read.
func (r *Rows[T]) Close() error {
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

func (r *Rows[T]) writeObject(row T) error {
	object, err := r.p.selected(row)
	if err != nil {
		return err
	}
	before, after := "", "\n"
	if !r.p.ndjson {
		before, after = ",\n", ""
		if r.count == 0 {
			before = "[\n"
		}
	}
	_, err = io.WriteString(r.p.Out, before+object+after)
	return err
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
	if err := p.CheckFields(t.Fields); err != nil {
		return err
	}
	rows := &Rows[T]{p: p, t: t}
	switch {
	case p.json:
		object, err := p.selected(row)
		if err != nil {
			return err
		}
		_, err = io.WriteString(p.Out, object+"\n")
		return err
	case !p.outTTY:
		return rows.Write(row)
	}
	w := newTable()
	for i, cell := range rows.cells(row, visible.Text) {
		w.AppendRow(table.Row{t.Columns[i].Name, cell})
	}
	return p.render(w)
}

// cells returns the texts of a row.
func (r *Rows[T]) cells(row T, escape func(string) string) []string {
	cells := make([]string, len(r.t.Columns))
	for i, c := range r.t.Columns {
		switch {
		case c.Time == nil:
			cells[i] = escape(c.Text(row))
		case c.Time(row).IsZero():
		case r.p.outTTY:
			cells[i] = Relative(c.Time(row), r.p.now())
		default:
			cells[i] = c.Time(row).UTC().Format(time.RFC3339)
		}
	}
	return cells
}

// flush writes the rows of the table that are not yet written.
func (r *Rows[T]) flush() error {
	if len(r.pending) == 0 {
		return nil
	}
	w := newTable()
	if r.count <= tableRows {
		var header table.Row
		for _, c := range r.t.Columns {
			header = append(header, r.p.Bold(strings.ToUpper(c.Name)))
		}
		w.AppendRow(header)
	}
	for _, row := range r.pending {
		var cells table.Row
		for _, cell := range r.cells(row, visible.Text) {
			cells = append(cells, cell)
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

// escapeJSON escapes the hidden characters of compact JSON, all of which are in strings.
func escapeJSON(s string) string {
	if !strings.ContainsFunc(s, visible.Hidden) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if !visible.Hidden(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

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
