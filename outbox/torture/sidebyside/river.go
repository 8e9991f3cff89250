package sidebyside

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/messaging-go/messaging"
)

// jobs is River without an outbox: a job contains a request, and its worker sends it.
type jobs struct {
	pool   *pgxpool.Pool
	river  *river.Client[pgx.Tx] // which only inserts
	client *messaging.Client
}

func openRiver(ctx context.Context, database string, client *messaging.Client) (contender, error) {
	pool, err := pgxpool.New(ctx, database)
	if err != nil {
		return nil, err
	}
	inserts, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Logger: slog.New(slog.DiscardHandler)})
	return &jobs{pool, inserts, client}, err
}

// create needs only the table of the orders, since each database has those of River.
func (j *jobs) create(ctx context.Context) error { return createOn(ctx, j.pool, createOrders) }

// sendArgs are the arguments of a job. There is one job for a key, as there is one entry
// in an outbox.
type sendArgs struct {
	Key       string `json:"key" river:"unique"`
	Operation string `json:"operation"`
	Body      []byte `json:"body"`
}

func (sendArgs) Kind() string { return "send" }

func (sendArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true}}
}

func (j *jobs) commit(ctx context.Context, key string) error {
	return order(ctx, j.pool, key, func(tx pgx.Tx) error {
		_, err := j.river.InsertTx(ctx, tx, sendArgs(storedOf(key)), nil)
		return err
	})
}

func (j *jobs) fill(ctx context.Context, keys []string) error {
	for some := range slices.Chunk(keys, 1000) {
		params := make([]river.InsertManyParams, len(some))
		for i, key := range some {
			params[i].Args = sendArgs(storedOf(key))
		}
		if _, err := j.river.InsertMany(ctx, params); err != nil {
			return err
		}
	}
	return nil
}

// sender is the worker of the jobs.
type sender struct {
	river.WorkerDefaults[sendArgs]
	client *messaging.Client
}

func (s *sender) Work(ctx context.Context, job *river.Job[sendArgs]) error {
	return stored(job.Args).send(ctx, s.client)
}

func (j *jobs) work(ctx context.Context) error {
	workers := river.NewWorkers()
	river.AddWorker(workers, &sender{client: j.client})
	working, err := river.NewClient(riverpgxv5.New(j.pool), &river.Config{
		Workers: workers, Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: inFlight}},
		FetchCooldown: 5 * time.Millisecond, FetchPollInterval: 100 * time.Millisecond,
		JobTimeout: 5 * time.Second, RescueStuckJobsAfter: 10 * time.Second,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	if err := working.Start(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	<-ctx.Done()
	return working.Stop(context.WithoutCancel(ctx))
}

func (j *jobs) left(ctx context.Context) (n int, err error) {
	err = j.pool.QueryRow(ctx, `SELECT count(*) FROM river_job WHERE finalized_at IS NULL`).Scan(&n)
	return n, err
}

// unknown returns the jobs that River has given up.
func (j *jobs) unknown(ctx context.Context) (map[string]bool, error) {
	rows, err := j.pool.Query(ctx, `SELECT args->>'key' FROM river_job WHERE finalized_at IS NOT NULL AND state <> 'completed'`)
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	keys := make(map[string]bool, len(found))
	for _, key := range found {
		keys[key] = true
	}
	return keys, err
}

func (j *jobs) close() { j.pool.Close() }
