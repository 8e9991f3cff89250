package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/torture/internal/process"
	"github.com/messaging-go/messaging/outbox/torture/internal/worker"
)

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
