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
	sign string
	must float64
}

// AtMost returns an upper limit.
func AtMost(must float64) Limit { return Limit{"≤", must} }

// AtLeast returns a lower limit.
func AtLeast(must float64) Limit { return Limit{"≥", must} }

// Applies reports whether l has a bound.
func (l Limit) Applies() bool { return l.sign != "" }

// Must returns the required value.
func (l Limit) Must() float64 { return l.must }

// Sign returns the relation between a value and the limit.
func (l Limit) Sign() string { return l.sign }

// Holds reports whether value is within the limit. NaN is within no limit.
func (l Limit) Holds(value float64) bool {
	switch l.sign {
	case "≤":
		return value <= l.must
	case "≥":
		return value >= l.must
	}
	return true
}
