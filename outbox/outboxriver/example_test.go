package outboxriver_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/internal/pgtest"
	"github.com/messaging-go/messaging/outbox/outboxriver"
	"github.com/messaging-go/messaging/outbox/postgres"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// migrate creates the tables of the outbox and of River, once, when you deploy.
func migrate(ctx context.Context, pool *pgxpool.Pool) error {
	if err := postgres.Migrate(ctx, pool); err != nil {
		return err
	}
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	if err != nil {
		return err
	}
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}

// EnqueueTx adds the entry and a job of River in your transaction. The worker of the job sends
// the entry.
func Example() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	if err := migrate(ctx, pool); err != nil {
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
	settled := make(chan outbox.Entry, 1)
	o, err := outbox.New(store, service.Client(), outbox.WithOnSettled(func(_ context.Context, e outbox.Entry) { settled <- e }))
	if err != nil {
		log.Fatal(err)
	}
	config := &river.Config{Logger: slog.New(slog.DiscardHandler)} // with your own workers and queues
	outboxriver.Register(config, o)
	jobs, err := river.NewClient(riverpgxv5.New(pool), config)
	if err != nil {
		log.Fatal(err)
	}
	if err := jobs.Start(ctx); err != nil {
		log.Fatal(err)
	}
	p, err := messaging.PushBroadcastParams{Subject: "Shipped", Message: "Order 4711 has shipped",
		To: messaging.ToCustomers(messaging.CustomerParams{Email: "ada@example.com"})}.Prepare()
	if err != nil {
		log.Fatal(err)
	}
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		// … ship the order, in tx
		_, err := outboxriver.EnqueueTx(ctx, jobs, o, tx, outbox.Item{Key: "order-4711-shipped", Prepared: p})
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	entry := <-settled
	if err := jobs.Stop(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(entry.Key, "is", entry.State)
	// Output: order-4711-shipped is accepted
}
