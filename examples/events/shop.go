package main

import (
	"context"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/examples/events/internal/events"
)

// Shop notifies customers about their orders.
type Shop struct{ events *events.Events }

// Order is an order that has shipped.
type Order struct {
	ID, Email string
	Parcels   int
	Shipped   time.Time
	Carrier   string
	Weight    string // in kilograms, such as "12.30"
}

// Ship notifies the customer that the order has shipped.
func (s *Shop) Ship(ctx context.Context, order Order) error {
	_, err := s.events.OrderShipped(ctx, events.To(order.Email), order.event())
	return err
}

// PrepareShip returns what Ship sends, for an outbox.
func (s *Shop) PrepareShip(order Order) (*messaging.Prepared, error) {
	return s.events.OrderShippedParams(events.To(order.Email), order.event()).Prepare()
}

func (o Order) event() events.OrderShipped {
	return events.OrderShipped{
		OrderID:   o.ID,
		Parcels:   events.Int(o.Parcels),
		ShippedAt: o.Shipped,
		Carrier:   &o.Carrier,
		Weight:    events.Decimal(o.Weight),
	}
}
