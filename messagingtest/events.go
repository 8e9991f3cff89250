package messagingtest

import (
	"slices"
	"strings"
	"time"

	"github.com/messaging-go/messaging"
)

// AddEvents adds event definitions to the list of the service. They can be
// triggered too. An event without an id gets a UUID. A zero CreatedAt is set to
// the current time, unless Extra has a created_at member. The members of Extra
// are listed too.
func (s *Server) AddEvents(events ...messaging.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, event := range events {
		if event.ID == "" {
			event.ID = s.newID()
		}
		event.CreatedAt = timeOrNow(event.Extra, "created_at", event.CreatedAt)
		event = cloneEvent(event)
		for i := range event.Parameters {
			event.Parameters[i].Type = lower(event.Parameters[i].Type)
		}
		s.events = append(s.events, event)
	}
}

// Events returns all event definitions in the order of their creation: those
// that were added, and those that requests created.
func (s *Server) Events() []messaging.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return cloneSlice(s.events, cloneEvent)
}

func (s *Server) createEvent(in input) response {
	event := messaging.Event{
		Name:        in.body.requiredString("name"),
		Description: in.body.requiredString("description"),
		Parameters:  readParameters(in.body),
		CreatedAt:   time.Now(),
	}
	if len(in.problems) > 0 {
		return invalidResponse(in.problems)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	event.ID = s.newID()
	s.events = append(s.events, event)
	setEffect(in.exchange, cloneEvent(event))
	return successResponse("Event created successfully", eventRow(event))
}

// readParameters reads the parameters of an event. The array is required, but it
// may be empty.
func readParameters(body object) []messaging.EventParameter {
	elements, length := body.array("parameters")
	body.invalidIf(!body.has("parameters"), "parameters", "is required")
	names := make(map[string]bool, length)
	return each(elements, length, func(index string) messaging.EventParameter {
		o := elements.object(index)
		parameter := messaging.EventParameter{
			Name:     o.requiredString("name"),
			Type:     lower(messaging.ParameterType(o.requiredString("type"))),
			Required: o.boolean("required"),
		}
		o.invalidIf(isReserved(parameter.Name), "name", "is reserved")
		o.invalidIf(names[parameter.Name], "name", "duplicates an earlier parameter")
		names[parameter.Name] = true
		return parameter
	})
}

// isReserved reports whether a payload key identifies the customer and so cannot
// be a parameter.
func isReserved(key string) bool { return key == "email" || key == "customer" }

func lower(t messaging.ParameterType) messaging.ParameterType {
	return messaging.ParameterType(strings.ToLower(string(t)))
}

func (s *Server) listEvents(in input) response {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows, meta := page(in, "events", len(s.events), selectAll, func(i int) any { return eventRow(s.events[i]) })
	if len(in.problems) > 0 {
		return invalidResponse(in.problems)
	}
	return listResponse("Company events fetched successfully", rows, meta)
}

// eventRow returns the event as an element of a list response.
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
		"created_at":  formatTime(e.CreatedAt, microsecondLayout),
	})
}

func cloneEvent(e messaging.Event) messaging.Event {
	e.Parameters = slices.Clone(e.Parameters)
	e.Extra = cloneExtra(e.Extra)
	return e
}
