package records

import (
	"encoding/json"
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

func messageModel(row fake.Extra) messaging.TransactionalMessage {
	return throughJSON[messaging.TransactionalMessage](row)
}

func storedMessage(m messaging.TransactionalMessage) fake.Extra { return throughJSON[fake.Extra](m) }

// throughJSON converts a record, both of whose forms have the same JSON.
func throughJSON[T any](from any) (to T) {
	data, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(data, &to)
	}
	if err != nil {
		panic(err) // a record was read from JSON
	}
	return to
}
