// Package report has what was measured, as rows of a table in Markdown.
package report

import (
	"context"
	"strings"
)

// Part is a part of the program. It fills one row of the table, or several.
type Part struct {
	Name string // tells the part from all others
	Do   func(context.Context) ([]Row, error)
}

// Row is a row of the table.
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

// Line returns the cells of a row in Markdown.
func Line(cells []string) string { return "| " + strings.Join(cells, " | ") + " |" }
