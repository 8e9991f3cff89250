package postgres_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/internal/pgtest"
	"github.com/messaging-go/messaging/outbox/postgres"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// shipped is a request to the service.
func shipped() *messaging.Prepared {
	p, err := messaging.PushBroadcastParams{Subject: "Shipped", Message: "Order 4711 has shipped",
		To: messaging.ToCustomers(messaging.CustomerParams{Email: "ada@example.com"})}.Prepare()
	if err != nil {
		log.Fatal(err)
	}
	return p
}

// With pgx, an entry is added in a pgx.Tx.
func ExampleNew() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	if err := postgres.Migrate(ctx, pool); err != nil { // once, when you deploy
		log.Fatal(err)
	}
	store, err := postgres.New(ctx, pool)
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
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		// … ship the order, in tx
		_, err := o.EnqueueTx(ctx, tx, outbox.Item{Key: "order-4711-shipped", Prepared: shipped()})
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	delivered, err := o.DeliverDue(ctx, 100) // or o.Run, in the background
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("accepted:", delivered.Accepted)
	// Output: accepted: 1
}

// With database/sql, an entry is added in a *sql.Tx. The driver is that of pgx here; any other
// one for Postgres works.
func ExampleNewSQL() {
	ctx := context.Background()
	db, err := sql.Open("pgx", os.Getenv("DATABASE_URL")) // import _ "github.com/jackc/pgx/v5/stdlib"
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if err := postgres.Migrate(ctx, db); err != nil { // once, when you deploy
		log.Fatal(err)
	}
	store, err := postgres.NewSQL(ctx, db)
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
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	// … ship the order, in tx
	entry, err := o.EnqueueTx(ctx, tx, outbox.Item{Key: "order-4712-shipped", Prepared: shipped()})
	if err != nil {
		log.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(entry.Key, "is", entry.State) // until o.Run or o.DeliverDue sends it
	// Output: order-4712-shipped is pending
}
