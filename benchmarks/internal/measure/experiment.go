package measure

import "context"

// Experiment compares variants of the same work.
type Experiment struct {
	Title string
	// Rounds is the number of times that every variant runs.
	Rounds   int
	Variants []Variant
	Rows     []Row
	// Matrix shows the rows without a limit as a table of subjects and measures.
	Matrix bool
}

// Variant is one way to do the work.
type Variant struct {
	Name string
	Run  func(context.Context) (Sample, error)
}

// Round holds one sample of each variant of an experiment by name. The variants
// ran directly one after the other.
type Round map[string]Sample

// Row is a row of the results. Value computes it from each round.
type Row struct {
	// Subject is the client that is measured, and Measure is the quantity.
	Subject, Measure string
	// Unit follows the number: "x" for a ratio.
	Unit  string
	Limit Limit
	Value func(Round) float64
}

// Limit is a bound for the median of a row. The zero Limit has no bound.
type Limit struct {
	direction direction
	must, aim float64
}

type direction int

const (
	informative direction = iota
	lowerIsBetter
	higherIsBetter
)

// AtMost returns an upper limit.
func AtMost(must, aim float64) Limit { return Limit{lowerIsBetter, must, aim} }

// AtLeast returns a lower limit.
func AtLeast(must, aim float64) Limit { return Limit{higherIsBetter, must, aim} }

// Applies reports whether l has a bound.
func (l Limit) Applies() bool { return l.direction != informative }

// Must returns the required value.
func (l Limit) Must() float64 { return l.must }

// Aim returns the desired value.
func (l Limit) Aim() float64 { return l.aim }

// Sign returns the relation between a value and the limit.
func (l Limit) Sign() string {
	switch l.direction {
	case lowerIsBetter:
		return "≤"
	case higherIsBetter:
		return "≥"
	default:
		return ""
	}
}

// Holds reports whether value is within the limit. NaN is within no limit.
func (l Limit) Holds(value float64) bool {
	switch l.direction {
	case lowerIsBetter:
		return value <= l.must
	case higherIsBetter:
		return value >= l.must
	default:
		return true
	}
}
