package fake

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/messaging-go/messaging/internal/service"
)

// Rule describes which requests of an operation fail, and how. A request takes the fault of
// the first rule that does not let it through.
type Rule struct {
	// Op is the name of an operation of the service. With "", the rule applies to every
	// request, even to one that is for no operation.
	Op string `json:"op"`
	// Skip is the number of requests that the rule lets through before the first failure.
	Skip int `json:"skip"`
	// Count is the number of requests that fail. The rule is removed after the last one.
	// 0 means no limit.
	Count int `json:"count"`
	// Probability is the probability that a request fails, more than 0 and at most 1.
	Probability float64 `json:"probability"`
	// Seed selects the sequence of random numbers for Probability. The same seed results
	// in the same sequence.
	Seed uint64 `json:"seed"`
	// Fault is the way in which a request fails.
	Fault Fault `json:"fault"`
}

// NewRule returns the default rule: one request fails, for certain.
func NewRule() Rule { return Rule{Count: 1, Probability: 1} }

// ActiveRule is a rule of a server.
type ActiveRule struct {
	// ID identifies the rule, for [Server.RemoveRule].
	ID int `json:"id"`
	Rule
	// Failed is the number of requests that have taken the fault of the rule.
	Failed int `json:"failed"`
	// LetThrough is the number of requests that the rule let through because of Skip or
	// Probability.
	LetThrough int `json:"let_through"`
}

// Check returns a [*RuleError] if the rule, as it stands in JSON, is invalid.
func (r Rule) Check() error {
	switch {
	case r.Op != "" && !IsServed(r.Op):
		return ruleError("op", "unknown operation %q; must be empty or one of %s", r.Op, service.Names(service.Served()))
	case r.Skip < 0:
		return ruleError("skip", "must not be negative")
	case r.Count < 0:
		return ruleError("count", "must not be negative")
	case !(r.Probability > 0 && r.Probability <= 1): // also if it is NaN
		return ruleError("probability", "must be more than 0 and at most 1")
	case r.Seed != 0 && r.Probability == 1:
		return ruleError("seed", "has no effect without a probability below 1")
	}
	return r.Fault.check()
}

// IsServed reports whether the service has an operation of that name. It has no
// lookups: they are requests for a list.
func IsServed(name string) bool {
	op := service.Named(name)
	return op != nil && op.Reads == nil
}

// FindOp returns the name of the one operation whose name contains part, or "" for "". The
// error is a [*RuleError].
func FindOp(part string) (name string, err error) {
	if part == "" || IsServed(part) {
		return part, nil
	}
	var found []string
	for op := range service.Served() {
		if strings.Contains(op.Name, strings.ToLower(part)) {
			found = append(found, op.Name)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", ruleError("op", "unknown operation %q; must be empty or part of one of %s", part, service.Names(service.Served()))
	default:
		return "", ruleError("op", "%q is part of several operations: %s", part, strings.Join(found, ", "))
	}
}

// rules are the rules of a server.
type rules struct {
	active []*activeRule
	usedUp []ActiveRule // the latest ones
	last   int          // the highest id
}

// activeRule is a rule with its sequence of random numbers.
type activeRule struct {
	ActiveRule
	random *rand.Rand
}

func (all *rules) add(r Rule) (id int) {
	all.last++
	all.active = append(all.active, &activeRule{ActiveRule{ID: all.last, Rule: r}, rand.New(rand.NewPCG(r.Seed, r.Seed))})
	return all.last
}

// remove removes a rule, and reports whether it was active.
func (all *rules) remove(id int) bool {
	before := len(all.active)
	all.active = slices.DeleteFunc(all.active, func(r *activeRule) bool { return r.ID == id })
	return len(all.active) < before
}

// next returns the fault of the next request of an operation.
func (all *rules) next(op string) Fault {
	const kept = 5
	for i, r := range all.active {
		if r.Op != "" && r.Op != op || !r.fails() {
			continue
		}
		if r.Failed == r.Count {
			all.active = slices.Delete(all.active, i, i+1)
			all.usedUp = append(all.usedUp[max(0, len(all.usedUp)+1-kept):], r.ActiveRule)
		}
		return r.Fault
	}
	return Fault{}
}

// fails reports whether the next request of the operation fails, and counts it.
func (r *activeRule) fails() bool {
	if r.LetThrough < r.Skip || r.Probability < 1 && r.random.Float64() >= r.Probability {
		r.LetThrough++
		return false
	}
	r.Failed++
	return true
}
