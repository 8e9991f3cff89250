package messagingtest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/messaging-go/messaging/internal/service"
)

// Rule describes which requests of an operation fail, and how.
type Rule struct {
	// Op is the name of the operation in errors of package messaging, such as "trigger
	// event". A lookup is a request for the list that it reads: use "list customers" for
	// Customers.Get, and "list events" for Events.GetByName. With "", the rule applies to
	// every request, even to one that is for no operation of the service.
	Op string
	// Skip is the number of requests that the rule lets through before the first failure.
	Skip int
	// Count is the number of requests that fail. The rule is removed after the last one.
	// 0 means no limit.
	Count int
	// Probability is the probability that a request fails, from 0 to 1. Like 1, the
	// default of 0 means that every request fails.
	Probability float64
	// Seed selects the sequence of random numbers for Probability. The same seed results
	// in the same sequence.
	Seed uint64
	// Fault is the way in which a request fails. It must not be the zero Fault.
	Fault Fault
}

// FaultRule is a rule of a server.
type FaultRule struct {
	// ID identifies the rule, for [Server.RemoveFaultRule].
	ID int
	// Rule is the rule that was added.
	Rule Rule
	// Failed is the number of requests that have taken the fault of the rule.
	Failed int
	// LetThrough is the number of requests that the rule let through because of Skip or
	// Probability.
	LetThrough int
}

// AddFaultRule adds a rule after the existing ones, and returns its id. A request takes
// the next fault of [Server.FailNext]. If there is none, it takes the fault of the first
// rule that does not let it through. As with FailNext, a request from a client of
// [Server.Client] takes its fault when it is sent, and any other request takes it when it
// arrives.
//
// AddFaultRule panics if the rule is invalid.
func (s *Server) AddFaultRule(r Rule) (id int) {
	if problem := r.problem(); problem != "" {
		panic("messagingtest: AddFaultRule: " + problem)
	}
	s.lock()
	defer s.mu.Unlock()
	pending := faults.of(s)
	pending.lastRule++
	pending.rules = append(pending.rules, &activeRule{
		FaultRule: FaultRule{ID: pending.lastRule, Rule: r}, random: rand.New(rand.NewPCG(r.Seed, r.Seed))})
	return pending.lastRule
}

// RemoveFaultRule removes a rule, and reports whether it existed.
func (s *Server) RemoveFaultRule(id int) bool {
	s.lock()
	defer s.mu.Unlock()
	pending := faults.of(s)
	before := len(pending.rules)
	pending.rules = slices.DeleteFunc(pending.rules, func(r *activeRule) bool { return r.ID == id })
	return len(pending.rules) < before
}

// FaultRules returns the rules that have not been removed, in order.
func (s *Server) FaultRules() []FaultRule {
	s.lock()
	defer s.mu.Unlock()
	active := faults.of(s).rules
	rules := make([]FaultRule, len(active))
	for i, r := range active {
		rules[i] = r.FaultRule
	}
	return rules
}

// problem returns why the rule is invalid, or "".
func (r Rule) problem() string {
	switch {
	case r.Op != "" && !isServed(r.Op):
		return fmt.Sprintf("unknown operation %q: must be one of %s", r.Op, service.Names(service.Served()))
	case r.Skip < 0:
		return fmt.Sprintf("Skip is %d: must not be negative", r.Skip)
	case r.Count < 0:
		return fmt.Sprintf("Count is %d: must not be negative", r.Count)
	case !(r.Probability >= 0 && r.Probability <= 1): // or NaN
		return fmt.Sprintf("Probability is %v: must be from 0 to 1", r.Probability)
	case r.Fault == Fault{}:
		return "Fault is missing"
	}
	return ""
}

func isServed(name string) bool {
	operation := service.Named(name)
	return operation != nil && operation.Reads == nil
}

// activeRule is a rule with its sequence of random numbers.
type activeRule struct {
	FaultRule
	random *rand.Rand
}

// fails reports whether the next request of the operation fails, and counts it.
func (r *activeRule) fails() bool {
	certain := r.Rule.Probability == 0 || r.Rule.Probability == 1
	if r.LetThrough < r.Rule.Skip || !certain && r.random.Float64() >= r.Rule.Probability {
		r.LetThrough++
		return false
	}
	r.Failed++
	return true
}

// next removes and returns the fault of the next request.
func (p *pendingFaults) next(op string) Fault {
	if len(p.queue) > 0 {
		return p.queue.next()
	}
	for i, r := range p.rules {
		if r.Rule.Op != "" && r.Rule.Op != op || !r.fails() {
			continue
		}
		if r.Failed == r.Rule.Count {
			p.rules = slices.Delete(p.rules, i, i+1)
		}
		return r.Rule.Fault
	}
	return Fault{}
}
