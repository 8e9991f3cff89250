package report_test

import (
	"encoding/json"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/benchmarks/internal/measure"
	"github.com/messaging-go/messaging/benchmarks/internal/report"
)

func outcomes() []measure.Outcome {
	result := func(subject, name, unit string, limit measure.Limit, values ...float64) measure.Result {
		return measure.Result{Row: measure.Row{Subject: subject, Measure: name, Unit: unit, Limit: limit}, Values: values}
	}
	none := measure.Limit{}
	growth := func(title string) measure.Outcome {
		return measure.Outcome{Title: title, Matrix: true, Results: []measure.Result{
			result("messaging", "10", "", none, 1), result("by hand", "10", "", none, 2),
			result("messaging", "100", "", none, 10), result("by hand", "100", "", none, 20),
		}}
	}
	return []measure.Outcome{
		{Title: "iterate", Results: []measure.Result{
			result("", "speed", "x", measure.AtLeast(2.2, 3), 2.5, 2.4, 2.6),
			result("", "allocations per row", "", measure.AtMost(2.5, 1.6), 3, 3, 3),
			result("another", "speed", "x", none, 0.5),
		}},
		{Title: report.Peers, Matrix: true, Results: []measure.Result{
			result("messaging", report.ShareOfFloor, "", none, 0.6),
			result("messaging", "allocations per row", "", none, 1.5),
			result("godo", report.ShareOfFloor, "", none, 0.2),
			result("godo", "allocations per row", "", none, 9),
			result("messaging", "share against the best", "x", measure.AtLeast(2, 2), 3),
		}},
		growth(report.GrowingRows), growth(report.GrowingPages), growth(report.GrowingConcurrency),
	}
}

func TestReportShowsEachRowWithItsLimit(t *testing.T) {
	text := report.Text(outcomes())

	for _, line := range []string{
		"limit aim median spread",
		"iterate",
		"speed ≥ 2.20x 3x 2.50x 2.40 – 2.60 OK",
		"allocations per row ≤ 2.50 1.60 3 3 – 3 MISSED",
		"another: speed 0.50x 0.50 – 0.50",
		"messaging: share against the best ≥ 2x 2x 3x 3 – 3 OK",
		report.ShareOfFloor + " allocations per row",
		"messaging 0.60 1.50",
		"godo 0.20 9",
	} {
		assert.Contains(t, lines(text), line)
	}
}

// lines returns the lines of a table, with one space between the columns.
func lines(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		all = append(all, strings.Join(strings.Fields(line), " "))
	}
	return all
}

func TestReportTableHasTheRowsWithALimit(t *testing.T) {
	directory := t.TempDir()

	require.NoError(t, report.Write(directory, false, outcomes()))

	table, err := os.ReadFile(filepath.Join(directory, report.Table))
	require.NoError(t, err)
	assert.Equal(t, "| work | measured | median | limit |\n|---|---|---|---|\n"+
		"| iterate | speed | **2.50x** | ≥ 2.20x |\n"+
		"|  | allocations per row | **3** | ≤ 2.50 |\n"+
		"| "+report.Peers+" | messaging: share against the best | **3x** | ≥ 2x |\n", string(table))
}

func TestReportCountsMissedRows(t *testing.T) {
	assert.Equal(t, 1, report.Missed(outcomes()))
	assert.Equal(t, 0, report.Missed(nil))
}

func TestReportIsWrittenAsJSON(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "results")

	require.NoError(t, report.Write(directory, true, outcomes()))

	encoded, err := os.ReadFile(filepath.Join(directory, "results.json"))
	require.NoError(t, err)
	var results struct {
		Quick bool
		Cores int
		Rows  []struct {
			Experiment, Subject, Measure string
			Median                       float64
			Rounds                       []float64
			Limit                        *struct{ OK bool }
		}
	}
	require.NoError(t, json.Unmarshal(encoded, &results))
	assert.True(t, results.Quick)
	assert.Positive(t, results.Cores)
	require.Len(t, results.Rows, 20)
	assert.Equal(t, []float64{2.5, 2.4, 2.6}, results.Rows[0].Rounds)
	assert.Equal(t, 2.5, results.Rows[0].Median)
	assert.True(t, results.Rows[0].Limit.OK)
	assert.False(t, results.Rows[1].Limit.OK)
	assert.Nil(t, results.Rows[2].Limit)
}

func TestReportChartsAreWrittenAsSVG(t *testing.T) {
	directory := t.TempDir()

	require.NoError(t, report.Write(directory, false, outcomes()))

	for file, text := range map[string]string{
		"peers.svg": "godo", "rows.svg": "by hand", "pages.svg": "by hand", "concurrency.svg": "by hand",
	} {
		t.Run(file, func(t *testing.T) {
			svg, err := os.ReadFile(filepath.Join(directory, file))
			require.NoError(t, err)
			assert.Contains(t, string(svg), ">"+text+"</text>")
			decoder := xml.NewDecoder(strings.NewReader(string(svg)))
			for err == nil {
				_, err = decoder.Token()
			}
			assert.ErrorIs(t, err, io.EOF, "the file is well-formed XML")
		})
	}
}
