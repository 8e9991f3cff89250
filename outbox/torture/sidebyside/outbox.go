package sidebyside

import (
	"context"
	"database/sql"
	"time"

	"github.com/jackc/pgx/v5"
	_ "modernc.org/sqlite"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/torture/internal/worker"
)

// ours is this outbox on one of its databases.
type ours struct {
	*worker.Database
	own *sql.DB // for the transactions on SQLite, or nil
}

func openOurs(ctx context.Context, database string, client *messaging.Client) (contender, error) {
	db, err := worker.Open(ctx, database, client, outbox.WithInFlight(inFlight), outbox.WithSendTimeout(2*time.Second))
	if err != nil {
		return nil, err
	}
	o := &ours{Database: db}
	if db.SQLite != nil {
		o.own, err = sql.Open("sqlite", "file:"+database+"?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=busy_timeout(30000)")
	}
	return o, err
}

// create also makes the callers share a connection, because SQLite has one writer.
func (o *ours) create(ctx context.Context) error {
	if o.own == nil {
		return createOn(ctx, o.Pool, createOrders)
	}
	o.own.SetMaxOpenConns(1)
	_, err := o.own.ExecContext(ctx, createOrders)
	return err
}

func (o *ours) commit(ctx context.Context, key string) error {
	if o.own == nil {
		return order(ctx, o.Pool, key, func(tx pgx.Tx) error {
			_, err := o.Postgres.EnqueueTx(ctx, tx, worker.ItemOf(key))
			return err
		})
	}
	tx, err := o.own.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, `INSERT INTO orders VALUES (?, 4711)`, key); err != nil {
		return err
	}
	if _, err := o.SQLite.EnqueueTx(ctx, tx, worker.ItemOf(key)); err != nil {
		return err
	}
	return tx.Commit()
}

func (o *ours) fill(ctx context.Context, keys []string) error {
	_, err := o.EnqueueAll(ctx, worker.Items(len(keys)))
	return err
}

func (o *ours) work(ctx context.Context) error { return o.Run(ctx) }

func (o *ours) left(ctx context.Context) (int, error) {
	counts, err := o.Counts(ctx)
	return counts.Pending + counts.Sending, err
}

func (o *ours) unknown(ctx context.Context) (map[string]bool, error) {
	keys := make(map[string]bool)
	for entry, err := range o.List(ctx, outbox.Filter{State: outbox.Unclear}) {
		if err != nil {
			return nil, err
		}
		keys[entry.Key] = true
	}
	return keys, nil
}

func (o *ours) close() {
	if o.own != nil {
		_ = o.own.Close()
	}
	o.Close()
}
