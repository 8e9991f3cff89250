package records

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/fake"
	"github.com/messaging-go/messaging/internal/service"
)

// Events are the event definitions that the service stores.
var Events = &Kind{
	Name:   "events",
	Origin: "Event definitions come from the seed, or are created by requests.",
	List:   service.ListEvents,
	Read: func(ctx context.Context, c *messaging.Client) error {
		_, err := c.Events.List(ctx, messaging.EventListParams{})
		return err
	},
	parse: parseEvent,
	stored: func(s *fake.Server) []Value {
		return values(s.Events(), func(e *fake.Event) Value { return event{e} })
	},
	add: func(s *fake.Server, v Value) { s.AddEvents(*v.(event).Event) },
	created: func(e *fake.Exchange) int {
		if _, ok := e.Effect.(*fake.Event); ok {
			return 1
		}
		return 0
	},
	idKey: "id",
}

func parseEvent(raw json.RawMessage) (Value, error) {
	var e messaging.Event
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, err
	}
	incomplete := slices.ContainsFunc(e.Parameters, func(p messaging.EventParameter) bool { return p.Name == "" || p.Type == "" })
	switch {
	case len(e.Extra) > 0:
		return nil, unreadable(e.Extra)
	case e.Name == "":
		return nil, errors.New("a name is required")
	case incomplete:
		return nil, errors.New("a parameter needs a name and a type")
	}
	stored := fake.Event{ID: e.ID, Name: e.Name, Description: e.Description, CreatedAt: e.CreatedAt}
	for _, p := range e.Parameters {
		stored.Parameters = append(stored.Parameters, fake.EventParameter{Name: p.Name, Type: string(p.Type), Required: p.Required})
	}
	return event{&stored}, nil
}

type event struct{ *fake.Event }

func (e event) ID() string      { return e.Event.ID }
func (e event) Model() any      { return modelOf(e.Event) }
func (e event) number() int     { return 0 }
func (e event) Texts() []string { return []string{e.ID(), e.Name, e.Description} }
func (e event) Line() Line {
	return Line{e.Name, e.Description, words.Count(len(e.Parameters), "parameter")}
}

func modelOf(e *fake.Event) messaging.Event {
	parameters := make([]messaging.EventParameter, len(e.Parameters))
	for i, p := range e.Parameters {
		parameters[i] = messaging.EventParameter{Name: p.Name, Type: messaging.ParameterType(p.Type), Required: p.Required}
	}
	return messaging.Event{ID: e.ID, Name: e.Name, Description: e.Description, Parameters: parameters, CreatedAt: e.CreatedAt}
}
