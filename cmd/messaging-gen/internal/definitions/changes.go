package definitions

import (
	"fmt"
	"slices"
)

// Has reports whether the list has an event with the name.
func (l List) Has(name string) bool { return l.find(name) != nil }

func (l List) find(name string) *Event {
	i := slices.IndexFunc(l, func(e Event) bool { return e.Name == name })
	if i < 0 {
		return nil
	}
	return &l[i]
}

// Changes returns what would change in the meaning of l if it became other. Events mean the
// same if their parameters have the same names and types and are required alike, as for
// [messaging.EventsService.GetByName].
func (l List) Changes(other List) (changes []string) {
	for _, before := range l {
		if after := other.find(before.Name); after == nil {
			changes = append(changes, fmt.Sprintf("event %q would be removed", before.Name))
		} else {
			changes = append(changes, before.changes(after)...)
		}
	}
	for _, after := range other {
		if !l.Has(after.Name) {
			changes = append(changes, fmt.Sprintf("event %q would be added", after.Name))
		}
	}
	return changes
}

func (e *Event) changes(other *Event) (changes []string) {
	add := func(p Parameter, change string) {
		changes = append(changes, fmt.Sprintf("event %q: parameter %q would %s", e.Name, p.Name, change))
	}
	for _, before := range e.Parameters {
		after, ok := other.parameter(before.Name)
		if !ok {
			add(before, "be removed")
			continue
		}
		if after.Type != before.Type {
			add(before, fmt.Sprintf("become %q, not %q", after.Type, before.Type))
		}
		if after.Required != before.Required {
			add(before, map[bool]string{true: "become required", false: "become optional"}[after.Required])
		}
	}
	for _, after := range other.Parameters {
		if _, ok := e.parameter(after.Name); !ok {
			add(after, "be added")
		}
	}
	return changes
}

func (e *Event) parameter(name string) (p Parameter, ok bool) {
	i := slices.IndexFunc(e.Parameters, func(p Parameter) bool { return p.Name == name })
	if i < 0 {
		return Parameter{}, false
	}
	return e.Parameters[i], true
}
