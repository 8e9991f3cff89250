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
	p, err := messaging.PushBroadcastParams{Subject: "Shipped", Message: "Order 4711 has shipped",
		To: messaging.ToCustomers(messaging.CustomerParams{Email: "ada@example.com"})}.Prepare()
	if err != nil {
		log.Fatal(err)
	}
	if _, err := o.Enqueue(ctx, outbox.Item{Key: "order-4711-shipped", Prepared: p}); err != nil {
		log.Fatal(err)
	}
	delivered, err := o.DeliverDue(ctx, 100) // or o.Run, in the background
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("accepted:", delivered.Accepted)
	// Output: accepted: 1
}
