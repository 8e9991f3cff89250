package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// sizes measures larger and larger tables: first of accepted entries that are kept, then of
// a backlog.
func (l *lab) sizes(ctx context.Context) (table, error) {
	t := table{{"accepted entries", "pending entries", "table and indexes", "claim of 64, p50 and p99", "EnqueueTx with commit, p50",
		"Counts", "deliveries/s"}}
	for _, kind := range []struct {
		statement string
		steps     []int
	}{{acceptedRows, []int{0, l.large / 10, l.large}}, {pendingRows, []int{l.large / 10, l.large}}} {
		s, err := newStore(ctx, l.server)
		if err != nil {
			return nil, err
		}
		added := 0
		for _, step := range kind.steps {
			if err := s.addMany(ctx, kind.statement, step-added); err != nil {
				return nil, err
			}
			added = step
			if err := s.add(ctx, pendingRows, l.enough(25_000)); err != nil { // what the measurement uses up
				return nil, err
			}
			row, err := l.size(ctx, s)
			if err != nil {
				return nil, err
			}
			t = append(t, row)
		}
		s.close()
	}
	return t, nil
}

// size measures one table.
func (l *lab) size(ctx context.Context, s *store) ([]string, error) {
	if err := s.vacuum(ctx); err != nil {
		return nil, err
	}
	heap, indexes, err := s.megabytes(ctx)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	counts, err := s.outbox.Counts(ctx)
	if err != nil {
		return nil, err
	}
	counted := time.Since(start)
	claims, err := times(100, func(int) error { return s.claim(ctx) })
	if err != nil {
		return nil, err
	}
	enqueues, err := times(100, func(i int) error {
		return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
			key := fmt.Sprintf("new-%d-%d", s.rows, i)
			_, err := s.outbox.EnqueueTx(ctx, tx, outbox.Item{Key: key, Prepared: request(key)})
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	rate, err := l.rate(1, task{Databases: []string{s.url}, InFlight: 64})
	return []string{fmt.Sprint(counts.Accepted), fmt.Sprint(counts.Pending), fmt.Sprintf("%d + %d MB", heap, indexes),
		fmt.Sprintf("%s, %s", milliseconds(claims[49]), milliseconds(claims[98])), milliseconds(enqueues[49]), milliseconds(counted),
		whole(rate)}, err
}

// claim claims entries.
func (s *store) claim(ctx context.Context) error {
	var token ledger.Token
	_, _ = rand.Read(token[:])
	claimed, err := s.store.Ledger().Claim(ctx, ledger.Claim{Token: token, Lease: time.Minute, Limit: 64,
		Look: ledger.Look{Class: ledger.Class{Operation: request("").Operation(), Lane: ledger.Normal}}, MaxBytes: 64 << 20})
	if err == nil && len(claimed) != 64 {
		err = fmt.Errorf("claimed %d entries instead of 64", len(claimed))
	}
	return err
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
