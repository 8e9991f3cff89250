package rates

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/messaging-go/messaging/outbox/torture/internal/pgserver"
	"github.com/messaging-go/messaging/outbox/torture/internal/worker"
)

// store is an outbox in Postgres, whose rows are added by SQL.
type store struct {
	*worker.Database
	name string
	rows int // that were added
}

// close removes the database.
func (s *store) close() {
	s.Database.Close()
	_ = pgserver.DropSchema(context.Background(), s.name)
}

// The rows that SQL adds are those that EnqueueAll and Run would leave, apart from their
// digests. Each pending row becomes due at another time. Both statements have the same
// parameters, so the last condition, which is always true, uses the body.
const (
	pendingRows = `INSERT INTO outbox_entry (key, digest, operation, body, sealed, priority, repeatable, lane, not_before,
			due_since, created_at)
		SELECT 'order-' || lpad(n::text, 9, '0'), sha256(n::text::bytea), $3, $4, false, 1, false, 1, 'epoch', at, at
		FROM generate_series($1::bigint, $2::bigint) AS n, LATERAL (SELECT now() - interval '1 hour' + n * interval '100 us' AS at) AS t`
	acceptedRows = `INSERT INTO outbox_entry (key, digest, operation, sealed, priority, repeatable, lane, state, token, attempts, not_before,
			due_since, claimed_at, settled_at, created_at, delivery)
		SELECT 'order-' || lpad(n::text, 9, '0'), sha256(n::text::bytea), $3, false, 1, false, 1, 2, decode(md5(n::text), 'hex'), 1,
			'epoch', at, at, at, at, 3
		FROM generate_series($1::bigint, $2::bigint) AS n, LATERAL (SELECT now() - interval '1 hour' + n * interval '100 us' AS at) AS t
		WHERE $4::bytea IS NOT NULL`
	atATime = 250_000
)

// add adds n rows, two statements at a time.
func (s *store) add(ctx context.Context, statement string, n int) error {
	p := worker.Request(worker.Key(0))
	last := s.rows + n
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(2)
	for from := s.rows + 1; from <= last; from += atATime {
		group.Go(func() error {
			_, err := s.Pool.Exec(ctx, statement, from, min(from+atATime-1, last), p.Operation(), p.Body())
			return err
		})
	}
	s.rows = last
	if err := group.Wait(); err != nil {
		return fmt.Errorf("add rows: %w", err)
	}
	return nil
}

// addMany is add without the indexes, which are made again afterwards. That takes a third
// of the time.
func (s *store) addMany(ctx context.Context, statement string, n int) error {
	rows, err := s.Pool.Query(ctx, `SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema()
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
		if _, err := s.Pool.Exec(ctx, "DROP INDEX "+i.Name); err != nil {
			return err
		}
	}
	if err := s.add(ctx, statement, n); err != nil {
		return err
	}
	for _, i := range indexes {
		if _, err := s.Pool.Exec(ctx, i.Definition); err != nil {
			return err
		}
	}
	return nil
}

// vacuum does what autovacuum does sooner or later.
func (s *store) vacuum(ctx context.Context) error {
	_, err := s.Pool.Exec(ctx, `VACUUM (ANALYZE) outbox_entry`)
	return err
}

// megabytes returns the size of the table, and that of its indexes.
func (s *store) megabytes(ctx context.Context) (heap, indexes int64, err error) {
	err = s.Pool.QueryRow(ctx, `SELECT pg_table_size('outbox_entry') >> 20, pg_indexes_size('outbox_entry') >> 20`).Scan(&heap, &indexes)
	return heap, indexes, err
}
