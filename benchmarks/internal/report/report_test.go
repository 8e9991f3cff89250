package report_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging/benchmarks/internal/measure"
	"github.com/messaging-go/messaging/benchmarks/internal/report"
)

func outcomes() []measure.Outcome {
	result := func(subject, name, unit string, limit measure.Limit, values ...float64) measure.Result {
		return measure.Result{Row: measure.Row{Subject: subject, Measure: name, Unit: unit, Limit: limit}, Values: values}
	}
	none := measure.Limit{}
	return []measure.Outcome{
		{Title: "iterate", Results: []measure.Result{
			result("", "speed", "x", measure.AtLeast(2.2), 2.5, 2.4, 2.6),
			result("", "allocations per row", "", measure.AtMost(2.5), 3, 3, 3),
			result("another", "speed", "x", none, 0.5),
		}},
		{Title: "clients", Matrix: true, Results: []measure.Result{
			result("messaging", "share", "", none, 0.6), result("messaging", "bytes", "", none, 150.4),
			result("godo", "share", "", none, 0.2), result("godo", "bytes", "", none, 19.04),
			result("messaging", "share against the best", "x", measure.AtLeast(2), 3),
		}},
	}
}

func TestTheReportHasARowForEachLimitAndATableForTheClients(t *testing.T) {
	text := report.Markdown(false, outcomes())

	_, tables, _ := strings.Cut(text, " processors\n\n")
	assert.Equal(t, `| work | measured | median | lowest – highest | limit |  |
|---|---|---|---|---|---|
| iterate | speed | **2.50x** | 2.40 – 2.60 | ≥ 2.20x |  |
|  | allocations per row | **3** | 3 – 3 | ≤ 2.50 | MISSED |
|  | another: speed | **0.50x** | 0.50 – 0.50 |  |  |
| clients | messaging: share against the best | **3x** | 3 – 3 | ≥ 2x |  |

| clients | share | bytes |
|---|---|---|
| messaging | 0.60 | 150 |
| godo | 0.20 | 19.0 |
`, tables)
	assert.Contains(t, report.Markdown(true, nil), "quick: the numbers mean nothing\n")
}

func TestMissedRowsAreCounted(t *testing.T) {
	assert.Equal(t, 1, report.Missed(outcomes()))
	assert.Equal(t, 0, report.Missed(nil))
}
