package messagingtest

import (
	"slices"
	"strings"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/service"
)

var eventList = serveList(list[messaging.Event]{
	operation: service.ListEvents,
	message:   "Company events fetched successfully",
	complete:  completeEvent,
	row:       eventRow,
	clone:     cloneEvent,
})

func init() { handle(service.CreateEvent, createEvent) }

// AddEvents adds event definitions to the list of the service, so that they can be
// triggered. An event without an id gets a UUID. A zero CreatedAt is set to the current
// time, unless Extra has a created_at member. The list includes the members of Extra.
func (s *Server) AddEvents(events ...messaging.Event) { eventList.add(s, events) }

func completeEvent(s *Server, event *messaging.Event) {
	event.ID = s.idOr(event.ID)
	event.CreatedAt = timeOrNow(event.Extra, "created_at", event.CreatedAt)
	for i := range event.Parameters {
		event.Parameters[i].Type = lower(event.Parameters[i].Type)
	}
}

// Events returns all event definitions in the order of their creation: those that were
// added with [Server.AddEvents], and those that requests created.
func (s *Server) Events() []messaging.Event { return eventList.copies(s) }

func createEvent(s *Server, in input) response {
	event := messaging.Event{
		Name:        in.body.requiredString("name"),
		Description: in.body.requiredString("description"),
		Parameters:  readParameters(in.body),
		CreatedAt:   time.Now(),
	}
	if len(in.problems) > 0 {
		return invalidResponse(in.problems)
	}
	s.lock()
	defer s.mu.Unlock()
	if len(eventList.records.of(s).all) >= s.config.maxRecords {
		return s.fullResponse("event definitions")
	}
	event.ID = s.newID()
	eventList.records.of(s).add(event)
	setEffect(in.exchange, cloneEvent(event))
	return successResponse("Event created successfully", eventRow(event))
}

// readParameters reads the parameters of an event. The array is required, and may be
// empty.
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

// isReserved reports whether a key of a payload identifies the customer. Such a key
// cannot be a parameter.
func isReserved(key string) bool { return key == "email" || key == "customer" }

func lower(t messaging.ParameterType) messaging.ParameterType {
	return messaging.ParameterType(strings.ToLower(string(t)))
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
