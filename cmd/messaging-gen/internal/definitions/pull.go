package definitions

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/messaging-go/messaging"
)

// AccountError reports definitions of an account that cannot be in a [List].
type AccountError struct {
	Problems []string
	Events   []string // the names of the events that have problems
}

// Error returns one line for each problem.
func (e *AccountError) Error() string { return strings.Join(e.Problems, "\n") }

// Pull returns the definitions of an account, without the events that are named in ignore.
// If the account has definitions with problems, the error is an [*AccountError].
func Pull(ctx context.Context, client *messaging.Client, ignore []string) (List, error) {
	found := make(map[string]map[string]messaging.Event) // by name and id
	for event, err := range client.Events.All(ctx, messaging.EventListParams{}) {
		if err != nil {
			return nil, err
		}
		if found[event.Name] == nil {
			found[event.Name] = make(map[string]messaging.Event)
		}
		found[event.Name][event.ID] = event // a list that shifts between two pages has an event twice
	}
	list, invalid := List{}, AccountError{}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if slices.Contains(ignore, name) {
			continue
		}
		ids := slices.Sorted(maps.Keys(found[name]))
		definition := Event{name, found[name][ids[0]].Description, []Parameter{}}
		for _, p := range found[name][ids[0]].Parameters {
			definition.Parameters = append(definition.Parameters, Parameter{p.Name, p.Type, p.Required})
		}
		called, problems := fmt.Sprintf("event %q", name), definition.flaws()
		if name == "" {
			called = fmt.Sprintf("event with the id %q", strings.Join(ids, ", "))
		} else if len(ids) > 1 {
			problems = []string{fmt.Sprintf("is defined %d times in the account, with the ids %q", len(ids), strings.Join(ids, ", "))}
		}
		for _, problem := range problems {
			invalid.Problems = append(invalid.Problems, called+": "+problem)
		}
		if problems != nil {
			invalid.Events = append(invalid.Events, name)
		}
		list = append(list, definition)
	}
	if invalid.Events != nil {
		return nil, &invalid
	}
	list.sort()
	return list, nil
}
