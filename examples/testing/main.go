package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run notifies a customer about one order, with an in-memory service like the one in the
// tests.
func run(ctx context.Context) error {
	service, err := messagingtest.Start()
	if err != nil {
		return err
	}
	defer service.Close()
	shop, err := open(ctx, service.Client())
	if err != nil {
		return err
	}
	if err := shop.Tell(ctx, Order{Number: "A-1001", Email: "ada@example.com", Shipped: time.Now()}); err != nil {
		return err
	}
	notified := service.Triggers()[0]
	fmt.Printf("notified %s about order %s\n", notified.Params.Email, notified.Params.Values["order"])
	return nil
}

// open finds or defines the event that the shop triggers, and returns the shop.
func open(ctx context.Context, client *messaging.Client) (*Shop, error) {
	shipped, err := client.Events.Ensure(ctx, messaging.EventCreateParams{
		Name:        "order shipped",
		Description: "An order has left the warehouse",
		Parameters: []messaging.EventParameter{
			{Name: "order", Type: messaging.ParameterText, Required: true},
			{Name: "shipped_at", Type: messaging.ParameterTimestamp, Required: true},
		},
	})
	if err != nil {
		return nil, err
	}
	return &Shop{Client: client, Shipped: shipped}, nil
}
