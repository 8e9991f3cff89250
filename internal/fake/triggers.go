package fake

import (
	"maps"
	"slices"
	"time"

	"github.com/messaging-go/messaging"
)

func triggerEvent(s *state, in *input) response {
	trigger, who := readTrigger(in.body, s.identifier)
	trigger.At = in.exchange.At
	event, known := s.Event(trigger.Params.EventID)
	in.body.invalidIf(!known, "event_id", "is not the id of an event")
	if in.problems["payload"] == nil {
		trigger.checkParameters(in.body.object("payload"), event.Parameters)
	}
	return s.carryOut(in, trigger, []messaging.CustomerParams{who}, successResponse("Event successfully triggered", true))
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

// readTrigger reads a trigger and the customer that it identifies. Unlike the one in
// Params, that customer has the email address of the payload.
func readTrigger(body object, identifier Identifier) (trigger *Trigger, who messaging.CustomerParams) {
	trigger = &Trigger{Params: messaging.EventTriggerParams{EventID: body.requiredString("event_id")}}
	params := &trigger.Params
	body.invalidIf(!body.has("payload"), "payload", "is required")
	payload := body.object("payload")
	if payload.members == nil {
		return trigger, who
	}
	params.Email = payload.email("email")
	customer := payload.object("customer")
	if customer.members != nil {
		who = readCustomer(customer)
		params.Customer = new(who)
	}
	payload.invalidIf(params.Email == "" && !payload.has("customer"), "email", "is required when there is no customer")
	if who.Email == "" {
		who.Email = params.Email
	}
	if who.Email != "" || params.Customer != nil {
		identifier.check(customer, who)
	}
	values := read[Values](body, "payload", "an object")
	maps.DeleteFunc(values, func(key string, _ any) bool { return isReserved(key) })
	if len(values) > 0 {
		params.Values = values
	}
	return trigger, who
}

// checkParameters checks the values against the parameters of the event, and removes
// malformed timestamps.
func (t *Trigger) checkParameters(payload object, parameters []EventParameter) {
	for _, p := range parameters {
		switch {
		case !payload.has(p.Name):
			payload.invalidIf(p.Required, p.Name, "is required by the event")
		case p.Type == Timestamp && !isReserved(p.Name) && !isTimestamp(t.Params.Values[p.Name]):
			t.Skipped = append(t.Skipped, p.Name)
			delete(t.Params.Values, p.Name)
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
