package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/postgres"
	"github.com/messaging-go/messaging/outbox/sqlite"
)

// Shop ships orders and notifies the customers.
type Shop struct {
	db      *sql.DB
	outbox  *outbox.Outbox[outbox.SQLTx]
	shipped string // the id of the event
}

// Order is an order that has shipped.
type Order struct{ Number, Email string }

// openShop opens the database of the shop: the path of a SQLite file, or the URL of a
// Postgres server.
func openShop(ctx context.Context, database string, client *messaging.Client, shipped string, opts ...outbox.Option) (*Shop, error) {
	var db *sql.DB
	var store outbox.Store[outbox.SQLTx]
	var err error
	if strings.HasPrefix(database, "postgres") {
		if db, err = sql.Open("pgx", database); err != nil {
			return nil, err
		}
		if err := postgres.Migrate(ctx, db); err != nil {
			return nil, err
		}
		store, err = postgres.NewSQL(ctx, db)
	} else {
		if db, err = sql.Open("sqlite", database+"?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=busy_timeout(10000)"); err != nil {
			return nil, err
		}
		store, err = sqlite.New(ctx, db)
	}
	if err != nil {
		return nil, err
	}
	if _, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS shop_orders (number text PRIMARY KEY, email text)`); err != nil {
		return nil, err
	}
	o, err := outbox.New(store, client, opts...)
	if err != nil {
		return nil, err
	}
	return &Shop{db: db, outbox: o, shipped: shipped}, nil
}

// Close closes the database.
func (s *Shop) Close() error { return s.db.Close() }

// Ship records an order together with the notification of its customer, in one
// transaction: either both are recorded or neither.
func (s *Shop) Ship(ctx context.Context, order Order) error {
	notification, err := messaging.EventTriggerParams{
		EventID: s.shipped,
		Email:   order.Email,
		Values:  map[string]any{"order": order.Number},
	}.Prepare()
	if err != nil {
		return err
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	if _, err := s.outbox.EnqueueTx(ctx, tx, outbox.Item{Key: keyOf(order), Prepared: notification}); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO shop_orders (number, email) VALUES ($1, $2)`, order.Number, order.Email); err != nil {
		return fmt.Errorf("order %s: %w", order.Number, err)
	}
	return tx.Commit()
}

// keyOf names what must not happen twice.
func keyOf(order Order) string { return "shipped-" + order.Number }
