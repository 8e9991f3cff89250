// Package outboxriver sends the entries of an outbox in Postgres from jobs of River, for
// programs that already run River.
//
// A job is a doorbell: it says that there is work, and names no entry. Its worker calls
// DeliverDue of the outbox, which decides what is sent. River can run a job twice, one run
// after the other or both at the same time, but no entry is sent twice.
//
//	o, err := outbox.New(store, client) // with a store of package postgres
//	config := &river.Config{}
//	outboxriver.Register(config, o)
//	jobs, err := river.NewClient(riverpgxv5.New(pool), config)
//	…
//	_, err = outboxriver.EnqueueTx(ctx, jobs, o, tx, outbox.Item{Key: "order-4711-shipped", Prepared: prepared})
//
// A periodic job rings as well, so entries wait a few seconds at most if they were resent,
// resumed or enqueued without a job. It is safe to call [outbox.Outbox.Run] on the same
// database.
package outboxriver

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/messaging-go/messaging/outbox"
)

const (
	// queue is the queue of the jobs.
	queue = "messaging_outbox"
	// ringEvery is how often the periodic job rings.
	ringEvery = 5 * time.Second
	// workTime is how long a job sends before it rings for the next one.
	workTime = 30 * time.Second
	// workBatch is how many entries a job sends at a time.
	workBatch = 10_000
	// jobTimeout is the time limit of a job. DeliverDue returns within the send timeout and
	// 10 s after workTime.
	jobTimeout = 5 * time.Minute
)

// doorbell contains the arguments of a job.
type doorbell struct{}

// Kind implements river.JobArgs.
func (doorbell) Kind() string { return "messaging_outbox_doorbell" }

// InsertOpts implements river.JobArgsWithInsertOpts. Jobs are not unique: a transaction that
// adds a unique job waits for every other one that does, and a job of a process that is gone
// would keep the next ones away. A job that finds nothing to do costs one query.
func (doorbell) InsertOpts() river.InsertOpts { return river.InsertOpts{Queue: queue, MaxAttempts: 1} }

// worker sends what is due.
type worker struct {
	river.WorkerDefaults[doorbell]
	outbox *outbox.Outbox[pgx.Tx]
}

// Timeout implements river.Worker.
func (*worker) Timeout(*river.Job[doorbell]) time.Duration { return jobTimeout }

// Work implements river.Worker. Entries that are due while it works are sent by it. What is
// not due yet is left to the periodic job.
func (w *worker) Work(ctx context.Context, _ *river.Job[doorbell]) error {
	ctx, cancel := context.WithTimeout(ctx, workTime)
	defer cancel()
	for ctx.Err() == nil {
		delivered, err := w.outbox.DeliverDue(ctx, workBatch)
		if err != nil {
			return fmt.Errorf("outboxriver: %w", err)
		}
		if !delivered.More || delivered.RetryAfter > time.Second {
			return nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(delivered.RetryAfter):
		}
	}
	return nil
}

// Register adds the worker of the outbox to config.Workers, and its queue and a periodic job
// to config. It sets config.Workers if it is not set. Call it before river.NewClient.
func Register(config *river.Config, o *outbox.Outbox[pgx.Tx]) {
	if config.Workers == nil {
		config.Workers = river.NewWorkers()
	}
	river.AddWorker(config.Workers, &worker{outbox: o})
	if config.Queues == nil {
		config.Queues = make(map[string]river.QueueConfig)
	}
	config.Queues[queue] = river.QueueConfig{MaxWorkers: 2, FetchCooldown: 5 * time.Millisecond}
	config.PeriodicJobs = append(config.PeriodicJobs, river.NewPeriodicJob(river.PeriodicInterval(ringEvery),
		func() (river.JobArgs, *river.InsertOpts) { return doorbell{}, nil }, &river.PeriodicJobOpts{RunOnStart: true}))
}

// EnqueueTx adds a request to the outbox and a job to River, in one transaction. Otherwise it
// is like [outbox.Outbox.EnqueueTx].
func EnqueueTx(ctx context.Context, client *river.Client[pgx.Tx], o *outbox.Outbox[pgx.Tx], tx pgx.Tx,
	item outbox.Item) (outbox.Entry, error) {
	entry, err := o.EnqueueTx(ctx, tx, item)
	if err != nil {
		return outbox.Entry{}, err
	}
	return entry, ring(ctx, client, tx, entry)
}

// EnqueueAllTx adds requests to the outbox and a job to River, in one transaction. Otherwise
// it is like [outbox.Outbox.EnqueueAllTx]. After an error other than [outbox.ErrKeyConflict],
// you must roll the transaction back.
func EnqueueAllTx(ctx context.Context, client *river.Client[pgx.Tx], o *outbox.Outbox[pgx.Tx], tx pgx.Tx,
	items ...outbox.Item) ([]outbox.Entry, error) {
	entries, err := o.EnqueueAllTx(ctx, tx, items...)
	if err != nil {
		return nil, err
	}
	return entries, ring(ctx, client, tx, entries...)
}

// ring adds a job if one of the entries can be sent now. The periodic job finds the others when
// they are due.
func ring(ctx context.Context, client *river.Client[pgx.Tx], tx pgx.Tx, entries ...outbox.Entry) error {
	due := func(e outbox.Entry) bool { return e.State == outbox.Pending && !e.NotBefore.After(e.EnqueuedAt) }
	if !slices.ContainsFunc(entries, due) {
		return nil
	}
	if _, err := client.InsertTx(ctx, tx, doorbell{}, nil); err != nil {
		return fmt.Errorf("outboxriver: insert job: %w", err)
	}
	return nil
}
