package cli

import (
	"context"
	"errors"
	"iter"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

func newEvent(s *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "event",
		Short: "Define events, and trigger them",
		Example: `  messaging -p sandbox event list
  messaging -p sandbox event trigger 'order shipped' --example`,
		Args: cobra.NoArgs,
	}
	cmd.AddCommand(newEventList(s), newEventGet(s), newEventCreate(s), newEventTrigger(s), newEventPlan(s), newEventApply(s))
	return cmd
}

func newEventList(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the definitions of events",
		Example: `  messaging -p sandbox event list
  messaging -p sandbox event list --json=id,name`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return list(cmd, s, eventTable, allEvents) },
	}
}

func allEvents(ctx context.Context, client *messaging.Client) iter.Seq2[messaging.Event, error] {
	return client.Events.All(ctx, messaging.EventListParams{PerPage: pageSize})
}

func newEventGet(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "get NAME|ID",
		Short: "Look up an event by its name or its id",
		Example: `  messaging -p sandbox event get 'order shipped'
  messaging -p sandbox event get 'order shipped' --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return get(cmd, s, eventTable, func(ctx context.Context, client *messaging.Client) (*messaging.Event, error) {
				return findEvent(ctx, client, args[0])
			})
		},
	}
}

var idForm = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// findEvent returns the event with a name or an id.
func findEvent(ctx context.Context, client *messaging.Client, nameOrID string) (*messaging.Event, error) {
	if !idForm.MatchString(nameOrID) {
		return findNamed(ctx, client, nameOrID)
	}
	for event, err := range allEvents(ctx, client) {
		if err != nil || event.ID == nameOrID {
			return &event, err
		}
	}
	return nil, exit.With(exit.NotFound, "no event has the id %s", nameOrID)
}

// findNamed returns the event with a name. If there is none, the error has the nearest name.
func findNamed(ctx context.Context, client *messaging.Client, name string) (*messaging.Event, error) {
	found, err := client.Events.GetByName(ctx, name)
	if !errors.Is(err, messaging.ErrEventNotFound) {
		return found, err
	}
	var names []string
	for event, failed := range allEvents(ctx, client) {
		if failed != nil {
			return nil, err // the first error says what matters
		}
		names = append(names, event.Name)
	}
	if nearest := words.Nearest(name, names); nearest != "" {
		return nil, exit.With(exit.NotFound, "no such event: %s; did you mean %s?", name, nearest)
	}
	return nil, exit.With(exit.NotFound, "no such event: %s", name)
}
