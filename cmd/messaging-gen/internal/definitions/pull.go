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

// Pull returns the definitions of an account for the names that are wanted. If these have
// problems, the error is an [*AccountError].
func Pull(ctx context.Context, client *messaging.Client, wanted func(name string) bool) (List, error) {
	account, err := messaging.Collect(client.Events.All(ctx, messaging.EventListParams{}))
	if err != nil {
		return nil, err
	}
	ids := make(map[string][]string) // by name
	for _, event := range account {
		ids[event.Name] = append(ids[event.Name], event.ID)
	}
	list, invalid := List{}, AccountError{}
	for _, name := range slices.Sorted(maps.Keys(ids)) {
		if !wanted(name) {
			continue
		}
		slices.Sort(ids[name])
		all := strings.Join(slices.Compact(ids[name]), ", ")
		event, err := messaging.FindEvent(account, name)
		if err != nil {
			event = new(messaging.Event)
		}
		definition := Event{name, event.Description, []Parameter{}}
		for _, p := range event.Parameters {
			definition.Parameters = append(definition.Parameters, Parameter{p.Name, p.Type, p.Required})
		}
		called, problems := fmt.Sprintf("event %q", name), definition.flaws()
		switch {
		case name == "":
			called = fmt.Sprintf("event with the id %q", all)
		case err != nil:
			problems = []string{fmt.Sprintf("is defined several times in the account, with different parameters and the ids %q", all)}
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
