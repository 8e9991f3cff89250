package messagingtest

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/messaging-go/messaging"
)

// Trigger is an event that was triggered.
type Trigger struct {
	EventID string
	// EventName is the name that the event was defined with.
	EventName string
	Email     string
	// Customer is nil where the payload names the customer by Email alone.
	Customer *messaging.CustomerParams
	// Values are the rest of the payload, less what was skipped. They are as
	// encoding/json decodes them: numbers are float64.
	Values map[string]any
	// Skipped names the timestamp parameters whose value is in a form that the
	// service does not read. It triggers the event without them, and says so to
	// nobody.
	Skipped []string
}

// Triggers returns the events that were triggered, in order.
func (s *Server) Triggers() []Trigger {
	s.mu.Lock()
	defer s.mu.Unlock()
	return copied(s.triggers, Trigger.copy)
}

func (s *Server) triggerEvent(in received) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := in.body.requiredText("event_id")
	i := slices.IndexFunc(s.events, func(e messaging.Event) bool { return e.ID == id })
	event := messaging.Event{}
	if i >= 0 {
		event = s.events[i]
	}
	in.body.refuseIf(i < 0, "event_id", "is not the id of an event")
	in.body.refuseIf(!in.body.has("payload"), "payload", "is required")
	payload := in.body.object("payload")
	if in.problems["payload"] != nil {
		return invalid(in.problems)
	}
	trigger, who := s.readTrigger(payload, event)
	if len(in.problems) > 0 {
		return invalid(in.problems)
	}
	s.customers.meet(who)
	s.triggers = append(s.triggers, trigger)
	return done("Event successfully triggered", true)
}

// readTrigger also returns who the trigger is about.
func (s *Server) readTrigger(payload object, event messaging.Event) (trigger Trigger, who messaging.CustomerParams) {
	trigger = Trigger{EventID: event.ID, EventName: event.Name, Email: payload.email("email"), Values: make(map[string]any)}
	customer := payload.object("customer")
	if customer.members != nil {
		who = readCustomer(customer)
		trigger.Customer = copiedPointer(&who)
	}
	payload.refuseIf(trigger.Email == "" && !payload.has("customer"), "email", "is required when there is no customer")
	if who.Email == "" {
		who.Email = trigger.Email
	}
	if who.Email != "" || trigger.Customer != nil {
		s.customers.identifier.check(customer, who)
	}
	for key, raw := range payload.members {
		if !isReserved(key) {
			var value any
			_ = json.Unmarshal(raw, &value) // it has been read before
			trigger.Values[key] = value
		}
	}
	trigger.take(payload, event.Parameters)
	return trigger, who
}

// take holds the values against the parameters of the event.
func (t *Trigger) take(payload object, parameters []messaging.EventParameter) {
	for _, p := range parameters {
		switch {
		case !payload.has(p.Name):
			payload.refuseIf(p.Required, p.Name, "is required by the event")
		case p.Type == messaging.ParameterTimestamp && !isReserved(p.Name) && !isTimestamp(t.Values[p.Name]):
			t.Skipped = append(t.Skipped, p.Name)
			delete(t.Values, p.Name)
		}
	}
}

// isTimestamp asks for the form of the service to the letter: parsing alone
// would let fractions of a second pass.
func isTimestamp(value any) bool {
	text, _ := value.(string)
	t, err := time.Parse(toTheSecond, text)
	return err == nil && t.Format(toTheSecond) == text
}

func (t Trigger) copy() Trigger {
	if t.Customer != nil {
		customer := copiedParams(*t.Customer)
		t.Customer = &customer
	}
	t.Values = copiedObject(t.Values)
	t.Skipped = slices.Clone(t.Skipped)
	return t
}
