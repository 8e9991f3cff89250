package measure

import (
	"math"
	"slices"
)

// Median returns the median of values, or NaN if there are none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// Median returns the median of all rounds.
func (r Result) Median() float64 { return Median(r.Values) }

// Spread returns the lowest and the highest value of all rounds.
func (r Result) Spread() (low, high float64) {
	if len(r.Values) == 0 {
		return math.NaN(), math.NaN()
	}
	return slices.Min(r.Values), slices.Max(r.Values)
}

// Missed reports whether the median misses the limit of the row.
func (r Result) Missed() bool { return !r.Limit.Holds(r.Median()) }
