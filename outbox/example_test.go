package outbox_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/sqlite"
)

// exampleOutbox returns an outbox in the database of a program, and a request.
func exampleOutbox(ctx context.Context) (service *messagingtest.Server, db *sql.DB, o *outbox.Outbox[outbox.SQLTx],
	p *messaging.Prepared, done func()) {
	service, err := messagingtest.Start()
	if err != nil {
		log.Fatal(err)
	}
	p, err = messaging.PushBroadcastParams{Subject: "Shipped", Message: "Order 4711 has shipped",
		To: messaging.ToCustomers(messaging.CustomerParams{Email: "ada@example.com"})}.Prepare()
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "outbox-")
	if err != nil {
		log.Fatal(err)
	}
	db, err = sql.Open("sqlite", filepath.Join(dir, "shop.db"))
	if err != nil {
		log.Fatal(err)
	}
	store, err := sqlite.New(ctx, db)
	if err != nil {
		log.Fatal(err)
	}
	o, err = outbox.New(store, service.Client())
	if err != nil {
		log.Fatal(err)
	}
	return service, db, o, p, func() {
		service.Close()
		_ = db.Close()
		_ = os.RemoveAll(dir)
	}
}

// The request is added in your own transaction. After the commit, Deliver sends it once,
// as Run does in the background.
func ExampleOutbox_EnqueueTx() {
	ctx := context.Background()
	service, db, o, p, done := exampleOutbox(ctx)
	defer done()

	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	// … ship the order, in tx
	entry, err := o.EnqueueTx(ctx, tx, outbox.Item{Key: "order-4711-shipped", Prepared: p})
	if err != nil {
		log.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(entry.Key, "is", entry.State)

	for range 2 {
		delivered, err := o.Deliver(ctx, "order-4711-shipped")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("accepted:", delivered.Accepted)
	}
	fmt.Println("the service has", len(service.PushBroadcasts()), "message")
	// Output:
	// order-4711-shipped is pending
	// accepted: 1
	// accepted: 1
	// the service has 1 message
}

// An entry whose response was lost is unclear. Find out whether it was carried out, then
// dismiss or resend it.
func ExampleOutbox_List() {
	ctx := context.Background()
	service, _, o, p, done := exampleOutbox(ctx)
	defer done()
	if _, err := o.Enqueue(ctx, outbox.Item{Key: "order-4711-shipped", Prepared: p}); err != nil {
		log.Fatal(err)
	}
	service.Fail("", 1, messagingtest.AnswerLost())
	if _, err := o.Deliver(ctx, "order-4711-shipped"); err != nil {
		log.Fatal(err)
	}

	for entry, err := range o.List(ctx, outbox.Filter{State: outbox.Unclear}) {
		if err != nil {
			log.Fatal(err)
		}
		p, err := o.Prepared(ctx, entry.Key)
		if err != nil {
			log.Fatal(err)
		}
		to, err := p.Recipients()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(entry.Key, "was for", to.Emails[0])
		for _, push := range service.PushBroadcasts() { // find out at the service
			fmt.Println("the service has it:", push.Params.Message)
		}
		decisions, err := o.Dismiss(ctx, entry.Key)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("dismissed:", decisions[0].Changed)
	}
	// Output:
	// order-4711-shipped was for ada@example.com
	// the service has it: Order 4711 has shipped
	// dismissed: true
}
