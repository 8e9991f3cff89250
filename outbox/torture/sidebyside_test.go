package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/messaging-go/messaging"
	catalog "github.com/messaging-go/messaging/internal/service"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/torture/internal/process"
	"github.com/messaging-go/messaging/outbox/torture/internal/service"
	"github.com/messaging-go/messaging/outbox/torture/internal/worker"
)

// BenchmarkSideBySide sends the same requests to one service in several ways. A request takes 5 ms, and 1 % of the responses are
// lost. The process that sends is killed 20 times.
func BenchmarkSideBySide(b *testing.B) {
	entries, kills := 10_000, 20
	if testing.Short() {
		entries, kills = 1000, 2
	}
	for i, w := range ways {
		b.Run("way="+w.name, func(b *testing.B) {
			for b.Loop() {
				compare(b, i, entries, kills)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

func compare(b *testing.B, i, entries, kills int) {
	b.Helper()
	to := &service.Service{Loses: true, Delay: 5 * time.Millisecond}
	to.Start()
	defer to.Close()
	database := create(b, ways[i].kind, "pool_max_conns=40") // in the loop, each request needs a connection
	c, err := ways[i].open(b.Context(), database, nil)
	must(b, err)
	defer c.close()
	must(b, c.fill(b.Context(), entries))
	disturb(b, senderTask{i, database, to.URL()}, to, entries, kills)
	must(b, process.Until(b.Context(), "the end", func() (bool, error) {
		left, err := c.left(b.Context())
		return err == nil && left == 0, err
	}))
	to.Close() // which waits for the last requests
	unknown, err := c.unknown(b.Context())
	must(b, err)
	r := judge(entries, unknown, to)
	if _, isOurs := c.(ours); r.lost > 0 || isOurs && r.twice > 0 {
		b.Errorf("%+v", r)
	}
	b.ReportMetric(float64(r.twice), "twice")
	b.ReportMetric(float64(r.afterLoss), "twice-after-loss")
	b.ReportMetric(float64(r.lost), "lost")
	b.ReportMetric(float64(r.unknown), "unknown")
	b.ReportMetric(float64(r.unknownCarried), "unknown-carried-out")
}

// disturb runs the process that sends and kills it at even steps, the same for every way of sending. It reports the rate
// before the first kill.
func disturb(b *testing.B, t senderTask, to *service.Service, entries, kills int) {
	b.Helper()
	var sender *process.Process
	start := func() {
		var err error
		sender, err = process.Start(senderName, t)
		must(b, err)
		b.Cleanup(sender.Kill)
	}
	at := func(part float64) { until(b, func() bool { return to.Done() >= int(part*float64(entries)) }) }
	start()
	at(0.02)
	began, before := time.Now(), to.Done()
	at(0.3)
	b.ReportMetric(float64(to.Done()-before)/time.Since(began).Seconds(), "deliveries/s")
	for i := range kills {
		at(0.3 + 0.55*float64(i)/float64(kills))
		sender.Kill()
		start()
	}
}

// result is what became of one way.
type result struct {
	// twice counts the requests that were carried out more than once, and afterLoss those
	// among them that had lost a response.
	twice, afterLoss int
	// lost counts the requests that were not carried out and are not listed as unknown.
	lost int
	// unknown counts the requests that are listed as unknown, and unknownCarried those among
	// them that were carried out.
	unknown, unknownCarried int
}

// judge compares what the service carried out with what was to be sent.
func judge(entries int, unknown []string, to *service.Service) (r result) {
	carried := to.Carried()
	listed := make(map[string]bool, len(unknown))
	for _, key := range unknown {
		listed[key] = true
		if carried[key] > 0 {
			r.unknownCarried++
		}
	}
	r.unknown = len(listed)
	for i := range entries {
		key := worker.Key(i)
		if carried[key] == 0 && !listed[key] {
			r.lost++
		}
		if carried[key] > 1 {
			r.twice++
			if _, lost := to.Fate(key); lost {
				r.afterLoss++
			}
		}
	}
	return r
}

func TestJudgeDistinguishesLostFromUnknown(t *testing.T) {
	to := &service.Service{}
	to.Start()
	defer to.Close()
	for _, i := range []int{0, 1, 1, 2} {
		body := strings.NewReader(`{"payload":{"key":"` + worker.Key(i) + `"}}`)
		response, err := http.Post(to.URL()+catalog.TriggerEvent.Path, "application/json", body)
		must(t, err)
		_ = response.Body.Close()
	}

	got := judge(5, []string{worker.Key(2), worker.Key(3)}, to)

	if want := (result{twice: 1, lost: 1, unknown: 2, unknownCarried: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// callers is how many connections BenchmarkEnqueueTx uses at a time.
const callers = 48

// BenchmarkEnqueueTx inserts an order and enqueues its request, in one transaction. The loop does a plain INSERT of the same
// bytes, into a table with a primary key, a unique index and a partial one.
func BenchmarkEnqueueTx(b *testing.B) {
	for _, w := range []way{oursOnPostgres, riverAlone, byLoop} {
		b.Run("way="+w.name, enqueueing(b, w))
	}
}

// number makes keys unique.
var number atomic.Int64

func enqueueing(tb testing.TB, w way) func(*testing.B) {
	tb.Helper()
	database := create(tb, onPostgres, "pool_max_conns=48")
	c, err := w.open(tb.Context(), database, nil)
	must(tb, err)
	tb.Cleanup(c.close)
	pool, err := pgxpool.New(tb.Context(), database)
	must(tb, err)
	tb.Cleanup(pool.Close)
	_, err = pool.Exec(tb.Context(), `CREATE TABLE orders (id text PRIMARY KEY, total bigint NOT NULL)`)
	must(tb, err)
	request, err := messaging.PushBroadcastParams{Subject: "Reminder", Message: strings.Repeat("Doors open at eight. ", 20),
		To: messaging.ToCustomers(messaging.CustomerParams{Email: "ada@example.com"})}.Prepare()
	must(tb, err)
	return func(b *testing.B) {
		b.SetParallelism(callers / runtime.GOMAXPROCS(0))
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				item := outbox.Item{Key: fmt.Sprint(number.Add(1)), Prepared: request}
				err := pgx.BeginFunc(b.Context(), pool, func(tx pgx.Tx) error {
					if _, err := tx.Exec(b.Context(), `INSERT INTO orders VALUES ($1, 4711)`, item.Key); err != nil {
						return err
					}
					return c.enqueueTx(b.Context(), tx, item)
				})
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
	}
}

// contender is one way to send requests after the transaction that they belong to.
type contender interface {
	// enqueueTx enqueues a request in a transaction, on Postgres.
	enqueueTx(context.Context, pgx.Tx, outbox.Item) error
	// fill enqueues the first n keys.
	fill(ctx context.Context, n int) error
	// work sends requests until ctx ends.
	work(context.Context) error
	// left returns how many requests are still to be sent.
	left(context.Context) (int, error)
	// unknown returns the keys of the requests that are listed as neither sent nor to be sent.
	unknown(context.Context) ([]string, error)
	close()
}

// way is a contender before it is opened.
type way struct {
	name, kind string
	open       func(ctx context.Context, database string, client *messaging.Client) (contender, error)
}

var (
	oursOnSQLite   = way{"outbox-SQLite", onSQLite, openOurs}
	oursOnPostgres = way{"outbox-Postgres", onPostgres, openOurs}
	riverAlone     = way{"River", onPostgres, openRiver}
	byLoop         = way{"loop", onPostgres, openLoop}

	ways = []way{oursOnSQLite, oursOnPostgres, riverAlone, byLoop}
)

// contending is how many requests each way sends at a time.
const contending = 32

// senderName is the name of the process that sends, among the child processes.
const senderName = "contender"

// senderTask is what that process does.
type senderTask struct {
	Way           int
	Database, URL string
}

// runSender is the main function of the process that sends.
func runSender(ctx context.Context, encoded string) error {
	var t senderTask
	if err := json.Unmarshal([]byte(encoded), &t); err != nil {
		return err
	}
	client, err := messaging.NewClient(t.URL, "test-key-1")
	if err != nil {
		return err
	}
	c, err := ways[t.Way].open(ctx, t.Database, client)
	if err != nil {
		return err
	}
	defer c.close()
	process.Ready()
	return c.work(ctx)
}

// stored is a request as River and the loop store it.
type stored struct {
	Key       string `json:"key" river:"unique"` // one job for a key, as there is one entry
	Operation string `json:"operation"`
	Body      []byte `json:"body"`
}

func storedOf(i outbox.Item) stored {
	return stored{i.Key, i.Prepared.Operation(), i.Prepared.Body()}
}

// send sends the request with the default settings of the client.
func (s stored) send(ctx context.Context, client *messaging.Client) error {
	p, err := messaging.ParsePrepared(s.Operation, s.Body)
	if err != nil {
		return err
	}
	_, err = client.Send(ctx, p)
	return err
}

// ours is this outbox on one of its databases.
type ours struct{ *worker.Database }

func openOurs(ctx context.Context, database string, client *messaging.Client) (contender, error) {
	db, err := worker.Open(ctx, database, client, outbox.WithInFlight(contending), outbox.WithSendTimeout(2*time.Second))
	return ours{db}, err
}

func (o ours) enqueueTx(ctx context.Context, tx pgx.Tx, i outbox.Item) error {
	_, err := o.Postgres.EnqueueTx(ctx, tx, i)
	return err
}

func (o ours) fill(ctx context.Context, n int) error {
	_, err := o.EnqueueAll(ctx, worker.Items(n))
	return err
}

func (o ours) work(ctx context.Context) error { return o.Run(ctx) }

func (o ours) left(ctx context.Context) (int, error) {
	counts, err := o.Counts(ctx)
	return counts.Pending + counts.Sending, err
}

func (o ours) unknown(ctx context.Context) (keys []string, err error) {
	for entry, err := range o.List(ctx, outbox.Filter{State: outbox.Unclear}) {
		if err != nil {
			return nil, err
		}
		keys = append(keys, entry.Key)
	}
	return keys, nil
}

func (o ours) close() { o.Close() }

// jobs is River without an outbox: a job contains a request, and its worker sends it.
type jobs struct {
	river.WorkerDefaults[stored]
	pool   *pgxpool.Pool
	river  *river.Client[pgx.Tx]
	client *messaging.Client
}

func (stored) Kind() string { return "send" }

func (stored) InsertOpts() river.InsertOpts {
	return river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true}}
}

// openRiver opens River with a JobTimeout of 5 s, and rescues jobs after 10 s instead of an hour, so that the
// benchmark ends.
func openRiver(ctx context.Context, database string, client *messaging.Client) (contender, error) {
	pool, err := pgxpool.New(ctx, database)
	if err != nil {
		return nil, err
	}
	j := &jobs{pool: pool, client: client}
	workers := river.NewWorkers()
	river.AddWorker(workers, j)
	j.river, err = river.NewClient(riverpgxv5.New(pool), &river.Config{
		Workers: workers, Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: contending}},
		FetchCooldown: 5 * time.Millisecond, FetchPollInterval: 100 * time.Millisecond,
		JobTimeout: 5 * time.Second, RescueStuckJobsAfter: 10 * time.Second,
		Logger: slog.New(slog.DiscardHandler),
	})
	return j, err
}

func (j *jobs) enqueueTx(ctx context.Context, tx pgx.Tx, i outbox.Item) error {
	_, err := j.river.InsertTx(ctx, tx, storedOf(i), nil)
	return err
}

func (j *jobs) fill(ctx context.Context, n int) error {
	params := make([]river.InsertManyParams, n)
	for i := range params {
		params[i].Args = storedOf(worker.ItemOf(worker.Key(i)))
	}
	for some := range slices.Chunk(params, 1000) {
		if _, err := j.river.InsertMany(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

func (j *jobs) Work(ctx context.Context, job *river.Job[stored]) error {
	return job.Args.send(ctx, j.client)
}

func (j *jobs) work(ctx context.Context) error {
	if err := j.river.Start(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	<-ctx.Done()
	return j.river.Stop(context.WithoutCancel(ctx))
}

func (j *jobs) left(ctx context.Context) (n int, err error) {
	err = j.pool.QueryRow(ctx, `SELECT count(*) FROM river_job WHERE finalized_at IS NULL`).Scan(&n)
	return n, err
}

// unknown returns the jobs that River has given up.
func (j *jobs) unknown(ctx context.Context) ([]string, error) {
	rows, err := j.pool.Query(ctx, `SELECT args->>'key' FROM river_job WHERE finalized_at IS NOT NULL AND state <> 'completed'`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

func (j *jobs) close() { j.pool.Close() }

// loop is an outbox as it is often written by hand: a row is locked, sent and marked in one
// transaction, which is held during the send. After an error, the row waits for a second.
type loop struct {
	pool   *pgxpool.Pool
	client *messaging.Client
}

func openLoop(ctx context.Context, database string, client *messaging.Client) (contender, error) {
	pool, err := pgxpool.New(ctx, database)
	if err != nil {
		return nil, err
	}
	_, err = pool.Exec(ctx, `CREATE TABLE IF NOT EXISTS message (
			id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
			key        text NOT NULL UNIQUE,
			operation  text NOT NULL,
			body       bytea NOT NULL,
			not_before timestamptz NOT NULL DEFAULT now(),
			sent_at    timestamptz
		); CREATE INDEX IF NOT EXISTS message_next ON message (id) WHERE sent_at IS NULL`)
	return &loop{pool, client}, err
}

func (l *loop) enqueueTx(ctx context.Context, tx pgx.Tx, i outbox.Item) error {
	s := storedOf(i)
	_, err := tx.Exec(ctx, `INSERT INTO message (key, operation, body) VALUES ($1, $2, $3)`, s.Key, s.Operation, s.Body)
	return err
}

func (l *loop) fill(ctx context.Context, n int) error {
	return pgx.BeginFunc(ctx, l.pool, func(tx pgx.Tx) error {
		for i := range n {
			if err := l.enqueueTx(ctx, tx, worker.ItemOf(worker.Key(i))); err != nil {
				return err
			}
		}
		return nil
	})
}

func (l *loop) work(ctx context.Context) error {
	var group sync.WaitGroup
	for range contending {
		group.Go(func() {
			for ctx.Err() == nil {
				if err := l.next(ctx); err != nil {
					select {
					case <-ctx.Done():
					case <-time.After(100 * time.Millisecond):
					}
				}
			}
		})
	}
	group.Wait()
	return nil
}

// next sends one message.
func (l *loop) next(ctx context.Context) error {
	return pgx.BeginFunc(ctx, l.pool, func(tx pgx.Tx) error {
		var id int64
		var s stored
		err := tx.QueryRow(ctx, `SELECT id, key, operation, body FROM message WHERE sent_at IS NULL AND not_before <= now()
			ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED`).Scan(&id, &s.Key, &s.Operation, &s.Body)
		if err != nil {
			return err
		}
		if err := s.send(ctx, l.client); err != nil {
			_, put := tx.Exec(ctx, `UPDATE message SET not_before = now() + interval '1 second' WHERE id = $1`, id)
			return put
		}
		_, err = tx.Exec(ctx, `UPDATE message SET sent_at = now() WHERE id = $1`, id)
		return err
	})
}

func (l *loop) left(ctx context.Context) (n int, err error) {
	err = l.pool.QueryRow(ctx, `SELECT count(*) FROM message WHERE sent_at IS NULL`).Scan(&n)
	return n, err
}

// unknown returns none: the table does not know that an outcome is unknown.
func (l *loop) unknown(context.Context) ([]string, error) { return nil, nil }

func (l *loop) close() { l.pool.Close() }
