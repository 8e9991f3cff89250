package view

import (
	"fmt"
	"iter"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/fake"
	"github.com/messaging-go/messaging/internal/service"
)

// Faults is what the page of faults shows.
type Faults struct {
	Rules      []sandbox.ActiveRule
	Presets    []sandbox.Preset
	Operations iter.Seq[*service.Operation]
	Kinds      []string
	Form       map[string]string // what the form of a rule has
}

// NewFaults returns the faults, with what the form of a rule has.
func NewFaults(box *sandbox.Sandbox, form map[string]string) Faults {
	return Faults{box.Rules(), sandbox.Presets, service.Served(), fake.FaultKinds, form}
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
