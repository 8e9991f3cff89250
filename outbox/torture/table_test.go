package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
	"github.com/messaging-go/messaging/outbox/torture/internal/worker"
)

// table is an outbox in Postgres whose entries are added by SQL.
type table struct {
	*worker.Database
	name  string
	added int
	after ledger.Position // of the last claim
}

// newTable creates a table with many entries that are kept, and many that are due.
func newTable(tb testing.TB, accepted, pending int) *table {
	tb.Helper()
	t := &table{}
	t.Database, t.name = open(tb, onPostgres)
	_, err := t.Enqueue(tb.Context(), worker.ItemOf("template"))
	must(tb, err)
	t.exec(tb, `CREATE TABLE template AS TABLE outbox_entry`)
	t.exec(tb, `TRUNCATE outbox_entry`)
	indexes := t.dropIndexes(tb) // adding entries without them takes a third of the time
	t.add(tb, settled, accepted)
	t.add(tb, due, pending)
	for _, definition := range indexes {
		t.exec(tb, definition)
	}
	t.exec(tb, `VACUUM (ANALYZE) outbox_entry`)
	return t
}

func (t *table) exec(tb testing.TB, statement string, args ...any) {
	tb.Helper()
	_, err := t.Pool.Exec(tb.Context(), statement, args...)
	must(tb, err)
}

func (t *table) dropIndexes(tb testing.TB) (definitions []string) {
	tb.Helper()
	rows, err := t.Pool.Query(tb.Context(), `SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema()
		AND tablename = 'outbox_entry' AND indexdef NOT LIKE 'CREATE UNIQUE%'`)
	must(tb, err)
	type index struct{ Name, Definition string }
	indexes, err := pgx.CollectRows(rows, pgx.RowToStructByPos[index])
	must(tb, err)
	for _, i := range indexes {
		t.exec(tb, "DROP INDEX "+i.Name)
		definitions = append(definitions, i.Definition)
	}
	return definitions
}

// Entries that SQL adds are copies of one that was enqueued, apart from these columns: each becomes due at another
// time, and those that are settled are as Run leaves them.
var (
	due = map[string]string{"key": `'order-' || lpad(n::text, 9, '0')`, "digest": `sha256(n::text::bytea)`,
		"due_since": dueAt, "created_at": dueAt}
	settled = map[string]string{"key": due["key"], "digest": due["digest"], "due_since": dueAt, "created_at": dueAt,
		"body": `NULL`, "state": `2`, "token": `decode(md5(n::text), 'hex')`, "attempts": `1`, "claimed_at": dueAt,
		"settled_at": dueAt, "delivery": `3`}
)

const dueAt = `now() - interval '1 hour' + n * interval '100 us'`

// add adds n entries.
func (t *table) add(tb testing.TB, columns map[string]string, n int) {
	tb.Helper()
	rows, err := t.Pool.Query(tb.Context(), `SELECT column_name::text FROM information_schema.columns
		WHERE table_schema = current_schema() AND table_name = 'outbox_entry' AND column_name <> 'id'`)
	must(tb, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(tb, err)
	values := make([]string, len(names))
	for i, name := range names {
		if values[i] = columns[name]; values[i] == "" {
			values[i] = name
		}
	}
	t.exec(tb, fmt.Sprintf(`INSERT INTO outbox_entry (%s) SELECT %s FROM template, generate_series($1::bigint, $2::bigint) AS n`,
		strings.Join(names, ", "), strings.Join(values, ", ")), t.added+1, t.added+n)
	t.added += n
}

// batch is how many entries Run claims at a time.
const batch = 64

// claim claims the next entries, as Run does.
func (t *table) claim(ctx context.Context) error {
	var token ledger.Token
	_, _ = rand.Read(token[:])
	claimed, err := t.Ledger.Claim(ctx, ledger.Claim{Token: token, Lease: time.Minute, Limit: batch, MaxBytes: 64 << 20,
		Look: ledger.Look{Class: ledger.Class{Operation: worker.Request("").Operation(), Lane: ledger.Normal}, After: t.after}})
	if err == nil && len(claimed) != batch {
		return fmt.Errorf("claimed %d entries instead of %d", len(claimed), batch)
	}
	for _, c := range claimed {
		if t.after.Before(c.Position) {
			t.after = c.Position
		}
	}
	return err
}

func claiming(t *table) func(*testing.B) {
	return func(b *testing.B) { each(b, func() error { return t.claim(b.Context()) }) }
}

// update does what no claim can do without: it updates as many rows of a plain table by their ids.
func (t *table) update(ctx context.Context, i int) error {
	_, err := t.Pool.Exec(ctx, `UPDATE plain SET state = 1, token = $1, claimed_at = now() WHERE id >= $2 AND id < $3`,
		make([]byte, 16), i*batch, (i+1)*batch)
	return err
}

const createPlain = `CREATE TABLE plain (id int PRIMARY KEY, state smallint NOT NULL, token bytea,
		claimed_at timestamptz, body bytea NOT NULL);
	CREATE INDEX ON plain (id) WHERE state = 0;
	INSERT INTO plain SELECT n, 0, NULL, NULL, repeat('x', 200)::bytea FROM generate_series(0, 199999) AS n`

// megabytes reports the size of the table, and that of its indexes.
func (t *table) megabytes(b *testing.B) {
	b.Helper()
	var heap, indexes int64
	must(b, t.Pool.QueryRow(b.Context(), `SELECT pg_table_size('outbox_entry') >> 20, pg_indexes_size('outbox_entry') >> 20`).
		Scan(&heap, &indexes))
	b.ReportMetric(float64(heap), "table-MB")
	b.ReportMetric(float64(indexes), "indexes-MB")
}

// manyEntries is how many entries the largest tables have.
func manyEntries() int {
	if testing.Short() {
		return 1_000_000
	}
	return 10_000_000
}

// BenchmarkTable works on tables with many entries that are kept, or with a large backlog.
func BenchmarkTable(b *testing.B) {
	many := manyEntries()
	const few = 300_000 // which the benchmarks use up
	for _, size := range []struct{ accepted, pending int }{{0, few}, {many / 10, few}, {many, few}, {0, many / 10}, {0, many}} {
		b.Run(fmt.Sprintf("accepted=%d/pending=%d", size.accepted, size.pending), func(b *testing.B) {
			t := newTable(b, size.accepted, size.pending)
			b.Run("counts", func(b *testing.B) {
				each(b, func() error {
					_, err := t.Counts(b.Context())
					return err
				})
				t.megabytes(b)
			})
			b.Run("claim", claiming(t))
			b.Run("plain-UPDATE", func(b *testing.B) {
				t.exec(b, "DROP TABLE IF EXISTS plain;"+createPlain)
				t.exec(b, "VACUUM (ANALYZE) plain")
				i := -1
				each(b, func() error { i++; return t.update(b.Context(), i) })
			})
			b.Run("enqueue", func(b *testing.B) {
				each(b, func() error {
					return pgx.BeginFunc(b.Context(), t.Pool, func(tx pgx.Tx) error {
						t.added++
						_, err := t.Postgres.EnqueueTx(b.Context(), tx, worker.ItemOf(fmt.Sprint("new-", t.added)))
						return err
					})
				})
			})
			b.Run("deliver", func(b *testing.B) {
				deliveries(b, hire(b, 1, worker.Task{Database: t.name, InFlight: inFlight}))
			})
		})
	}
}

// BenchmarkGrowth adds and delivers entries as fast as possible, deletes them 20 s later, and has autovacuum as
// it comes. Each step delivers as many.
func BenchmarkGrowth(b *testing.B) {
	const steps = 8
	step := manyEntries() / 40
	sum := 0
	t := newTable(b, 0, 0)
	sent := hire(b, 1, worker.Task{Database: t.name, InFlight: inFlight, KeepSettled: 20 * time.Second})
	for i := range steps {
		b.Run(fmt.Sprintf("step=%d", i+1), func(b *testing.B) {
			before := sent()
			for b.Loop() {
				for sum += step; sent() < sum; {
					t.refill(b, sent)
				}
			}
			b.ReportMetric(float64(sum), "delivered")
			b.ReportMetric(float64(sent()-before)/b.Elapsed().Seconds(), "deliveries/s")
			b.ReportMetric(0, "ns/op")
			var live, dead, vacuums int64
			must(b, t.Pool.QueryRow(b.Context(), `SELECT n_live_tup, n_dead_tup, autovacuum_count FROM pg_stat_user_tables
				WHERE relname = 'outbox_entry' AND schemaname = current_schema()`).Scan(&live, &dead, &vacuums))
			b.ReportMetric(float64(live), "rows")
			b.ReportMetric(float64(dead), "dead-rows")
			b.ReportMetric(float64(vacuums), "autovacuums")
			t.megabytes(b)
		})
	}
}

// refill keeps some 20,000 entries pending.
func (t *table) refill(tb testing.TB, sent func() int) {
	tb.Helper()
	const some = 10_000
	if t.added-sent() > some {
		time.Sleep(20 * time.Millisecond)
		return
	}
	t.add(tb, due, some)
}
