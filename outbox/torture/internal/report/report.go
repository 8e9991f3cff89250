// Package report prints what was measured, as tables for a Markdown file.
package report

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Part is a part of the program: it fills one row of a table, or several.
type Part struct {
	// Table is a table of a file, and Name tells the part from the others of the table.
	Table, Name string
	Do          func(context.Context) ([]Row, error)
}

// String returns what tells the part from all others.
func (p Part) String() string { return strings.TrimSuffix(p.Table+": "+p.Name, ": ") }

// Row is a row of a table.
type Row struct {
	Cells []string
	// Missed means that the row shows something other than what is required.
	Missed bool
}

// Judged returns a row with the result in its last cell: ok, or that it missed what is required.
func Judged(ok bool, cells ...string) Row {
	result := "ok"
	if !ok {
		result = "MISSED"
	}
	return Row{Cells: append(cells, result), Missed: !ok}
}

func line(cells []string) string { return "| " + strings.Join(cells, " | ") + " |\n" }

// String returns the row in Markdown.
func (r Row) String() string { return line(r.Cells) }

// Table is a table of a Markdown file, between a line that names it and a line that ends it.
type Table struct {
	Name, File string
	Head       []string
}

// begin is the line before a table, and end the line after it. Readers do not see them.
func begin(table string) string { return "<!-- measured: " + table + " -->" }

const end = "<!-- end -->"

// Write replaces the rows in the file. The last line of the table says how they came about.
func (t Table) Write(rows []Row, machine string) error {
	content, err := os.ReadFile(t.File)
	if err != nil {
		return err
	}
	lines := strings.SplitAfter(string(content), "\n")
	from := slices.Index(lines, begin(t.Name)+"\n") + 1
	if from == 0 {
		return fmt.Errorf("%s has no line %q", t.File, begin(t.Name))
	}
	length := slices.Index(lines[from:], end+"\n")
	if length < 0 {
		return fmt.Errorf("%s has no line %q after %q", t.File, end, begin(t.Name))
	}
	var md strings.Builder
	md.WriteString(line(t.Head) + "|" + strings.Repeat("---|", len(t.Head)) + "\n")
	for _, r := range rows {
		md.WriteString(r.String())
	}
	fmt.Fprintf(&md, "\n`go run . -run '^%s'` · %s\n", t.Name, machine)
	lines = slices.Replace(lines, from, from+length, md.String())
	return os.WriteFile(t.File, []byte(strings.Join(lines, "")), 0o644)
}
