package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/postgres"
	"github.com/messaging-go/messaging/outbox/torture/internal/pgserver"
)

// store is a database with an outbox, for this process.
type store struct {
	server, url string
	pool        *pgxpool.Pool
	store       *postgres.Store
	outbox      *outbox.Outbox[pgx.Tx]
	rows        int // that were added by SQL
}

// newStore creates an outbox in a new schema of a server.
func newStore(ctx context.Context, server string, parameters ...string) (s *store, err error) {
	s = &store{server: server}
	if s.url, err = pgserver.NewSchema(ctx, server, parameters...); err != nil {
		return nil, err
	}
	if s.pool, err = pgxpool.New(ctx, s.url); err != nil {
		return nil, err
	}
	if err := postgres.Migrate(ctx, s.pool); err != nil {
		return nil, err
	}
	if s.store, err = postgres.New(ctx, s.pool); err != nil {
		return nil, err
	}
	client, err := new(nowhere).client()
	if err != nil {
		return nil, err
	}
	s.outbox, err = outbox.New(s.store, client)
	return s, err
}

// close removes the schema.
func (s *store) close() {
	s.pool.Close()
	_ = pgserver.DropSchema(context.Background(), s.server, s.url)
}

// request returns a request of the usual size.
func request(key string) *messaging.Prepared {
	p, err := messaging.EventTriggerParams{EventID: "0197c7f5-order-shipped", Email: "ada@example.com",
		Values: map[string]any{"key": key, "carrier": "post", "shipped_at": "2026-11-22 12:00:00"}}.Prepare()
	if err != nil {
		panic(err)
	}
	return p
}

// The rows that SQL adds are those that EnqueueAll and Run would leave, apart from their
// digests. Each pending row becomes due at another time. Both statements have the same
// parameters, so the last condition, which is always true, uses the body.
const (
	pendingRows = `INSERT INTO outbox_entry (key, digest, operation, body, sealed, urgent, not_before, due_since, created_at)
		SELECT 'order-' || lpad(n::text, 9, '0'), sha256(n::text::bytea), $3, $4, false, false, 'epoch', at, at
		FROM generate_series($1::bigint, $2::bigint) AS n, LATERAL (SELECT now() - interval '1 hour' + n * interval '100 us' AS at) AS t`
	acceptedRows = `INSERT INTO outbox_entry (key, digest, operation, sealed, urgent, state, token, attempts, not_before, due_since,
			claimed_at, settled_at, created_at, delivery)
		SELECT 'order-' || lpad(n::text, 9, '0'), sha256(n::text::bytea), $3, false, false, 2, decode(md5(n::text), 'hex'), 1,
			'epoch', at, at, at, at, 3
		FROM generate_series($1::bigint, $2::bigint) AS n, LATERAL (SELECT now() - interval '1 hour' + n * interval '100 us' AS at) AS t
		WHERE $4::bytea IS NOT NULL`
	atATime = 250_000
)

// add adds n rows, two statements at a time.
func (s *store) add(ctx context.Context, statement string, n int) error {
	p := request("order-0000000")
	last := s.rows + n
	limit := make(chan struct{}, 2)
	var group sync.WaitGroup
	var mu sync.Mutex
	var problem error
	for from := s.rows + 1; from <= last; from += atATime {
		limit <- struct{}{}
		group.Go(func() {
			_, err := s.pool.Exec(ctx, statement, from, min(from+atATime-1, last), p.Operation(), p.Body())
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				problem = fmt.Errorf("add rows: %w", err)
			}
			<-limit
		})
	}
	group.Wait()
	s.rows = last
	return problem
}

// addMany is add without the indexes, which are made again afterwards. That takes a third
// of the time.
func (s *store) addMany(ctx context.Context, statement string, n int) error {
	rows, err := s.pool.Query(ctx, `SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema()
		AND tablename = 'outbox_entry' AND indexdef NOT LIKE 'CREATE UNIQUE%'`)
	if err != nil {
		return err
	}
	type index struct{ Name, Definition string }
	indexes, err := pgx.CollectRows(rows, pgx.RowToStructByPos[index])
	if err != nil {
		return err
	}
	for _, i := range indexes {
		if _, err := s.pool.Exec(ctx, "DROP INDEX "+i.Name); err != nil {
			return err
		}
	}
	if err := s.add(ctx, statement, n); err != nil {
		return err
	}
	for _, i := range indexes {
		if _, err := s.pool.Exec(ctx, i.Definition); err != nil {
			return err
		}
	}
	return nil
}

// vacuum does what autovacuum does sooner or later.
func (s *store) vacuum(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, `VACUUM (ANALYZE) outbox_entry`)
	return err
}

// megabytes returns the size of the table, and that of its indexes.
func (s *store) megabytes(ctx context.Context) (heap, indexes int64, err error) {
	err = s.pool.QueryRow(ctx, `SELECT pg_table_size('outbox_entry') >> 20, pg_indexes_size('outbox_entry') >> 20`).Scan(&heap, &indexes)
	return heap, indexes, err
}
