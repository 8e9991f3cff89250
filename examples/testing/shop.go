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

	Later   []Order // to be told again by the program itself
	Unclear []Order // may have been told: somebody has to find out
	Invalid []Order // to be corrected, such as a malformed e-mail address
	Blocked []Order // to be told again when the key, the base URL or the host is fixed
}

// Order is what a customer is told about.
type Order struct {
	Number  string
	Email   string
	Shipped time.Time
}

// Tell tells the customer that the order has shipped. No order is told twice, and
// none is lost: one that could not be told is in one of the lists.
func (s *Shop) Tell(ctx context.Context, order Order) error {
	_, err := s.Client.Events.Trigger(ctx, messaging.EventTriggerParams{
		Definition: s.Shipped,
		Email:      order.Email,
		Values:     map[string]any{"order": order.Number, "shipped_at": order.Shipped},
	})
	switch delivery := messaging.DeliveryOf(err); {
	case delivery == messaging.DeliveryAccepted:
		return nil // told; an error is about the response alone
	case messaging.Retryable(err):
		s.Later = append(s.Later, order)
	case delivery == messaging.DeliveryUnknown:
		s.Unclear = append(s.Unclear, order)
	case errors.Is(err, messaging.ErrValidation):
		s.Invalid = append(s.Invalid, order)
	default:
		s.Blocked = append(s.Blocked, order)
	}
	return fmt.Errorf("order %s: %w", order.Number, err)
}
