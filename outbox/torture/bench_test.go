package main

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
	"github.com/messaging-go/messaging/outbox/torture/internal/pgserver"
	"github.com/messaging-go/messaging/outbox/torture/internal/process"
	"github.com/messaging-go/messaging/outbox/torture/internal/service"
	"github.com/messaging-go/messaging/outbox/torture/internal/worker"
)

// startPostgres starts a server with the settings of Postgres, once for all benchmarks.
// TestMain closes it.
var (
	startPostgres = sync.OnceValues(func() (*pgserver.Server, error) {
		var err error
		ownPostgres, err = pgserver.Start(context.Background())
		return ownPostgres, err
	})
	ownPostgres *pgserver.Server
)

// The databases of an outbox.
const (
	onSQLite   = "SQLite"
	onPostgres = "Postgres"
)

// create creates an empty database.
func create(tb testing.TB, kind, parameter string) (name string) {
	tb.Helper()
	url := ""
	if kind == onPostgres {
		server, err := startPostgres()
		if err != nil && os.Getenv("CI") == "" {
			tb.Skip(err)
		}
		must(tb, err)
		url = server.URL
	}
	name, err := worker.Create(tb.Context(), url, tb.TempDir(), parameter)
	must(tb, err)
	if url != "" {
		tb.Cleanup(func() { _ = pgserver.DropSchema(context.Background(), name) })
	}
	return name
}

// open opens an outbox in a new database.
func open(tb testing.TB, kind string) (db *worker.Database, name string) {
	tb.Helper()
	name = create(tb, kind, "pool_max_conns=8")
	db, err := worker.Open(tb.Context(), name, nil)
	must(tb, err)
	tb.Cleanup(db.Close)
	return db, name
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// until waits for a condition.
func until(tb testing.TB, condition func() bool) {
	tb.Helper()
	must(tb, process.Until(tb.Context(), "progress", func() (bool, error) { return condition(), nil }))
}

// enqueue enqueues the first n keys.
func enqueue(tb testing.TB, db *worker.Database, n int) {
	tb.Helper()
	_, err := db.EnqueueAll(tb.Context(), worker.Items(n))
	must(tb, err)
	if db.Pool != nil {
		_, err = db.Pool.Exec(tb.Context(), `VACUUM (ANALYZE) outbox_entry`) // as autovacuum does sooner or later
		must(tb, err)
	}
}

// hire starts worker processes that send nowhere, and returns how much they have sent.
func hire(tb testing.TB, n int, t worker.Task) (sent func() int) {
	tb.Helper()
	counts := make([]atomic.Int64, n)
	for i := range counts {
		w, err := t.Start()
		must(tb, err)
		tb.Cleanup(w.Kill)
		go func() {
			var count int64
			for w.Read(&count) == nil {
				counts[i].Store(count)
			}
		}()
	}
	return func() (total int) {
		for i := range counts {
			total += int(counts[i].Load())
		}
		return total
	}
}

// deliveries measures b.N deliveries, from the first one on.
func deliveries(b *testing.B, sent func() int) {
	b.Helper()
	until(b, func() bool { return sent() > 0 })
	before := sent()
	b.ResetTimer()
	until(b, func() bool { return sent() >= b.N })
	b.StopTimer()
	b.ReportMetric(float64(sent()-before)/b.Elapsed().Seconds(), "deliveries/s")
}

// inFlight is how many requests a process has in flight.
const inFlight = 64

// latency is how long a request takes in most benchmarks.
const latency = 20 * time.Millisecond

// BenchmarkProcesses delivers with several processes, to nowhere.
func BenchmarkProcesses(b *testing.B) {
	for _, processes := range []int{1, 2, 4, 8} {
		for _, send := range []struct {
			name string
			task worker.Task
		}{{"0ms", worker.Task{}}, {"20ms", worker.Task{SendDelay: latency}}, {"0ms-outboxriver", worker.Task{River: true}}} {
			b.Run(fmt.Sprintf("processes=%d/send=%s", processes, send.name), func(b *testing.B) {
				db, name := open(b, onPostgres)
				enqueue(b, db, b.N)
				task := send.task
				task.Database, task.InFlight = name, inFlight
				deliveries(b, hire(b, processes, task))
			})
		}
	}
}

// BenchmarkDeliver delivers to a service that takes 20 ms, through an outbox or with the client alone.
func BenchmarkDeliver(b *testing.B) {
	for _, inFlight := range []int{64, 256} {
		for _, through := range []string{alone, onSQLite, onPostgres} {
			b.Run(fmt.Sprintf("in_flight=%d/through=%s", inFlight, through), delivering(through, inFlight))
		}
	}
}

// alone means without an outbox.
const alone = "client-alone"

func delivering(through string, inFlight int) func(*testing.B) {
	return func(b *testing.B) {
		to := &service.Service{Delay: latency}
		to.Start()
		b.Cleanup(to.Close)
		task := worker.Task{Alone: through == alone, Service: to.URL(), InFlight: inFlight}
		if !task.Alone {
			var db *worker.Database
			db, task.Database = open(b, through)
			enqueue(b, db, b.N)
		}
		w, err := task.Start()
		must(b, err)
		b.Cleanup(w.Kill)
		deliveries(b, to.Requests)
	}
}

// BenchmarkLatency measures the time from Enqueue to the arrival of the request from another process, while
// the outbox is idle.
func BenchmarkLatency(b *testing.B) {
	for _, kind := range []string{onSQLite, onPostgres} {
		b.Run("on="+kind, func(b *testing.B) {
			db, name := open(b, kind)
			to := &service.Service{}
			to.Start()
			b.Cleanup(to.Close)
			w, err := worker.Task{Database: name, Service: to.URL(), InFlight: inFlight}.Start()
			must(b, err)
			b.Cleanup(w.Kill)
			enqueued := make([]time.Time, b.N)
			for i := range enqueued {
				time.Sleep(50*time.Millisecond + time.Duration(i%7)*7*time.Millisecond)
				enqueued[i] = time.Now()
				_, err := db.Enqueue(b.Context(), worker.ItemOf(worker.Key(i)))
				must(b, err)
			}
			until(b, func() bool { return to.Done() == b.N })
			took, arrived := make([]time.Duration, b.N), to.First()
			for i := range took {
				took[i] = arrived[worker.Key(i)].Sub(enqueued[i])
			}
			percentiles(b, took)
		})
	}
}

// percentiles reports how long something took.
func percentiles(b *testing.B, took []time.Duration) {
	b.Helper()
	slices.Sort(took)
	milliseconds := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	b.ReportMetric(milliseconds(took[len(took)/2]), "p50-ms")
	b.ReportMetric(milliseconds(took[len(took)*99/100]), "p99-ms")
	b.ReportMetric(0, "ns/op")
}

// each measures how long each of several calls takes. The first one, which connects and plans the statement, does
// not count.
func each(b *testing.B, call func() error) {
	b.Helper()
	must(b, call())
	var took []time.Duration
	for b.Loop() {
		start := time.Now()
		must(b, call())
		took = append(took, time.Since(start))
	}
	percentiles(b, took)
}

var limits = flag.Bool("limits", false, "run TestLimits, which needs an idle machine")

// TestLimits holds what README.md promises about rates.
func TestLimits(t *testing.T) {
	if !*limits {
		t.Skip("needs an idle machine, and runs with -limits")
	}
	fmt.Print("|  | median | lowest – highest | limit |\n|---|---|---|---|\n")
	for _, kind := range []string{onSQLite, onPostgres} {
		t.Run("deliveries-"+kind, func(t *testing.T) {
			create(t, kind, "pool_max_conns=1") // skips without a server
			compared := ratios(t, 5, "10000x", delivering(alone, inFlight), delivering(kind, inFlight))
			hold(t, "deliveries/s against the client alone, 64 in flight, "+kind, compared, atLeast, 0.90)
		})
	}
	t.Run("enqueue", func(t *testing.T) {
		compared := ratios(t, 10, "20000x", enqueueing(t, byLoop), enqueueing(t, oursOnPostgres))
		hold(t, "EnqueueTx/s against plain INSERTs/s, in a transaction with an order, 48 connections", compared, atLeast, 0.78)
	})
	t.Run("claim", func(t *testing.T) {
		small, large := newTable(t, 0, 10_000), newTable(t, manyEntries()/2, manyEntries()/2)
		compared := ratios(t, 10, "10x", claiming(large), claiming(small))
		hold(t, fmt.Sprintf("time of a claim of %d entries, %d entries against 10000", batch, manyEntries()), compared, atMost, 1.5)
	})
}

const atLeast, atMost = "≥", "≤"

// hold prints the median of some values, in order, and requires that it is within a limit.
func hold(t *testing.T, what string, values []float64, sign string, limit float64) {
	t.Helper()
	median := (values[(len(values)-1)/2] + values[len(values)/2]) / 2
	fmt.Printf("| %s | %.2f | %.2f – %.2f | %s %.2f |\n", what, median, values[0], values[len(values)-1], sign, limit)
	if held := sign == atLeast && median >= limit || sign == atMost && median <= limit; !held {
		t.Errorf("%s: %.2f, want %s %.2f", what, median, sign, limit)
	}
}

// ratios runs two benchmarks by turns, and returns how many times as long as the other one the first one took in
// each round, in order.
func ratios(t *testing.T, rounds int, benchtime string, one, other func(*testing.B)) []float64 {
	t.Helper()
	before := flag.Lookup("test.benchtime").Value.String()
	must(t, flag.Set("test.benchtime", benchtime))
	defer flag.Set("test.benchtime", before) // for what -bench runs after this
	ratios := make([]float64, rounds)
	for i := range ratios {
		first, second := testing.Benchmark(one), testing.Benchmark(other)
		if first.N == 0 || second.N == 0 {
			t.Fatal("a benchmark failed; go test -bench shows why")
		}
		ratios[i] = first.T.Seconds() / float64(first.N) / (second.T.Seconds() / float64(second.N))
	}
	slices.Sort(ratios)
	return ratios
}

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
