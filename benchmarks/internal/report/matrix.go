package report

import (
	"slices"

	"github.com/messaging-go/messaging/benchmarks/internal/measure"
)

// matrix holds the medians of an outcome by subject and measure, both in the order
// of the rows.
type matrix struct {
	subjects, measures []string
	medians            map[[2]string]float64
}

// newMatrix omits the rows with a limit, which the report shows separately.
func newMatrix(o measure.Outcome) matrix {
	m := matrix{medians: make(map[[2]string]float64)}
	for _, r := range o.Results {
		if r.Limit.Applies() {
			continue
		}
		if !slices.Contains(m.subjects, r.Subject) {
			m.subjects = append(m.subjects, r.Subject)
		}
		if !slices.Contains(m.measures, r.Measure) {
			m.measures = append(m.measures, r.Measure)
		}
		m.medians[[2]string{r.Subject, r.Measure}] = r.Median()
	}
	return m
}

func (m matrix) median(subject, name string) float64 { return m.medians[[2]string{subject, name}] }
