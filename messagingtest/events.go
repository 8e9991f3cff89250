package messagingtest

import (
	"slices"
	"strings"
	"time"

	"github.com/messaging-go/messaging"
)

// AddEvents adds event definitions to those that the service lists and triggers.
// One without an id gets a uuid, and one without a time of creation the present.
// Members of Extra are listed too, and stand in for a time that is missing.
func (s *Server) AddEvents(events ...messaging.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, event := range events {
		if event.ID == "" {
			event.ID = s.newID()
		}
		event.CreatedAt = presentUnless(event.Extra, "created_at", event.CreatedAt)
		event.Parameters = slices.Clone(event.Parameters)
		for i := range event.Parameters {
			event.Parameters[i].Type = lower(event.Parameters[i].Type)
		}
		event.Extra = copiedExtra(event.Extra)
		s.events = append(s.events, event)
	}
}

func (s *Server) createEvent(in received) answer {
	event := messaging.Event{
		Name:        in.body.requiredText("name"),
		Description: in.body.requiredText("description"),
		Parameters:  readParameters(in.body),
		CreatedAt:   time.Now(),
	}
	if len(in.problems) > 0 {
		return invalid(in.problems)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	event.ID = s.newID()
	s.events = append(s.events, event)
	return done("Event created successfully", eventRow(event))
}

// readParameters reads what an event takes, which may be nothing but has to be
// said.
func readParameters(body object) []messaging.EventParameter {
	elements, length := body.list("parameters")
	body.refuseIf(!body.has("parameters"), "parameters", "is required")
	names := make(map[string]bool, length)
	return each(elements, length, func(position string) messaging.EventParameter {
		o := elements.object(position)
		parameter := messaging.EventParameter{
			Name:     o.requiredText("name"),
			Type:     lower(messaging.ParameterType(o.requiredText("type"))),
			Required: o.boolean("required"),
		}
		o.refuseIf(isReserved(parameter.Name), "name", "is the name of a key that every payload has")
		o.refuseIf(names[parameter.Name], "name", "is a duplicate")
		names[parameter.Name] = true
		return parameter
	})
}

// isReserved reports whether a key of a payload is about the customer.
func isReserved(key string) bool { return key == "email" || key == "customer" }

func lower(t messaging.ParameterType) messaging.ParameterType {
	return messaging.ParameterType(strings.ToLower(string(t)))
}

func (s *Server) listEvents(in received) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows, meta := page(in, "events", len(s.events), everyone, func(i int) any { return eventRow(s.events[i]) })
	if len(in.problems) > 0 {
		return invalid(in.problems)
	}
	return listed("Company events fetched successfully", rows, meta)
}

// eventRow is an event as it is listed.
func eventRow(e messaging.Event) any {
	parameters := make([]map[string]any, len(e.Parameters))
	for i, p := range e.Parameters {
		parameters[i] = map[string]any{"name": p.Name, "type": p.Type, "required": p.Required}
	}
	return withExtra(e.Extra, map[string]any{
		"id":          e.ID,
		"name":        e.Name,
		"description": e.Description,
		"parameters":  parameters,
		"created_at":  timeText(e.CreatedAt, toTheMicrosecond),
	})
}
