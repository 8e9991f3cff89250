// Testing is a small program of a user's: a shop that tells its customers when
// an order ships. Its test shows how such a program is tested against the
// service in memory, the awkward cases included.
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/messaging-go/messaging"
)

// Shop tells customers about their orders.
type Shop struct {
	Client *messaging.Client
	// Shipped is the definition of the event that is triggered.
	Shipped *messaging.Event
	// Later holds the orders that can be told again without harm, Unclear those
	// that somebody has to look into first.
	Later, Unclear []Order
}

// Order is what a customer is told about.
type Order struct {
	Number  string
	Email   string
	Shipped time.Time
}

// Tell tells the customer that the order has shipped. An order is told at most
// once: where it can't be known whether it was, it is put aside.
func (s *Shop) Tell(ctx context.Context, order Order) error {
	_, err := s.Client.Events.Trigger(ctx, messaging.EventTriggerParams{
		Definition: s.Shipped,
		Email:      order.Email,
		Values:     map[string]any{"order": order.Number, "shipped_at": order.Shipped},
	})
	switch messaging.DeliveryOf(err) {
	case messaging.DeliveryAccepted:
		return nil
	case messaging.DeliveryUnknown:
		s.Unclear = append(s.Unclear, order)
	default:
		s.Later = append(s.Later, order)
	}
	return fmt.Errorf("order %s: %w", order.Number, err)
}
