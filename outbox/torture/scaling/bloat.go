package main

import (
	"context"
	"fmt"
	"time"
)

// keep is how long accepted entries are kept, so that they are deleted during the
// measurement, as they are after 7 days.
const keep = 20 * time.Second

// bloat measures how a table grows that is in use: entries are added and delivered, and
// deleted later, with autovacuum as it comes.
func (l *lab) bloat(ctx context.Context) (table, error) {
	t := table{{"deliveries so far", "deliveries/s", "rows", "dead rows", "table", "indexes", "Counts", "autovacuums"}}
	s, err := newStore(ctx, l.server)
	if err != nil {
		return nil, err
	}
	defer s.close()
	c, err := hire(1, task{Databases: []string{s.url}, InFlight: 64, KeepSettled: keep})
	if err != nil {
		return nil, err
	}
	defer c.fire()
	const steps = 8
	const longest = 9 * time.Minute // on a machine that is busy with something else
	began, start, before := time.Now(), time.Now(), int64(0)
	for i := range steps {
		goal := int64(l.deliveries) * int64(i+1) / steps
		for c.total() < goal {
			if err := s.refill(ctx, c); err != nil {
				return nil, err
			}
			if time.Since(began) > longest {
				return t, nil
			}
		}
		rate := float64(c.total()-before) / time.Since(start).Seconds()
		row, err := s.growth(ctx)
		if err != nil {
			return nil, err
		}
		t = append(t, append([]string{fmt.Sprint(goal), whole(rate)}, row...))
		start, before = time.Now(), c.total()
	}
	return t, nil
}

// refill keeps some 20,000 entries pending.
func (s *store) refill(ctx context.Context, c *crew) error {
	const batch = 10_000
	if int64(s.rows)-c.total() > batch {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
			return nil
		}
	}
	return s.add(ctx, pendingRows, batch)
}

// growth returns the columns of bloat that the database knows.
func (s *store) growth(ctx context.Context) ([]string, error) {
	heap, indexes, err := s.megabytes(ctx)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	if _, err := s.outbox.Counts(ctx); err != nil {
		return nil, err
	}
	counted := time.Since(start)
	var live, dead, vacuums int64
	err = s.pool.QueryRow(ctx, `SELECT n_live_tup, n_dead_tup, autovacuum_count FROM pg_stat_user_tables WHERE relname = 'outbox_entry'
		AND schemaname = current_schema()`).Scan(&live, &dead, &vacuums)
	return []string{fmt.Sprint(live), fmt.Sprint(dead), fmt.Sprintf("%d MB", heap), fmt.Sprintf("%d MB", indexes), milliseconds(counted),
		fmt.Sprint(vacuums)}, err
}
