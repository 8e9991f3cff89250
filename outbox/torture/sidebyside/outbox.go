package main

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "modernc.org/sqlite"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/postgres"
	"github.com/messaging-go/messaging/outbox/sqlite"
)

// box is this outbox on a database.
type box[Tx any] struct {
	store    outbox.Store[Tx]
	inFlight int
	*outbox.Outbox[Tx]
}

const sendTimeout = 2 * time.Second

// open makes an outbox. A client that sends nowhere is enough to enqueue.
func (b *box[Tx]) open(client *messaging.Client) (err error) {
	if client == nil {
		if client, err = messaging.NewClient("https://nowhere.test", "test-key-1"); err != nil {
			return err
		}
	}
	b.Outbox, err = outbox.New(b.store, client, outbox.WithInFlight(b.inFlight), outbox.WithSendTimeout(sendTimeout))
	return err
}

func (b *box[Tx]) fill(ctx context.Context, keys []string) error {
	_, _, err := b.EnqueueAll(ctx, func(yield func(outbox.Item, error) bool) {
		for _, key := range keys {
			if !yield(outbox.Item{Key: key, Prepared: request(key)}, nil) {
				return
			}
		}
	})
	return err
}

func (b *box[Tx]) work(ctx context.Context, client *messaging.Client) error {
	if err := b.open(client); err != nil {
		return err
	}
	return b.Run(ctx)
}

func (b *box[Tx]) left(ctx context.Context) (int, error) {
	counts, err := b.Counts(ctx)
	return counts.Pending + counts.Sending, err
}

func (b *box[Tx]) unknown(ctx context.Context) (map[string]bool, error) {
	keys := make(map[string]bool)
	for entry, err := range b.List(ctx, outbox.Filter{State: outbox.Unclear}) {
		if err != nil {
			return nil, err
		}
		keys[entry.Key] = true
	}
	return keys, nil
}

// onSQLite is this outbox in the SQLite database of a program.
type onSQLite struct {
	box[outbox.SQLTx]
	db *sql.DB
}

func openSQLite(ctx context.Context, database string, inFlight int) (contender, error) {
	db, err := sql.Open("sqlite", "file:"+database+"?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=busy_timeout(30000)")
	if err != nil {
		return nil, err
	}
	store, err := sqlite.New(ctx, db)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	o := &onSQLite{box[outbox.SQLTx]{store: store, inFlight: inFlight}, db}
	return o, o.box.open(nil)
}

// create also makes the callers share a connection, because SQLite has one writer.
func (o *onSQLite) create(ctx context.Context) error {
	o.db.SetMaxOpenConns(1)
	_, err := o.db.ExecContext(ctx, createOrders)
	return err
}

func (o *onSQLite) commit(ctx context.Context, key string) error {
	tx, err := o.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, `INSERT INTO orders VALUES (?, 4711)`, key); err != nil {
		return err
	}
	if _, err := o.EnqueueTx(ctx, tx, outbox.Item{Key: key, Prepared: request(key)}); err != nil {
		return err
	}
	return tx.Commit()
}

func (o *onSQLite) close() { _ = o.db.Close() }

// onPostgres is this outbox on Postgres.
type onPostgres struct {
	box[pgx.Tx]
	pool *pgxpool.Pool
}

func openPostgres(ctx context.Context, database string, inFlight int) (contender, error) {
	pool, err := pgxpool.New(ctx, database)
	if err != nil {
		return nil, err
	}
	o := &onPostgres{box[pgx.Tx]{inFlight: inFlight}, pool}
	if err := postgres.Migrate(ctx, pool); err != nil {
		return nil, err
	}
	if o.store, err = postgres.New(ctx, pool); err != nil {
		return nil, err
	}
	return o, o.box.open(nil)
}

func (o *onPostgres) create(ctx context.Context) error { return createOn(ctx, o.pool, createOrders) }

func (o *onPostgres) commit(ctx context.Context, key string) error {
	return order(ctx, o.pool, key, func(tx pgx.Tx) error {
		_, err := o.EnqueueTx(ctx, tx, outbox.Item{Key: key, Prepared: request(key)})
		return err
	})
}

func (o *onPostgres) close() { o.pool.Close() }

func createOn(ctx context.Context, pool *pgxpool.Pool, statements ...string) error {
	for _, statement := range statements {
		if _, err := pool.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// order makes a change and enqueues its request, in one transaction.
func order(ctx context.Context, pool *pgxpool.Pool, key string, enqueue func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `INSERT INTO orders VALUES ($1, 4711)`, key); err != nil {
			return err
		}
		return enqueue(tx)
	})
}
