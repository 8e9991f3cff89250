package pgtest

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// connections is how many a comparison uses at a time.
const connections = 48

// InsertFunc adds something under a key, in a transaction.
type InsertFunc func(ctx context.Context, tx pgx.Tx, key string) error

// WidePool returns a pool of 48 connections to a new schema.
func WidePool(b *testing.B) *pgxpool.Pool {
	b.Helper()
	config, err := pgxpool.ParseConfig(URL(b))
	if err != nil {
		b.Fatal(err)
	}
	config.MaxConns = connections
	pool, err := pgxpool.NewWithConfig(b.Context(), config)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(pool.Close)
	return pool
}

// CompareInserts compares transactions with insert, over 48 connections, with those that
// insert body into a table with a primary key, a unique index and a partial one, and then
// call beside. It reports the median of five rounds.
func CompareInserts(b *testing.B, pool *pgxpool.Pool, body []byte, beside, insert InsertFunc) {
	b.Helper()
	_, err := pool.Exec(b.Context(), `CREATE TABLE plain (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key text NOT NULL UNIQUE,
		state smallint NOT NULL DEFAULT 0, body bytea NOT NULL); CREATE INDEX ON plain (id) WHERE state = 0`)
	if err != nil {
		b.Fatal(err)
	}
	plain := func(ctx context.Context, tx pgx.Tx, key string) error {
		if _, err := tx.Exec(ctx, `INSERT INTO plain (key, body) VALUES ($1, $2)`, key, body); err != nil {
			return err
		}
		return beside(ctx, tx, key)
	}
	const rounds = 5
	var number atomic.Int64
	var ratios []float64
	for range rounds {
		base := rate(b, pool, &number, plain)
		ratios = append(ratios, rate(b, pool, &number, insert)/base)
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[rounds/2], "of-plain-INSERT")
	b.ReportMetric(0, "ns/op")
}

// rate returns how many transactions a second insert something.
func rate(b *testing.B, pool *pgxpool.Pool, number *atomic.Int64, insert InsertFunc) float64 {
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
