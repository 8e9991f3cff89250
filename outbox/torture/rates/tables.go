package rates

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/internal/ledger"
	"github.com/messaging-go/messaging/outbox/torture/internal/report"
	"github.com/messaging-go/messaging/outbox/torture/internal/worker"
)

// claims is how many claims are measured, of batch entries each.
const claims, batch = 1000, 64

// sizes measures larger and larger tables: first of accepted entries that are kept, then of
// a backlog.
func (l Lab) sizes(ctx context.Context) (rows []report.Row, err error) {
	for _, kind := range []struct {
		statement string
		steps     []int
	}{{acceptedRows, []int{0, l.Entries / 10, l.Entries}}, {pendingRows, []int{l.Entries / 10, l.Entries}}} {
		s, err := l.newStore(ctx)
		if err != nil {
			return nil, err
		}
		defer s.close()
		added := 0
		for _, step := range kind.steps {
			if err := s.addMany(ctx, kind.statement, step-added); err != nil {
				return nil, err
			}
			added = step
			if err := s.add(ctx, pendingRows, batch*claims+l.enough(25_000)); err != nil { // what the measurement uses up
				return nil, err
			}
			row, err := l.size(ctx, s)
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// size measures one table.
func (l Lab) size(ctx context.Context, s *store) (row report.Row, err error) {
	if err := s.vacuum(ctx); err != nil {
		return row, err
	}
	heap, indexes, err := s.megabytes(ctx)
	if err != nil {
		return row, err
	}
	var counts outbox.Counts
	counted, err := times(1, func(int) (err error) {
		counts, err = s.Counts(ctx)
		return err
	})
	if err != nil {
		return row, err
	}
	var after ledger.Position
	claimed, err := percentiles(func(int) (err error) {
		after, err = s.claim(ctx, after)
		return err
	})
	if err != nil {
		return row, err
	}
	updated, err := s.updates(ctx)
	if err != nil {
		return row, err
	}
	enqueues, err := times(100, func(i int) error {
		return pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error {
			_, err := s.Postgres.EnqueueTx(ctx, tx, worker.ItemOf(fmt.Sprintf("new-%d-%d", s.rows, i)))
			return err
		})
	})
	if err != nil {
		return row, err
	}
	rate, err := l.rateOf(ctx, 1, worker.Task{Database: s.name, InFlight: 64})
	return report.Row{Cells: []string{fmt.Sprint(counts.Accepted), fmt.Sprint(counts.Pending), fmt.Sprintf("%d + %d MB", heap, indexes),
		claimed, updated, milliseconds(enqueues[49]), milliseconds(counted[0]), fmt.Sprintf("%.0f", rate)}}, err
}

// claim claims the entries after a position, as Run does, and returns the last position.
func (s *store) claim(ctx context.Context, after ledger.Position) (ledger.Position, error) {
	var token ledger.Token
	_, _ = rand.Read(token[:])
	claimed, err := s.Ledger.Claim(ctx, ledger.Claim{Token: token, Lease: time.Minute, Limit: batch, MaxBytes: 64 << 20,
		Look: ledger.Look{Class: ledger.Class{Operation: worker.Request("").Operation(), Lane: ledger.Normal}, After: after}})
	if err == nil && len(claimed) != batch {
		err = fmt.Errorf("claimed %d entries instead of %d", len(claimed), batch)
	}
	for _, c := range claimed {
		if after.Before(c.Position) {
			after = c.Position
		}
	}
	return after, err
}

// updates measures what no claim can do without: it updates as many rows by their ids, in a
// table of its own with an index of the rows to come.
func (s *store) updates(ctx context.Context) (string, error) {
	for _, statement := range []string{
		`DROP TABLE IF EXISTS plain`,
		`CREATE TABLE plain (id int PRIMARY KEY, state smallint NOT NULL, token bytea, claimed_at timestamptz, body bytea NOT NULL)`,
		`CREATE INDEX ON plain (id) WHERE state = 0`,
		fmt.Sprintf(`INSERT INTO plain SELECT n, 0, NULL, NULL, repeat('x', 200)::bytea FROM generate_series(0, %d) AS n`, claims*batch-1),
		`VACUUM (ANALYZE) plain`,
	} {
		if _, err := s.Pool.Exec(ctx, statement); err != nil {
			return "", fmt.Errorf("measure a plain update: %w", err)
		}
	}
	return percentiles(func(i int) error {
		_, err := s.Pool.Exec(ctx, `UPDATE plain SET state = 1, token = $1, claimed_at = now() WHERE id >= $2 AND id < $3`,
			make([]byte, 16), i*batch, (i+1)*batch)
		return err
	})
}

// percentiles returns the median and the 99th percentile of how long that many claims take,
// without the first, which connects and plans the statement.
func percentiles(claim func(i int) error) (string, error) {
	if err := claim(0); err != nil {
		return "", err
	}
	took, err := times(claims-1, func(i int) error { return claim(i + 1) })
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, %s", milliseconds(took[claims/2]), milliseconds(took[claims*99/100])), nil
}

// times returns how long n calls took, in order.
func times(n int, do func(i int) error) ([]time.Duration, error) {
	took := make([]time.Duration, n)
	for i := range took {
		start := time.Now()
		if err := do(i); err != nil {
			return nil, err
		}
		took[i] = time.Since(start)
	}
	slices.Sort(took)
	return took, nil
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}

// keep is how long accepted entries are kept, so that they are deleted during the
// measurement, as they are after 7 days.
const keep = 20 * time.Second

// bloat measures how a table grows that is in use: entries are added and delivered, and
// deleted later, with autovacuum as it comes.
func (l Lab) bloat(ctx context.Context) (rows []report.Row, err error) {
	s, err := l.newStore(ctx)
	if err != nil {
		return nil, err
	}
	defer s.close()
	c, err := hire(1, worker.Task{Database: s.name, InFlight: 64, KeepSettled: keep})
	if err != nil {
		return nil, err
	}
	defer c.fire()
	const steps = 8
	start, before := time.Now(), 0
	for i := range steps {
		goal := l.Deliveries * (i + 1) / steps
		for c.total() < goal {
			if err := s.refill(ctx, c); err != nil {
				return nil, err
			}
		}
		rate := float64(c.total()-before) / time.Since(start).Seconds()
		cells, err := s.growth(ctx)
		if err != nil {
			return nil, err
		}
		rows = append(rows, report.Row{Cells: append([]string{fmt.Sprint(goal), fmt.Sprintf("%.0f", rate)}, cells...)})
		start, before = time.Now(), c.total()
	}
	return rows, nil
}

// refill keeps some 20,000 entries pending.
func (s *store) refill(ctx context.Context, c *crew) error {
	const refilled = 10_000
	if s.rows-c.total() > refilled {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
			return nil
		}
	}
	return s.add(ctx, pendingRows, refilled)
}

// growth returns the columns of bloat that the database knows.
func (s *store) growth(ctx context.Context) ([]string, error) {
	heap, indexes, err := s.megabytes(ctx)
	if err != nil {
		return nil, err
	}
	counted, err := times(1, func(int) error {
		_, err := s.Counts(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	var live, dead, vacuums int64
	err = s.Pool.QueryRow(ctx, `SELECT n_live_tup, n_dead_tup, autovacuum_count FROM pg_stat_user_tables WHERE relname = 'outbox_entry'
		AND schemaname = current_schema()`).Scan(&live, &dead, &vacuums)
	return []string{fmt.Sprint(live), fmt.Sprint(dead), fmt.Sprintf("%d MB", heap), fmt.Sprintf("%d MB", indexes), milliseconds(counted[0]),
		fmt.Sprint(vacuums)}, err
}
