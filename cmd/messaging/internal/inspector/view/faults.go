package view

import (
	"fmt"
	"iter"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/fake"
	"github.com/messaging-go/messaging/internal/service"
)

// Faults is what the page of faults shows.
type Faults struct {
	Rules, UsedUp []sandbox.ActiveRule
	Presets       []preset
	Operations    iter.Seq[*service.Operation]
	Kinds         []string
	Op            string            // the operation that is selected
	Form          map[string]string // what the form of a rule has
	Failed        []Row             // the latest requests that a fault changed
}

type preset struct {
	sandbox.Preset
	Delivery Tag // for the operation that is selected
	Retried  bool
}

// NewFaults returns the faults, with the presets for an operation.
func NewFaults(box *sandbox.Sandbox, op string, form map[string]string) Faults {
	const most = 5
	if !fake.IsServed(op) {
		op = "" // any
	}
	d := Faults{Rules: box.Rules(), UsedUp: box.UsedUp(), Operations: service.Served(), Kinds: fake.FaultKinds, Op: op, Form: form}
	for _, p := range sandbox.Presets {
		d.Presets = append(d.Presets, preset{p, deliveryTag(sandbox.Expect(p.Rule.Fault, op)), sandbox.Retried(p.Rule.Fault, op)})
	}
	failed, _ := box.History.Find(history.Query{}.And(func(e *history.Entry) bool { return e.Fault != "" }), 0, most)
	for _, e := range failed {
		d.Failed = append(d.Failed, NewRow(e))
	}
	return d
}

// describeFault returns what a fault does, in words.
func describeFault(f fake.Fault) string {
	after := time.Duration(f.After)
	switch f.Kind {
	case "answer_lost":
		return kindName(f.Kind)
	case "status":
		return fmt.Sprintf("status %d", f.Status)
	case "rate_limited":
		return fmt.Sprintf("429, retry after %v", after)
	case "slow":
		return fmt.Sprintf("delayed by %v", after)
	default:
		return kindName(f.Kind) + ": " + f.Body
	}
}

// describeRequests returns which requests fail, in words.
func describeRequests(r fake.Rule) string {
	text := "all"
	if r.Count > 0 {
		text = words.Count(r.Count, "request")
	}
	switch {
	case r.Skip == 1:
		text += " after the first"
	case r.Skip > 1:
		text += fmt.Sprintf(" after the first %d", r.Skip)
	}
	if r.Probability > 0 && r.Probability < 1 {
		text += fmt.Sprintf(", each with probability %v (seed %d)", r.Probability, r.Seed)
	}
	return text
}
