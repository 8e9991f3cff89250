package sandbox

import (
	"errors"

	"github.com/messaging-go/messaging/internal/fake"
)

// ActiveRule is a rule of the service.
type ActiveRule struct {
	fake.ActiveRule
	// Delivery is what package messaging reports for a request that fails.
	Delivery string `json:"delivery"`
}

func activeRules(rules []fake.ActiveRule) []ActiveRule {
	all := make([]ActiveRule, len(rules))
	for i, r := range rules {
		all[i] = ActiveRule{r, Expect(r.Fault, r.Op)}
	}
	return all
}

// AddRule adds a rule and returns its id. The error is a *[RuleError].
func (b *Sandbox) AddRule(r fake.Rule) (id int, err error) {
	if r.Op, err = fake.FindOp(r.Op); err != nil {
		return 0, err
	}
	if err := r.Check(); err != nil {
		return 0, err
	}
	defer b.History.Touch()
	return b.service.AddRule(r), nil
}

// UsedUp returns the latest rules that have failed as many requests as they were to, in the
// order in which that happened.
func (b *Sandbox) UsedUp() []ActiveRule { return activeRules(b.service.UsedUp()) }

// Rules returns the rules in the order in which they apply.
func (b *Sandbox) Rules() []ActiveRule { return activeRules(b.service.Rules()) }

// ErrNotFound is the error for a rule that does not exist.
var ErrNotFound = errors.New("not found")

// RemoveRule removes a rule. It returns ErrNotFound if there is none with the id.
func (b *Sandbox) RemoveRule(id int) error {
	if !b.service.RemoveRule(id) {
		return ErrNotFound
	}
	b.History.Touch()
	return nil
}
