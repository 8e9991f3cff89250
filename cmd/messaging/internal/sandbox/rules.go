package sandbox

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/messaging-go/messaging/internal/service"
	"github.com/messaging-go/messaging/messagingtest"
)

// Rule selects the requests that fail. Its fields are those of messagingtest.Rule.
type Rule struct {
	Op          string  `json:"op"`
	Skip        int     `json:"skip"`
	Count       int     `json:"count"`
	Probability float64 `json:"probability"`
	Seed        uint64  `json:"seed"`
	Fault       Fault   `json:"fault"`
}

// NewRule returns the default rule: one request fails, for certain.
func NewRule() Rule { return Rule{Count: 1, Probability: 1} }

// ActiveRule is a rule of the service.
type ActiveRule struct {
	ID int `json:"id"`
	Rule
	Failed     int `json:"failed"`
	LetThrough int `json:"let_through"`
	// Delivery is what package messaging reports for a request that fails.
	Delivery string `json:"delivery"`
}

// RuleError reports what is invalid in a rule or an outage.
type RuleError struct {
	Field   string // such as "fault.status"
	Problem string
}

// Error returns the field and the problem.
func (e *RuleError) Error() string { return e.Field + ": " + e.Problem }

func ruleError(field, format string, args ...any) error {
	return &RuleError{field, fmt.Sprintf(format, args...)}
}

// Check returns a *[RuleError] if the rule is invalid.
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
// error is a *[RuleError].
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

// AddRule adds a rule and returns its id. The error is a *[RuleError].
func (b *Sandbox) AddRule(r Rule) (id int, err error) {
	if r.Op, err = FindOp(r.Op); err != nil {
		return 0, err
	}
	if err := r.Check(); err != nil {
		return 0, err
	}
	defer b.History.Touch()
	b.added.mu.Lock()
	defer b.added.mu.Unlock()
	id = b.service.AddFaultRule(messagingtest.Rule{
		Op: r.Op, Skip: r.Skip, Count: r.Count, Probability: r.Probability, Seed: r.Seed, Fault: r.Fault.fault()})
	b.added.rules = append(b.added.rules, ActiveRule{ID: id, Rule: r, Failed: r.Count, Delivery: r.Fault.Expect(r.Op)})
	b.added.usedUp(b.service.FaultRules())
	return id, nil
}

// addedRules are the rules that were added and not removed, as they are when they are used up:
// the service has forgotten them by then.
type addedRules struct {
	mu    sync.Mutex
	rules []ActiveRule
}

// usedUp returns the latest rules that are no longer active, and forgets those before them. The
// caller must hold a.mu.
func (a *addedRules) usedUp(active []messagingtest.FaultRule) []ActiveRule {
	const kept = 5
	isActive := make(map[int]bool)
	for _, rule := range active {
		isActive[rule.ID] = true
	}
	done := slices.DeleteFunc(slices.Clone(a.rules), func(r ActiveRule) bool { return isActive[r.ID] })
	if len(done) > kept {
		done = done[len(done)-kept:]
		a.rules = slices.DeleteFunc(a.rules, func(r ActiveRule) bool { return !isActive[r.ID] && r.ID < done[0].ID })
	}
	return done
}

// UsedUp returns the latest rules that have failed as many requests as they were to, in the
// order in which they were added.
func (b *Sandbox) UsedUp() []ActiveRule {
	b.added.mu.Lock()
	defer b.added.mu.Unlock()
	return b.added.usedUp(b.service.FaultRules())
}

// Rules returns the rules in the order in which they apply.
func (b *Sandbox) Rules() []ActiveRule {
	rules := []ActiveRule{}
	for _, r := range b.service.FaultRules() {
		fault := readFault(r.Rule.Fault)
		rules = append(rules, ActiveRule{ID: r.ID, Rule: Rule{Op: r.Rule.Op, Skip: r.Rule.Skip, Count: r.Rule.Count,
			Probability: r.Rule.Probability, Seed: r.Rule.Seed, Fault: fault},
			Failed: r.Failed, LetThrough: r.LetThrough, Delivery: fault.Expect(r.Rule.Op)})
	}
	return rules
}

// ErrNotFound is the error for a rule that does not exist.
var ErrNotFound = errors.New("not found")

// RemoveRule removes a rule. It returns ErrNotFound if there is none with the id.
func (b *Sandbox) RemoveRule(id int) error {
	b.added.mu.Lock()
	defer b.added.mu.Unlock()
	if !b.service.RemoveFaultRule(id) {
		return ErrNotFound
	}
	b.added.rules = slices.DeleteFunc(b.added.rules, func(r ActiveRule) bool { return r.ID == id })
	b.History.Touch()
	return nil
}

// resetRules removes all rules, also those that are used up.
func (b *Sandbox) resetRules() {
	b.added.mu.Lock()
	defer b.added.mu.Unlock()
	for _, rule := range b.service.FaultRules() {
		b.service.RemoveFaultRule(rule.ID)
	}
	b.added.rules = nil
}
