package definitions

import (
	"fmt"
	"iter"
	"slices"

	"github.com/messaging-go/messaging"
)

// State is how an event of a file stands in the account.
type State string

// The states.
const (
	Current State = "current"
	Missing State = "missing"
	Differs State = "differs"
)

// Comparison is an event of a file, and how it stands in the account.
type Comparison struct {
	Event       string   `json:"event"`
	State       State    `json:"state"`
	Differences []string `json:"differences"`

	Wanted  messaging.EventCreateParams `json:"-"`
	Account messaging.Event             `json:"-"` // if State is Current
}

// With returns the comparisons with a state.
func With(all []Comparison, wanted State) []Comparison {
	return slices.DeleteFunc(slices.Clone(all), func(c Comparison) bool { return c.State != wanted })
}

// Compare compares events with those of an account.
func Compare(wanted List, account iter.Seq2[messaging.Event, error]) (all []Comparison, err error) {
	byName := make(map[string][]messaging.Event)
	for event, err := range account {
		if err != nil {
			return nil, err
		}
		sameID := func(other messaging.Event) bool { return other.ID == event.ID }
		if !slices.ContainsFunc(byName[event.Name], sameID) { // a list that shifts between two pages has an event twice
			byName[event.Name] = append(byName[event.Name], event)
		}
	}
	for _, each := range wanted {
		c := Comparison{Event: each.Name, State: Current, Differences: []string{}, Wanted: each}
		switch found := byName[each.Name]; len(found) {
		case 0:
			c.State = Missing
		case 1:
			c.Account = found[0]
			c.Differences = append(c.Differences, differences(each, found[0])...)
		default:
			c.Differences = append(c.Differences, fmt.Sprintf("the account has %d events with this name", len(found)))
		}
		if len(c.Differences) > 0 {
			c.State = Differs
		}
		all = append(all, c)
	}
	return all, nil
}
