package fake

import (
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/messaging-go/messaging/internal/service"
)

// Rule describes which requests of an operation fail, and how. A request takes the fault of
// the first rule that does not let it through.
type Rule struct {
	// Op is the name of an operation of the service. With "", the rule applies to every
	// request, even to one that is for no operation.
	Op string `json:"op"`
	// Match is the text of a search, and Matches reports whether it finds a request that is not
	// answered yet, with what [Read] returns of it. Without Matches, the rule applies to every
	// request of Op. Only the requests that it applies to are counted.
	Match   string                           `json:"match"`
	Matches func(e *Exchange, sent any) bool `json:"-"`
	Skip    int                              `json:"skip"` // the requests that the rule lets through before the first failure
	// Count is the number of requests that fail. The rule is removed after the last one.
	// 0 means no limit.
	Count int `json:"count"`
	// Probability is the probability that a request fails, more than 0 and at most 1. Seed
	// selects its sequence of random numbers.
	Probability float64 `json:"probability"`
	Seed        uint64  `json:"seed"`
	Fault       Fault   `json:"fault"`
}

// NewRule returns the default rule: one request fails, for certain.
func NewRule() Rule { return Rule{Count: 1, Probability: 1} }

// ActiveRule is a rule of a server.
type ActiveRule struct {
	ID int `json:"id"`
	Rule
	// Failed is the number of requests that have taken the fault of the rule. LetThrough is
	// the number of those that it let through because of Skip or Probability.
	Failed     int `json:"failed"`
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

// rules are the rules of a server.
type rules struct {
	mu     sync.Mutex // protects the following fields
	active []ActiveRule
	lastID int
}

// AddRule adds a rule after the existing ones, and returns its id.
func (all *rules) AddRule(r Rule) (id int) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.lastID++
	all.active = append(all.active, ActiveRule{ID: all.lastID, Rule: r})
	return all.lastID
}

// RemoveRule removes a rule, and reports whether it was active.
func (all *rules) RemoveRule(id int) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	before := len(all.active)
	all.active = slices.DeleteFunc(all.active, func(r ActiveRule) bool { return r.ID == id })
	return len(all.active) < before
}

// RemoveRules removes all rules. It does not restart their ids.
func (all *rules) RemoveRules() {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.active = nil
}

// Rules returns the active rules, in the order in which they apply.
func (all *rules) Rules() []ActiveRule { return snapshot(&all.mu, &all.active) }

// NextFault returns the fault of a request, and counts it. The exchange has what is known before
// the answer. A client can take the fault before it sends the request, which then has it by
// [WithFault].
func (all *rules) NextFault(e *Exchange) Fault {
	found := all.searched(e)
	all.mu.Lock()
	defer all.mu.Unlock()
	for i := range all.active {
		r := &all.active[i]
		if !r.isFor(e) || r.Matches != nil && !found[r.ID] || !r.fails() {
			continue
		}
		fault := r.Fault
		if r.Failed == r.Count {
			all.active = slices.Delete(all.active, i, i+1)
		}
		return fault
	}
	return Fault{}
}

// searched returns which of the rules with a search are for a request. It reads the body once, and
// without the lock, since a body can be large.
func (all *rules) searched(e *Exchange) map[int]bool {
	rules := slices.DeleteFunc(all.Rules(), func(r ActiveRule) bool { return r.Matches == nil || !r.isFor(e) })
	if len(rules) == 0 {
		return nil
	}
	sent, found := Read(service.Named(e.Op), e.Request.Body), make(map[int]bool)
	for _, r := range rules {
		found[r.ID] = r.Matches(e, sent)
	}
	return found
}

// isFor reports whether a request is for the operation of the rule.
func (r *ActiveRule) isFor(e *Exchange) bool { return r.Op == "" || r.Op == e.Op }

// fails reports whether the next request that the rule applies to fails, and counts it.
func (r *ActiveRule) fails() bool {
	random := rand.New(rand.NewPCG(r.Seed, uint64(r.LetThrough+r.Failed)))
	if r.LetThrough < r.Skip || r.Probability < 1 && random.Float64() >= r.Probability {
		r.LetThrough++
		return false
	}
	r.Failed++
	return true
}
