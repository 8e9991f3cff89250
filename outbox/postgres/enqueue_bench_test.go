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

// BenchmarkEnqueueTx compares transactions with EnqueueTx, over 48 connections, with those
// that insert the same bytes into a table with a primary key, a unique index and a partial
// one. It reports the median of five rounds.
func BenchmarkEnqueueTx(b *testing.B) {
	const connections, rounds = 48, 5
	config, err := pgxpool.ParseConfig(pgtest.URL(b))
	require.NoError(b, err)
	config.MaxConns = connections
	pool, err := pgxpool.NewWithConfig(b.Context(), config)
	require.NoError(b, err)
	defer pool.Close()
	require.NoError(b, postgres.Migrate(b.Context(), pool))
	_, err = pool.Exec(b.Context(), `CREATE TABLE plain (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key text NOT NULL UNIQUE,
		state smallint NOT NULL DEFAULT 0, body bytea NOT NULL); CREATE INDEX ON plain (id) WHERE state = 0`)
	require.NoError(b, err)
	store, err := postgres.New(b.Context(), pool)
	require.NoError(b, err)
	o, err := outbox.New(store, messagingtest.NewServer(b).Client())
	require.NoError(b, err)
	prepared, err := messaging.PushBroadcastParams{Subject: "Reminder", Message: strings.Repeat("Doors open at eight. ", 20),
		To: messaging.ToCustomers(messaging.CustomerParams{Email: "ada@example.com"})}.Prepare()
	require.NoError(b, err)

	var number atomic.Int64
	rate := func(insert func(ctx context.Context, tx pgx.Tx, key string) error) float64 {
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
	var ratios []float64
	for range rounds {
		plain := rate(func(ctx context.Context, tx pgx.Tx, key string) error {
			_, err := tx.Exec(ctx, `INSERT INTO plain (key, body) VALUES ($1, $2)`, key, prepared.Body())
			return err
		})
		enqueued := rate(func(ctx context.Context, tx pgx.Tx, key string) error {
			_, err := o.EnqueueTx(ctx, tx, key, prepared)
			return err
		})
		ratios = append(ratios, enqueued/plain)
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[rounds/2], "of-plain-INSERT")
	b.ReportMetric(0, "ns/op")
}
