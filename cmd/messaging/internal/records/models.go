package records

import (
	"strings"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/fake"
)

// models returns a function that converts all records that the service returns.
func models[F, T any](stored func(*fake.Server) []F, convert func(F) T) func(*fake.Server) []T {
	return func(s *fake.Server) []T {
		records := stored(s)
		all := make([]T, len(records))
		for i, record := range records {
			all[i] = convert(record)
		}
		return all
	}
}

// adding returns a function that converts records, and adds them to the service.
func adding[F, T any](add func(*fake.Server, ...F), convert func(T) F) func(*fake.Server, ...T) {
	return func(s *fake.Server, added ...T) {
		for _, record := range added {
			add(s, convert(record))
		}
	}
}

func eventModel(e fake.Event) messaging.Event {
	parameters := make([]messaging.EventParameter, len(e.Parameters))
	for i, p := range e.Parameters {
		parameters[i] = messaging.EventParameter{Name: p.Name, Type: messaging.ParameterType(p.Type), Required: p.Required}
	}
	return messaging.Event{ID: e.ID, Name: e.Name, Description: e.Description, Parameters: parameters, CreatedAt: e.CreatedAt, Extra: e.Extra}
}

func storedEvent(e messaging.Event) fake.Event {
	parameters := make([]fake.EventParameter, len(e.Parameters))
	for i, p := range e.Parameters {
		parameters[i] = fake.EventParameter{Name: p.Name, Type: strings.ToLower(string(p.Type)), Required: p.Required}
	}
	return fake.Event{ID: e.ID, Name: e.Name, Description: e.Description, Parameters: parameters, CreatedAt: e.CreatedAt, Extra: e.Extra}
}

func messageModel(m fake.TransactionalMessage) messaging.TransactionalMessage {
	return messaging.TransactionalMessage{ID: m.ID, Channel: messaging.Channel(m.Channel), Subject: m.Subject, Title: m.Title,
		Message: m.Message, MessageType: m.MessageType, CreatedAt: m.CreatedAt, TotalSent: m.TotalSent, TotalDelivered: m.TotalDelivered,
		TotalFailed: m.TotalFailed, TotalComplained: m.TotalComplained, TotalBounced: m.TotalBounced, Extra: m.Extra}
}

func storedMessage(m messaging.TransactionalMessage) fake.TransactionalMessage {
	return fake.TransactionalMessage{ID: m.ID, Channel: string(m.Channel), Subject: m.Subject, Title: m.Title,
		Message: m.Message, MessageType: m.MessageType, CreatedAt: m.CreatedAt, TotalSent: m.TotalSent, TotalDelivered: m.TotalDelivered,
		TotalFailed: m.TotalFailed, TotalComplained: m.TotalComplained, TotalBounced: m.TotalBounced, Extra: m.Extra}
}
