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
// Each job schedules the next ones, 5 s apart, so an entry that was resent, resumed or enqueued
// without a job waits a few seconds at most. Register one outbox for each schema of River. It is safe to call [outbox.Outbox.Run]
// on the same database.
package outboxriver

import (
	"context"
	"errors"
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
	// ringEvery is how often a job rings, at times that are the same for all processes.
	ringEvery = 5 * time.Second
	// workTime is how long a job sends.
	workTime = 30 * time.Second
	// workWait is how long a job waits to go on, rather than to ring.
	workWait = time.Second
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

// InsertOpts implements river.JobArgsWithInsertOpts. A job that finds nothing to do costs one
// query.
func (doorbell) InsertOpts() river.InsertOpts { return river.InsertOpts{Queue: queue, MaxAttempts: 1} }

// ringAt returns the options of a job that no caller has inserted. Such a job is unique in its
// second.
func ringAt(at time.Time) *river.InsertOpts {
	return &river.InsertOpts{ScheduledAt: at, UniqueOpts: river.UniqueOpts{ByPeriod: time.Second}}
}

// nextRing returns when the next job rings.
func nextRing() time.Time { return time.Now().Truncate(ringEvery).Add(ringEvery) }

// worker sends what is due.
type worker struct {
	river.WorkerDefaults[doorbell]
	outbox *outbox.Outbox[pgx.Tx]
}

// Timeout implements river.Worker.
func (*worker) Timeout(*river.Job[doorbell]) time.Duration { return jobTimeout }

// Work implements river.Worker. It rings before it sends, since it can be killed; and twice,
// since the next one can be killed before that. The periodic job is only for the first time:
// River inserts the periodic jobs of the client that leads, which may be another program.
func (w *worker) Work(ctx context.Context, _ *river.Job[doorbell]) error {
	next := nextRing()
	ringErr := insertRings(ctx, next, next.Add(ringEvery))
	delivered, err := w.send(ctx)
	if delivered.More && delivered.RetryAfter < ringEvery && ctx.Err() == nil {
		at := time.Now().Add(delivered.RetryAfter).Truncate(time.Second).Add(time.Second)
		ringErr = errors.Join(ringErr, insertRings(ctx, at))
	}
	if err = errors.Join(err, ringErr); err != nil {
		return fmt.Errorf("outboxriver: %w", err)
	}
	return nil
}

// insertRings inserts jobs in a transaction of the worker.
func insertRings(ctx context.Context, times ...time.Time) error {
	client, err := river.ClientFromContextSafely[pgx.Tx](ctx)
	if err != nil {
		return err
	}
	var rings []river.InsertManyParams
	for _, at := range times {
		rings = append(rings, river.InsertManyParams{Args: doorbell{}, InsertOpts: ringAt(at)})
	}
	if _, err := client.InsertMany(ctx, rings); err != nil {
		return fmt.Errorf("insert jobs: %w", err)
	}
	return nil
}

// send sends what is due now and very soon.
func (w *worker) send(ctx context.Context) (delivered outbox.Delivered, err error) {
	ctx, cancel := context.WithTimeout(ctx, workTime)
	defer cancel()
	for {
		delivered, err = w.outbox.DeliverDue(ctx, workBatch)
		if err != nil || !delivered.More || delivered.RetryAfter > workWait {
			return delivered, err
		}
		select {
		case <-ctx.Done():
			return delivered, nil
		case <-time.After(delivered.RetryAfter):
		}
	}
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
		func() (river.JobArgs, *river.InsertOpts) { return doorbell{}, ringAt(nextRing()) }, &river.PeriodicJobOpts{RunOnStart: true}))
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

// ring adds a job for the first of the entries that is due. It is not unique, because a
// transaction that adds a unique job waits for every other one that does.
func ring(ctx context.Context, client *river.Client[pgx.Tx], tx pgx.Tx, entries ...outbox.Entry) error {
	var due []time.Time
	for _, e := range entries {
		switch {
		case e.State != outbox.Pending:
		case e.DueAt.After(e.EnqueuedAt):
			due = append(due, e.DueAt)
		default:
			due = append(due, time.Time{}) // now, by the clock of the database
		}
	}
	if len(due) == 0 {
		return nil
	}
	first := slices.MinFunc(due, time.Time.Compare)
	if _, err := client.InsertTx(ctx, tx, doorbell{}, &river.InsertOpts{ScheduledAt: first}); err != nil {
		return fmt.Errorf("outboxriver: insert job: %w", err)
	}
	return nil
}
