package messagingtest

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/service"
)

var triggers = keep(history[Trigger])

func init() { handle(service.TriggerEvent, triggerEvent) }

// Trigger is a triggered event.
type Trigger struct {
	EventID string
	// EventName is the name from the event definition.
	EventName string
	Email     string
	// Customer is nil if the payload has no customer object.
	Customer *messaging.CustomerParams
	// Values holds the other members of the payload, except the skipped ones. It has the
	// types of encoding/json: numbers are float64.
	Values map[string]any
	// Skipped holds the names of the timestamp parameters whose values are not in the
	// form of the service. Like the service, the server triggers the event without these
	// values, and the response does not mention them.
	Skipped []string
}

// Triggers returns the triggered events, in order.
func (s *Server) Triggers() []Trigger { return copies(s, triggers, Trigger.clone) }

func triggerEvent(s *Server, in input) response {
	s.lock()
	defer s.mu.Unlock()
	id := in.body.requiredString("event_id")
	defined := eventList.records.of(s).all
	i := slices.IndexFunc(defined, func(e messaging.Event) bool { return e.ID == id })
	event := messaging.Event{}
	if i >= 0 {
		event = defined[i]
	}
	in.body.invalidIf(i < 0, "event_id", "is not the id of an event")
	in.body.invalidIf(!in.body.has("payload"), "payload", "is required")
	payload := in.body.object("payload")
	if in.problems["payload"] != nil {
		return invalidResponse(in.problems)
	}
	trigger, who := readTrigger(payload, event, s.config.identifier)
	if len(in.problems) > 0 {
		return invalidResponse(in.problems)
	}
	if full, ok := s.roomForCustomers([]messaging.CustomerParams{who}); !ok {
		return full
	}
	s.upsert(in.exchange, who)
	triggers.of(s).add(trigger)
	setEffect(in.exchange, trigger)
	return successResponse("Event successfully triggered", true)
}

// readTrigger reads a trigger and the customer that it identifies. Unlike
// Trigger.Customer, that customer has the email address of the payload.
func readTrigger(payload object, event messaging.Event, identifier Identifier) (trigger Trigger, who messaging.CustomerParams) {
	trigger = Trigger{EventID: event.ID, EventName: event.Name, Email: payload.email("email"), Values: make(map[string]any)}
	customer := payload.object("customer")
	if customer.members != nil {
		who = readCustomer(customer)
		trigger.Customer = clonePointer(&who)
	}
	payload.invalidIf(trigger.Email == "" && !payload.has("customer"), "email", "is required when there is no customer")
	if who.Email == "" {
		who.Email = trigger.Email
	}
	if who.Email != "" || trigger.Customer != nil {
		identifier.check(customer, who)
	}
	for key, raw := range payload.members {
		if !isReserved(key) {
			var value any
			_ = json.Unmarshal(raw, &value) // raw is valid JSON: the body was decoded before
			trigger.Values[key] = value
		}
	}
	trigger.checkParameters(payload, event.Parameters)
	return trigger, who
}

// checkParameters checks the values against the parameters of the event, and removes
// malformed timestamps.
func (t *Trigger) checkParameters(payload object, parameters []messaging.EventParameter) {
	for _, p := range parameters {
		switch {
		case !payload.has(p.Name):
			payload.invalidIf(p.Required, p.Name, "is required by the event")
		case p.Type == messaging.ParameterTimestamp && !isReserved(p.Name) && !isTimestamp(t.Values[p.Name]):
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

func (t Trigger) clone() Trigger {
	if t.Customer != nil {
		customer := cloneParams(*t.Customer)
		t.Customer = &customer
	}
	t.Values = cloneObject(t.Values)
	t.Skipped = slices.Clone(t.Skipped)
	return t
}
