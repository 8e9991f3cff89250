package browsertest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkNewRow measures the time from before a request is sent until its row
// is in the page.
func BenchmarkNewRow(b *testing.B) {
	s := startBox(b, "--seed", "demo")
	p := openTab(b, s.ui+"/?q=grace", 1280, "light")
	p.until(isLive)
	var took []time.Duration
	for i := range b.N {
		start := time.Now()
		s.send("POST", triggerPath, trigger("grace@example.com", "2026-12-01T09:00:00Z"))
		p.until(fmt.Sprintf(`document.querySelector("#rows .row")?.dataset.number === "%d"`, i+1))
		took = append(took, time.Since(start))
		time.Sleep(300 * time.Millisecond) // one by one: rows of a burst come together
		if i%200 == 199 {                  // the page offers to start over
			s.control("POST", "/api/reset?what=history", "")
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*9/10].Milliseconds()), "p90-ms")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkPaint measures the time from the start of the navigation to the first
// content of the list, with 10,000 requests in the history.
func BenchmarkPaint(b *testing.B) {
	s := startBox(b, "--seed", "demo")
	for i := range 10_000 {
		require.Equal(b, 200, s.send("POST", triggerPath, trigger(fmt.Sprintf("c%d@example.com", i), "2026-12-01T09:00:00Z")))
	}
	p := openTab(b, "about:blank", 1280, "light")
	var took []float64
	for b.Loop() {
		p.open(s.ui)
		p.until(`performance.getEntriesByName("first-contentful-paint").length > 0`)
		took = append(took, eval[float64](p, `performance.getEntriesByName("first-contentful-paint")[0].startTime`))
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)*9/10], "p90-ms")
	b.ReportMetric(eval[float64](p, `document.querySelectorAll("*").length`), "DOM-nodes")
	b.ReportMetric(0, "ns/op")
}
