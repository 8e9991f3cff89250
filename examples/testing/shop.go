// Testing is an example of a program that uses package messaging, with tests. The program
// is a shop that notifies customers when an order ships. The tests run it with the
// in-memory service of package messagingtest, and cover failures such as a lost response.
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/messaging-go/messaging"
)

// Shop notifies customers about their orders.
type Shop struct {
	Client *messaging.Client
	// Shipped is the definition of the event that Tell triggers.
	Shipped *messaging.Event

	// These are the orders for which Tell returned an error.
	Later   []Order // not notified: make the same call later
	Invalid []Order // not notified: fix the order, such as an invalid email address
	Blocked []Order // not notified: fix the API key, the base URL or the host first
	Unclear []Order // possibly notified: find out
}

// Order is an order that has shipped.
type Order struct {
	Number  string
	Email   string
	Shipped time.Time
}

// Tell notifies the customer that the order has shipped. It never notifies a
// customer twice. If it returns an error, it has added the order to one of the
// lists of the shop.
func (s *Shop) Tell(ctx context.Context, order Order) error {
	_, err := s.Client.Events.Trigger(ctx, messaging.EventTriggerParams{
		Definition: s.Shipped,
		Email:      order.Email,
		Values:     map[string]any{"order": order.Number, "shipped_at": order.Shipped},
	})
	switch messaging.NextStepOf(err) {
	case messaging.NextNone:
		return nil // notified; err, if any, is only about the response
	case messaging.NextRetry:
		s.Later = append(s.Later, order)
	case messaging.NextFixRequest:
		s.Invalid = append(s.Invalid, order)
	case messaging.NextFixSetup:
		s.Blocked = append(s.Blocked, order)
	case messaging.NextCheck:
		s.Unclear = append(s.Unclear, order)
	}
	return fmt.Errorf("order %s: %w", order.Number, err)
}
