package sandbox

import (
	"errors"
	"strings"

	"github.com/messaging-go/messaging/internal/fake"
	"github.com/messaging-go/messaging/internal/service"
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

// FindOp returns the name of the one operation whose name contains part, or "" for "". The
// error is a *[RuleError].
func FindOp(part string) (name string, err error) {
	if part == "" || fake.IsServed(part) {
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
func (b *Sandbox) AddRule(r fake.Rule) (id int, err error) {
	if r.Op, err = FindOp(r.Op); err != nil {
		return 0, err
	}
	if err := r.Check(); err != nil {
		return 0, err
	}
	defer b.History.Touch()
	return b.service.AddRule(r), nil
}

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
