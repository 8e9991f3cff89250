package sqlitefile_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/sqlitefile"
)

// shipped is a request to the service, which stands for your own.
func shipped(service *messagingtest.Server) *messaging.Prepared {
	event, err := service.Client().Events.Create(context.Background(), messaging.EventCreateParams{Name: "order shipped",
		Description: "An order has shipped", Parameters: []messaging.EventParameter{{Name: "order", Type: messaging.ParameterText}}})
	if err != nil {
		log.Fatal(err)
	}
	p, err := messaging.EventTriggerParams{Definition: event, Email: "ada@example.com", Values: map[string]any{"order": "4711"}}.Prepare()
	if err != nil {
		log.Fatal(err)
	}
	return p
}

// The outbox is in a separate file, so Enqueue adds an entry in its own transaction.
func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "shop-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := sqlitefile.Open(ctx, filepath.Join(dir, "outbox.db"))
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	service, err := messagingtest.Start() // stands for the service
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	o, err := outbox.New(store, service.Client())
	if err != nil {
		log.Fatal(err)
	}
	if _, err := o.Enqueue(ctx, outbox.Item{Key: "order-4711-shipped", Prepared: shipped(service)}); err != nil {
		log.Fatal(err)
	}
	delivered, err := o.DeliverDue(ctx, 100) // or o.Run, in the background
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("accepted:", delivered.Accepted)
	// Output: accepted: 1
}
