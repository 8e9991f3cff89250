package definitions

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Has reports whether the list has an event with the name.
func (l List) Has(name string) bool {
	return slices.ContainsFunc(l, func(e Event) bool { return e.Name == name })
}

// definition names an event or, if parameter is not "", a parameter of it.
type definition struct{ event, parameter string }

// meaning returns what the definitions mean, as [messaging.EventsService.GetByName] compares
// them: for each parameter, its type and whether it is required.
func (l List) meaning() map[definition]string {
	meaning := make(map[definition]string)
	for _, event := range l {
		meaning[definition{event.Name, ""}] = ""
		for _, p := range event.Parameters {
			meaning[definition{event.Name, p.Name}] = map[bool]string{true: "required", false: "optional"}[p.Required] + " " + string(p.Type)
		}
	}
	return meaning
}

// Changes returns what would change in the meaning of l if it became other.
func (l List) Changes(other List) (changes []string) {
	before, after := l.meaning(), other.meaning()
	all := maps.Clone(before)
	maps.Copy(all, after)
	for _, d := range slices.SortedFunc(maps.Keys(all), func(a, b definition) int {
		return cmp.Or(cmp.Compare(a.event, b.event), cmp.Compare(a.parameter, b.parameter))
	}) {
		what := fmt.Sprintf("event %q", d.event)
		if d.parameter != "" {
			if !l.Has(d.event) || !other.Has(d.event) {
				continue // a line for the event is enough
			}
			what += fmt.Sprintf(": parameter %q", d.parameter)
		}
		was, isThere := before[d]
		becomes, stays := after[d]
		switch {
		case !stays:
			changes = append(changes, what+" would be removed")
		case !isThere:
			changes = append(changes, what+" would be added")
		case was != becomes:
			changes = append(changes, what+fmt.Sprintf(" would become %q, not %q", becomes, was))
		}
	}
	return changes
}
