package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // or any other driver

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/sqlite"
)

// An entry is added in a transaction of the database of your program.
func ExampleNew() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "shop-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	db, err := sql.Open("sqlite", filepath.Join(dir, "shop.db")+
		"?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=busy_timeout(10000)")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	store, err := sqlite.New(ctx, db)
	if err != nil {
		log.Fatal(err)
	}
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
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	// … ship the order, in tx
	if _, err := o.EnqueueTx(ctx, tx, outbox.Item{Key: "order-4711-shipped", Prepared: p}); err != nil {
		log.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		log.Fatal(err)
	}
	delivered, err := o.DeliverDue(ctx, 100) // or o.Run, in the background
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("accepted:", delivered.Accepted)
	// Output: accepted: 1
}
