package peers

import (
	"context"

	"github.com/messaging-go/messaging"

	"github.com/messaging-go/messaging/benchmarks/internal/canned"
)

// Messaging is the SDK with its default options. Only read-ahead is off, since no
// other client has it.
var Messaging = Peer{
	Name:    "messaging",
	New:     func(base string) (Client, error) { return NewMessaging(base) },
	Service: canned.Messaging,
	Sends: Request{"/v1/events/trigger", applicationJSON,
		`{"event_id":"` + EventID + `","payload":{"amount":125,"email":"ada@example.com","order":"A-1001"}}`},
}

// EventID is the id of the event that all benchmarks trigger.
const EventID = "0b9c1c5e-3c1f-4f5a-9a51-6a4a6f1f2f10"

// SDK is a client that the SDK provides.
type SDK struct{ *messaging.Client }

// NewMessaging returns a client for the service at base.
func NewMessaging(base string, options ...messaging.Option) (SDK, error) {
	client, err := messaging.NewClient(base, "test-key-1", options...)
	return SDK{client}, err
}

// Walk ranges over all customers without read-ahead.
func (s SDK) Walk(ctx context.Context, perPage int) (rows int, err error) {
	return count(s.Customers.All(ctx, messaging.CustomerListParams{PerPage: perPage}, messaging.WithoutReadAhead()))
}

// Call triggers an event.
func (s SDK) Call(ctx context.Context) error {
	_, err := s.Events.Trigger(ctx, messaging.EventTriggerParams{
		EventID: EventID,
		Email:   "ada@example.com",
		Values:  map[string]any{"order": "A-1001", "amount": 125},
	})
	return err
}
