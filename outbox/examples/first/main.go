// First is the program of the README: it enqueues one request and delivers it.
package main

import (
	"context"
	"database/sql"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	_ "modernc.org/sqlite"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/sqlite"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	client, err := messaging.NewClient(os.Getenv("MESSAGING_BASE_URL"), os.Getenv("MESSAGING_API_KEY"))
	if err != nil {
		log.Fatal(err)
	}
	db, err := sql.Open("sqlite", "shop.db?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=busy_timeout(10000)")
	if err != nil {
		log.Fatal(err)
	}
	store, err := sqlite.New(ctx, db)
	if err != nil {
		log.Fatal(err)
	}
	o, err := outbox.New(store, client, outbox.WithLogger(slog.Default()), outbox.WithOnSettled(settled))
	if err != nil {
		log.Fatal(err)
	}
	shipped := time.Date(2026, time.December, 1, 9, 0, 0, 0, time.UTC)
	if err := ship(ctx, db, o, "4711", "ada@example.com", shipped); err != nil {
		log.Fatal(err)
	}
	if err := o.Run(ctx); err != nil { // runs until interrupted
		log.Fatal(err)
	}
}

// ship records an order and its customer notification in one transaction.
func ship(ctx context.Context, db *sql.DB, o *outbox.Outbox[outbox.SQLTx], order, email string, shipped time.Time) error {
	p, err := messaging.EventTriggerParams{
		EventID: os.Getenv("MESSAGING_EVENT_ID"),
		Email:   email,
		Values:  map[string]any{"order": order, "shipped_at": shipped},
	}.Prepare()
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after Commit
	// … the change itself, in tx
	if _, err := o.EnqueueTx(ctx, tx, outbox.Item{Key: "order-" + order + "-shipped", Prepared: p}); err != nil {
		return err
	}
	return tx.Commit()
}

// settled logs what became of an entry: accepted, rejected or unclear. Counts has those of a killed process too.
func settled(_ context.Context, e outbox.Entry) { slog.Info("settled", "entry", e) }
