// Package report prints the results of the benchmarks as Markdown tables.
package report

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"

	"github.com/messaging-go/messaging/benchmarks/internal/measure"
)

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

// Markdown returns the report: how it was measured, a table with a row for each result, and
// a table for each experiment that compares several measures of many subjects.
func Markdown(quick bool, outcomes []measure.Outcome) string {
	var text strings.Builder
	fmt.Fprintf(&text, "# Results\n\n%s · %s/%s · %d processors", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	if quick {
		text.WriteString(" · quick: the numbers mean nothing")
	}
	text.WriteString("\n\n| work | measured | median | lowest – highest | limit |  |\n|---|---|---|---|---|---|\n")
	for _, o := range outcomes {
		title := o.Title
		for _, r := range o.Results {
			if !o.Matrix || r.Limit.Applies() {
				writeRow(&text, title, r)
				title = ""
			}
		}
	}
	for _, o := range outcomes {
		if o.Matrix {
			writeMatrix(&text, o)
		}
	}
	return text.String()
}

func writeRow(text *strings.Builder, title string, r measure.Result) {
	measured, limit, missed := r.Measure, "", ""
	if r.Subject != "" {
		measured = r.Subject + ": " + measured
	}
	if r.Limit.Applies() {
		limit = r.Limit.Sign() + " " + number(r.Limit.Must()) + r.Unit
	}
	if r.Missed() {
		missed = "MISSED"
	}
	low, high := r.Spread()
	fmt.Fprintf(text, "| %s | %s | **%s%s** | %s – %s | %s | %s |\n",
		title, measured, number(r.Median()), r.Unit, number(low), number(high), limit, missed)
}

// writeMatrix writes the medians as a table of subjects and measures, both in the order of the
// results. The rows with a limit are in the other table.
func writeMatrix(text *strings.Builder, o measure.Outcome) {
	var subjects, measures []string
	medians := make(map[[2]string]float64)
	for _, r := range o.Results {
		if r.Limit.Applies() {
			continue
		}
		if !slices.Contains(subjects, r.Subject) {
			subjects = append(subjects, r.Subject)
		}
		if !slices.Contains(measures, r.Measure) {
			measures = append(measures, r.Measure)
		}
		medians[[2]string{r.Subject, r.Measure}] = r.Median()
	}
	fmt.Fprintf(text, "\n| %s | %s |\n|---%s|\n", o.Title, strings.Join(measures, " | "), strings.Repeat("|---", len(measures)))
	for _, subject := range subjects {
		fmt.Fprintf(text, "| %s |", subject)
		for _, name := range measures {
			fmt.Fprintf(text, " %s |", number(medians[[2]string{subject, name}]))
		}
		text.WriteByte('\n')
	}
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
