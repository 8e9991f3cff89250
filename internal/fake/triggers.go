package fake

import (
	"maps"
	"slices"
	"time"
)

func triggerEvent(s *state, in *input) response {
	id := in.body.requiredString("event_id")
	event, known := s.Event(id)
	in.body.invalidIf(!known, "event_id", "is not the id of an event")
	in.body.invalidIf(!in.body.has("payload"), "payload", "is required")
	payload := in.body.object("payload")
	if in.problems["payload"] != nil {
		return invalidResponse(in.problems)
	}
	values := read[Values](in.body, "payload", "an object")
	trigger, who := readTrigger(payload, values, event, s.identifier)
	trigger.At = in.exchange.At
	return s.carryOut(in, &trigger, []CustomerParams{who}, successResponse("Event successfully triggered", true))
}

// Event returns the event with an id.
func (s *state) Event(id string) (event Event, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.events, func(e Event) bool { return e.ID == id })
	if i < 0 {
		return Event{}, false
	}
	return s.events[i], true
}

// readTrigger reads a trigger and the customer that it identifies. Unlike
// Trigger.Customer, that customer has the email address of the payload.
func readTrigger(payload object, values Values, event Event, identifier Identifier) (trigger Trigger, who CustomerParams) {
	trigger = Trigger{EventID: event.ID, EventName: event.Name, Email: payload.email("email")}
	customer := payload.object("customer")
	if customer.members != nil {
		who = readCustomer(customer)
		sent := who
		trigger.Customer = &sent
	}
	payload.invalidIf(trigger.Email == "" && !payload.has("customer"), "email", "is required when there is no customer")
	if who.Email == "" {
		who.Email = trigger.Email
	}
	if who.Email != "" || trigger.Customer != nil {
		identifier.check(customer, who)
	}
	maps.DeleteFunc(values, func(key string, _ any) bool { return isReserved(key) })
	if len(values) > 0 {
		trigger.Values = values
	}
	trigger.checkParameters(payload, event.Parameters)
	return trigger, who
}

// checkParameters checks the values against the parameters of the event, and removes
// malformed timestamps.
func (t *Trigger) checkParameters(payload object, parameters []EventParameter) {
	for _, p := range parameters {
		switch {
		case !payload.has(p.Name):
			payload.invalidIf(p.Required, p.Name, "is required by the event")
		case p.Type == Timestamp && !isReserved(p.Name) && !isTimestamp(t.Values[p.Name]):
			t.Skipped = append(t.Skipped, p.Name)
			delete(t.Values, p.Name)
		}
	}
}

// isTimestamp reports whether value is a timestamp exactly in the form of the service.
// time.Parse alone would accept fractions of a second.
func isTimestamp(value any) bool {
	s, _ := value.(string)
	t, err := time.Parse(secondLayout, s)
	return err == nil && t.Format(secondLayout) == s
}
