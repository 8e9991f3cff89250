package definitions

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
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
		if slices.Contains(ignore, event.Name) {
			continue
		}
		if found[event.Name] == nil {
			found[event.Name] = make(map[string]messaging.Event)
		}
		found[event.Name][event.ID] = event // a list that shifts between two pages has an event twice
	}
	list, invalid := List{}, &AccountError{}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		event, problems := definition(name, found[name])
		if problems != nil {
			invalid.Problems = append(invalid.Problems, problems...)
			invalid.Events = append(invalid.Events, name)
		}
		list = append(list, event)
	}
	if invalid.Events != nil {
		return nil, invalid
	}
	list.sort()
	return list, nil
}

// definition returns the only one of the events with a name, or their problems.
func definition(name string, byID map[string]messaging.Event) (event messaging.EventCreateParams, problems []string) {
	ids := slices.Sorted(maps.Keys(byID))
	called := "event " + visible.Quote(name)
	if name == "" {
		called = "event with the id " + visible.Text(strings.Join(ids, ", "))
	} else if len(ids) > 1 {
		return event, []string{fmt.Sprintf("%s: is defined %d times in the account, with the ids %s", called, len(ids),
			visible.Text(strings.Join(ids, ", ")))}
	}
	found := byID[ids[0]]
	event = messaging.EventCreateParams{Name: name, Description: found.Description, Parameters: found.Parameters}
	for _, flaw := range flaws(event) {
		problems = append(problems, called+": "+flaw)
	}
	return event, problems
}
