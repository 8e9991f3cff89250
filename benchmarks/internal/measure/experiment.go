package measure

import "context"

// Experiment compares variants of the same work.
type Experiment struct {
	Title string
	// Rounds is how often every variant is run.
	Rounds   int
	Variants []Variant
	Rows     []Row
	// Matrix reports the rows without a limit as a table of subjects by measures.
	Matrix bool
}

// Variant is one way to do the work.
type Variant struct {
	Name string
	Run  func(context.Context) (Sample, error)
}

// Round holds one sample of each variant of an experiment, by name. They were
// taken one right after the other.
type Round map[string]Sample

// Row is a line of the result: what is computed from each round.
type Row struct {
	// Subject is who is measured, and Measure what of it.
	Subject, Measure string
	// Unit follows the number: "x" for a ratio.
	Unit  string
	Limit Limit
	Value func(Round) float64
}

// Limit is what a row has to reach. The zero Limit asks for nothing.
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

// AtMost limits a row whose small values are good.
func AtMost(must, aim float64) Limit { return Limit{lowerIsBetter, must, aim} }

// AtLeast limits a row whose large values are good.
func AtLeast(must, aim float64) Limit { return Limit{higherIsBetter, must, aim} }

// Applies reports whether there is something to reach.
func (l Limit) Applies() bool { return l.direction != informative }

// Must is the value that has to be reached.
func (l Limit) Must() float64 { return l.must }

// Aim is the value to strive for.
func (l Limit) Aim() float64 { return l.aim }

// Sign is how a value has to stand to the limit.
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

// Holds reports whether value reaches what must be reached. A value that is not
// a number never does.
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
