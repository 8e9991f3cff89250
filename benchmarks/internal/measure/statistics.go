package measure

import (
	"math"
	"slices"
)

// Median is the middle of values, NaN where there is none.
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

// Median is the value that stands for all rounds.
func (r Result) Median() float64 { return Median(r.Values) }

// Spread is the lowest and the highest value of a round.
func (r Result) Spread() (low, high float64) {
	if len(r.Values) == 0 {
		return math.NaN(), math.NaN()
	}
	return slices.Min(r.Values), slices.Max(r.Values)
}

// Missed reports whether the row has a limit, and its median does not hold it.
func (r Result) Missed() bool { return !r.Limit.Holds(r.Median()) }
