package fake

import (
	"strings"
	"time"
)

func createEvent(s *state, in *input) response {
	event := readEvent(in.body)
	if len(in.problems) > 0 {
		return invalidResponse(in.problems)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.maxRecords > 0 && len(s.events) >= s.maxRecords {
		return s.full("event definitions")
	}
	event.ID, event.CreatedAt = s.newID(), time.Now()
	s.events = append(s.events, *event)
	in.exchange.Effect = event
	return successResponse("Event created successfully", event)
}

func readEvent(body object) *Event {
	return &Event{Name: body.requiredString("name"), Description: body.requiredString("description"), Parameters: readParameters(body)}
}

// readParameters reads the parameters of an event. The array is required, and may be
// empty.
func readParameters(body object) []EventParameter {
	elements, length := body.array("parameters")
	body.invalidIf(!body.has("parameters"), "parameters", "is required")
	names := make(map[string]bool, length)
	return each(elements, length, func(index string) EventParameter {
		o := elements.object(index)
		parameter := EventParameter{
			Name:     o.requiredString("name"),
			Type:     strings.ToLower(o.requiredString("type")),
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
