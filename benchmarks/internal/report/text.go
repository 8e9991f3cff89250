// Package report writes the results of the benchmarks as text, as JSON, as a
// Markdown table and as charts.
package report

import (
	"fmt"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/messaging-go/messaging/benchmarks/internal/measure"
)

// The titles of the experiments that have a chart.
const (
	Peers              = "clients side by side, each on its own wire format"
	GrowingRows        = "time against the number of rows, as a multiple of the first"
	GrowingPages       = "time per row against the size of a page, as a multiple of the first"
	GrowingConcurrency = "throughput against the calls in flight, as a multiple of the first"
)

// ShareOfFloor is the measure by which clients are compared.
const ShareOfFloor = "walk, share of floor's speed"

// Missed returns the number of rows that miss their limit.
func Missed(outcomes []measure.Outcome) int {
	missed := 0
	for _, o := range outcomes {
		for _, r := range o.Results {
			if r.Missed() {
				missed++
			}
		}
	}
	return missed
}

// Text returns the report as plain text.
func Text(outcomes []measure.Outcome) string {
	var text strings.Builder
	writeLimits(&text, outcomes)
	for _, o := range outcomes {
		if o.Matrix {
			writeMatrix(&text, o)
		}
	}
	return text.String()
}

// writeLimits writes a line for each row that is not part of a matrix.
func writeLimits(text *strings.Builder, outcomes []measure.Outcome) {
	table := tabwriter.NewWriter(text, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "\tlimit\taim\tmedian\tspread\t")
	for _, o := range outcomes {
		titled := false
		for _, r := range o.Results {
			if o.Matrix && !r.Limit.Applies() {
				continue
			}
			if !titled {
				_, _ = fmt.Fprintf(table, "%s\t\t\t\t\t\n", o.Title)
				titled = true
			}
			writeLimit(table, r)
		}
	}
	_ = table.Flush()
}

func writeLimit(table *tabwriter.Writer, r measure.Result) {
	must, aim, status := "", "", ""
	if r.Limit.Applies() {
		must = bound(r.Row)
		aim = number(r.Limit.Aim()) + r.Unit
		status = "OK"
	}
	if r.Missed() {
		status = "MISSED"
	}
	low, high := r.Spread()
	_, _ = fmt.Fprintf(table, "  %s\t%s\t%s\t%s%s\t%s – %s\t%s\n",
		describe(r.Row), must, aim, number(r.Median()), r.Unit, number(low), number(high), status)
}

// bound returns the limit of a row as text.
func bound(row measure.Row) string {
	return row.Limit.Sign() + " " + number(row.Limit.Must()) + row.Unit
}

func describe(row measure.Row) string {
	if row.Subject == "" {
		return row.Measure
	}
	return row.Subject + ": " + row.Measure
}

// writeMatrix writes the medians as a table of subjects and measures.
func writeMatrix(text *strings.Builder, o measure.Outcome) {
	m := newMatrix(o)
	text.WriteString("\n" + o.Title + "\n")
	table := tabwriter.NewWriter(text, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintf(table, "\t%s\t\n", strings.Join(m.measures, "\t"))
	for _, subject := range m.subjects {
		_, _ = fmt.Fprintf(table, "%s\t", subject)
		for _, name := range m.measures {
			_, _ = fmt.Fprintf(table, "%s\t", number(m.median(subject, name)))
		}
		_, _ = fmt.Fprintln(table)
	}
	_ = table.Flush()
}

// number formats a value with its significant digits.
func number(value float64) string {
	switch {
	case math.IsNaN(value):
		return "–"
	case math.Abs(value) >= 100, value == math.Trunc(value):
		return fmt.Sprintf("%.0f", value)
	case math.Abs(value) >= 10:
		return fmt.Sprintf("%.1f", value)
	default:
		return fmt.Sprintf("%.2f", value)
	}
}
