package cli

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
)

var eventTable = output.Table[messaging.Event]{
	Columns: []output.Column[messaging.Event]{
		{Name: "id", Text: func(e messaging.Event) string { return e.ID }},
		{Name: "name", Text: func(e messaging.Event) string { return e.Name }},
		{Name: "parameters", Text: func(e messaging.Event) string { return parametersText(e.Parameters) }},
		{Name: "description", Text: func(e messaging.Event) string { return e.Description }},
		{Name: "created", Time: func(e messaging.Event) time.Time { return e.CreatedAt }},
	},
	Fields: output.FieldsOf(messaging.Event{CreatedAt: sampleTime}),
}

// parametersText writes parameters such as "order:text,parcels:numeric?", with a question
// mark for one that is optional.
func parametersText(parameters []messaging.EventParameter) string {
	list := make([]string, len(parameters))
	for i, p := range parameters {
		list[i] = p.Name + ":" + string(p.Type)
		if !p.Required {
			list[i] += "?"
		}
	}
	return strings.Join(list, ",")
}

func newEventList(s *settings) *cobra.Command {
	return list[messaging.Event]{
		use: "list", short: "List the definitions of events",
		example: `  messaging -p sandbox event list
  messaging -p sandbox event list --json=id,name`,
		table: eventTable,
		rows: ofService(func(c call, client *messaging.Client) iter.Seq2[messaging.Event, error] {
			return allEvents(c.ctx, client)
		}),
	}.command(s)
}

func newEventGet(s *settings) *cobra.Command {
	return get[messaging.Event]{
		use: "get NAME|ID", short: "Look up an event by its name or its id",
		example: `  messaging -p sandbox event get 'order shipped'
  messaging -p sandbox event get 'order shipped' --json`,
		args:  cobra.ExactArgs(1),
		table: eventTable,
		find: inService(func(c call, client *messaging.Client) (*messaging.Event, error) {
			return findEvent(c.ctx, client, c.args[0])
		}),
	}.command(s)
}

func allEvents(ctx context.Context, client *messaging.Client) iter.Seq2[messaging.Event, error] {
	return client.Events.All(ctx, messaging.EventListParams{PerPage: pageSize})
}

// findEvent returns the event with a name or an id.
func findEvent(ctx context.Context, client *messaging.Client, nameOrID string) (*messaging.Event, error) {
	found, err := client.Events.GetByName(ctx, nameOrID)
	if !errors.Is(err, messaging.ErrEventNotFound) {
		return found, err
	}
	for event, err := range allEvents(ctx, client) {
		if err != nil || event.ID == nameOrID {
			return &event, err
		}
	}
	return nil, exit.With(exit.NotFound, "no such event: %s", nameOrID)
}
