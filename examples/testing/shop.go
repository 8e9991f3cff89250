// Testing is a small program of a user's: a shop that tells its customers when
// an order ships. Its test shows how such a program is tested against the
// service in memory, the awkward cases included.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/messaging-go/messaging"
)

// Shop tells customers about their orders.
type Shop struct {
	Client *messaging.Client
	// Shipped is the definition of the event that is triggered.
	Shipped *messaging.Event
	// Later holds the orders to be told again, Refused those that the service
	// will not take as they are, and Unclear those that may have been told.
	Later, Refused, Unclear []Order
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
	switch delivery := messaging.DeliveryOf(err); {
	case delivery == messaging.DeliveryAccepted:
		return nil
	case delivery == messaging.DeliveryUnknown:
		s.Unclear = append(s.Unclear, order)
	case delivery == messaging.DeliveryNotSent, errors.Is(err, messaging.ErrRateLimited):
		s.Later = append(s.Later, order)
	default:
		s.Refused = append(s.Refused, order)
	}
	return fmt.Errorf("order %s: %w", order.Number, err)
}
