package sidebyside

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/messaging-go/messaging"
)

// loop is an outbox as it is often written by hand: a row is locked, sent and marked in one
// transaction, which is held during the send.
type loop struct {
	pool   *pgxpool.Pool
	client *messaging.Client
}

func openLoop(ctx context.Context, database string, client *messaging.Client) (contender, error) {
	config, err := pgxpool.ParseConfig(database)
	if err != nil {
		return nil, err
	}
	config.MaxConns = max(config.MaxConns, inFlight) // each send holds one
	pool, err := pgxpool.NewWithConfig(ctx, config)
	return &loop{pool, client}, err
}

func (l *loop) create(ctx context.Context) error {
	return createOn(ctx, l.pool, createOrders, `CREATE TABLE message (
			id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
			key        text NOT NULL UNIQUE,
			operation  text NOT NULL,
			body       bytea NOT NULL,
			not_before timestamptz NOT NULL DEFAULT now(),
			sent_at    timestamptz
		)`, `CREATE INDEX ON message (id) WHERE sent_at IS NULL`)
}

const insertMessage = `INSERT INTO message (key, operation, body) VALUES ($1, $2, $3)`

func (l *loop) commit(ctx context.Context, key string) error {
	return order(ctx, l.pool, key, func(tx pgx.Tx) error {
		s := storedOf(key)
		_, err := tx.Exec(ctx, insertMessage, s.Key, s.Operation, s.Body)
		return err
	})
}

func (l *loop) fill(ctx context.Context, keys []string) error {
	for some := range slices.Chunk(keys, 1000) {
		var batch pgx.Batch
		for _, key := range some {
			s := storedOf(key)
			batch.Queue(insertMessage, s.Key, s.Operation, s.Body)
		}
		if err := l.pool.SendBatch(ctx, &batch).Close(); err != nil {
			return err
		}
	}
	return nil
}

func (l *loop) work(ctx context.Context) error {
	var group sync.WaitGroup
	for range inFlight {
		group.Go(func() {
			for ctx.Err() == nil {
				if err := l.next(ctx); err != nil {
					select {
					case <-ctx.Done():
					case <-time.After(100 * time.Millisecond):
					}
				}
			}
		})
	}
	group.Wait()
	return nil
}

// next sends one message.
func (l *loop) next(ctx context.Context) error {
	return pgx.BeginFunc(ctx, l.pool, func(tx pgx.Tx) error {
		var id int64
		var s stored
		err := tx.QueryRow(ctx, `SELECT id, key, operation, body FROM message WHERE sent_at IS NULL AND not_before <= now()
			ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED`).Scan(&id, &s.Key, &s.Operation, &s.Body)
		if err != nil {
			return err
		}
		if err := s.send(ctx, l.client); err != nil {
			_, put := tx.Exec(ctx, `UPDATE message SET not_before = now() + interval '1 second' WHERE id = $1`, id)
			return put
		}
		_, err = tx.Exec(ctx, `UPDATE message SET sent_at = now() WHERE id = $1`, id)
		return err
	})
}

func (l *loop) left(ctx context.Context) (n int, err error) {
	err = l.pool.QueryRow(ctx, `SELECT count(*) FROM message WHERE sent_at IS NULL`).Scan(&n)
	return n, err
}

// unknown returns none: the table does not know that an outcome is unknown.
func (l *loop) unknown(context.Context) (map[string]bool, error) { return nil, nil }

func (l *loop) close() { l.pool.Close() }
