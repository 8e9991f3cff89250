package postgres_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/internal/pgtest"
	"github.com/messaging-go/messaging/outbox/postgres"
)

// connections is how many BenchmarkEnqueueTx uses at a time.
const connections = 48

// BenchmarkEnqueueTx compares EnqueueTx with an INSERT of the same bytes into a table with a
// primary key, a unique index and a partial one. It reports the median of five rounds.
func BenchmarkEnqueueTx(b *testing.B) {
	config, err := pgxpool.ParseConfig(pgtest.URL(b))
	require.NoError(b, err)
	config.MaxConns = connections
	pool, err := pgxpool.NewWithConfig(b.Context(), config)
	require.NoError(b, err)
	b.Cleanup(pool.Close)
	require.NoError(b, postgres.Migrate(b.Context(), pool))
	store, err := postgres.New(b.Context(), pool)
	require.NoError(b, err)
	o, err := outbox.New(store, messagingtest.NewServer(b).Client())
	require.NoError(b, err)
	prepared, err := messaging.PushBroadcastParams{Subject: "Reminder", Message: strings.Repeat("Doors open at eight. ", 20),
		To: messaging.ToCustomers(messaging.CustomerParams{Email: "ada@example.com"})}.Prepare()
	require.NoError(b, err)
	_, err = pool.Exec(b.Context(), `CREATE TABLE plain (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key text NOT NULL UNIQUE,
		state smallint NOT NULL DEFAULT 0, body bytea NOT NULL); CREATE INDEX ON plain (id) WHERE state = 0`)
	require.NoError(b, err)
	body := prepared.Body()
	plain := func(ctx context.Context, tx pgx.Tx, key string) error {
		_, err := tx.Exec(ctx, `INSERT INTO plain (key, body) VALUES ($1, $2)`, key, body)
		return err
	}
	enqueue := func(ctx context.Context, tx pgx.Tx, key string) error {
		_, err := o.EnqueueTx(ctx, tx, outbox.Item{Key: key, Prepared: prepared})
		return err
	}
	const rounds = 5
	var number atomic.Int64
	var ratios []float64
	for range rounds {
		base := rate(b, pool, &number, plain)
		ratios = append(ratios, rate(b, pool, &number, enqueue)/base)
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[rounds/2], "of-plain-INSERT")
	b.ReportMetric(0, "ns/op")
}

// rate returns how many transactions a second insert something.
func rate(b *testing.B, pool *pgxpool.Pool, number *atomic.Int64, insert func(context.Context, pgx.Tx, string) error) float64 {
	var all sync.WaitGroup
	began, left := time.Now(), atomic.Int64{}
	left.Store(int64(b.N))
	for range connections {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				key := strconv.FormatInt(number.Add(1), 10)
				if err := pgx.BeginFunc(b.Context(), pool, func(tx pgx.Tx) error { return insert(b.Context(), tx, key) }); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
	return float64(b.N) / time.Since(began).Seconds()
}
