// Package outboxriver sends the entries of an outbox in Postgres from jobs of River, for
// programs that already run River.
//
// A job is a permit: it contains the keys of 1 to 25 entries and never a body, so River's
// tables, logs and user interface contain no personal data. The outbox decides whether an
// entry is sent. River can run a job twice, one run after the other or both at the same
// time, but no entry is sent twice.
//
//	o, err := outbox.New(store, client) // with a store of package postgres
//	config := &river.Config{}
//	outboxriver.Register(river.NewWorkers(), config, o)
//	jobs, err := river.NewClient(riverpgxv5.New(pool), config)
//	…
//	_, err = outboxriver.EnqueueTx(ctx, jobs, o, tx, "order-4711-shipped", prepared)
//
// River fetches at most MaxWorkers jobs in each FetchCooldown. MaxWorkers times 25 should
// be 2 to 4 times the WithInFlight of the outbox, because jobs that end together leave
// workers idle. RescueStuckJobsAfter must be longer than [Timeout]; [Register] sets both if
// they are not set.
//
// A periodic job inserts permits for entries that are due and have none: entries that were
// resent, resumed or enqueued without a permit, and those of a process that has crashed.
// No entry waits for longer than 20 s because of a missing permit. It is safe to call
// [outbox.Outbox.Run] on the same database.
//
// Limit the retention of completed jobs, because each permit leaves a row. River's
// default is a day.
package outboxriver

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox"
)

// Queue is the queue of the permits.
const Queue = "messaging_outbox"

// Timeout is the time limit of a job.
const Timeout = 2 * time.Minute

// PermitSize is the largest number of entries in a job.
const PermitSize = 25

// Permit contains the arguments of a job: the keys of the entries that the job sends.
type Permit struct {
	Keys []string `json:"keys"`
}

// Kind implements river.JobArgs.
func (Permit) Kind() string { return "messaging_outbox_permit" }

// InsertOpts implements river.JobArgsWithInsertOpts. River should never give up a job:
// what cannot be sent is recorded in the entries.
func (Permit) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: Queue, MaxAttempts: maxAttempts}
}

const maxAttempts = 10_000

// Worker returns the worker for permits. Register it with a River client.
func Worker(o *outbox.Outbox[pgx.Tx]) river.Worker[Permit] { return &worker{outbox: o} }

type worker struct {
	river.WorkerDefaults[Permit]
	outbox *outbox.Outbox[pgx.Tx]
}

// Timeout implements river.Worker.
func (*worker) Timeout(*river.Job[Permit]) time.Duration { return Timeout }

// NextRetry implements river.Worker.
func (*worker) NextRetry(job *river.Job[Permit]) time.Time {
	return time.Now().Add(min(time.Duration(job.Attempt)*time.Second, time.Minute))
}

const (
	// laterWait is the shortest wait for entries that were not sent.
	laterWait = time.Second
	// longestHold is how long a job itself waits if none of its entries can be sent.
	longestHold = 15 * time.Second
	// busyWait is the wait for entries that another process has claimed. That process may
	// make them pending again without having a permit for them.
	busyWait = 30 * time.Second
	// insertTimeout limits the insertion of a permit. The end of the job's context does
	// not interrupt it.
	insertTimeout = 10 * time.Second
)

// Work implements river.Worker. It inserts a new permit for the entries that cannot be
// sent now, so that the job is done regardless of what River does with it.
func (w *worker) Work(ctx context.Context, job *river.Job[Permit]) error {
	delivered, err := w.deliver(ctx, job.Args.Keys)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), insertTimeout)
	defer cancel()
	client, err := river.ClientFromContextSafely[pgx.Tx](ctx)
	if err != nil {
		return fmt.Errorf("outboxriver: %w", err)
	}
	now := time.Now()
	var params []river.InsertManyParams
	if len(delivered.Later) > 0 {
		wait := max(delivered.RetryAfter, laterWait)
		wait += rand.N(wait) // so that the permits of an outage do not all come back together
		params = append(params, permitAt(delivered.Later, now.Add(wait)))
	}
	if len(delivered.Busy) > 0 {
		params = append(params, permitAt(delivered.Busy, now.Add(busyWait)))
	}
	if len(params) == 0 {
		return nil
	}
	if _, err := client.InsertMany(ctx, params); err != nil { // in one transaction
		return fmt.Errorf("outboxriver: insert permits: %w", err)
	}
	return nil
}

func permitAt(keys []string, at time.Time) river.InsertManyParams {
	return river.InsertManyParams{Args: Permit{Keys: keys}, InsertOpts: &river.InsertOpts{ScheduledAt: at}}
}

// deliver calls Deliver, and waits while the gate is closed. So while the service is
// down, the jobs of a queue wait instead of being replaced again and again.
func (w *worker) deliver(ctx context.Context, keys []string) (outbox.Delivered, error) {
	for {
		delivered, err := w.outbox.Deliver(ctx, keys...)
		wait := max(delivered.RetryAfter, 10*time.Millisecond)
		deadline, ok := ctx.Deadline()
		if err != nil || len(delivered.Later) < len(keys) || wait > longestHold || ok && time.Until(deadline) < 2*wait {
			return delivered, err
		}
		select {
		case <-ctx.Done():
			return delivered, nil
		case <-time.After(wait):
		}
	}
}

// EnqueueTx adds a request to the outbox and a permit for it to River, in one
// transaction. Otherwise it is like [outbox.Outbox.EnqueueTx].
func EnqueueTx(ctx context.Context, client *river.Client[pgx.Tx], o *outbox.Outbox[pgx.Tx], tx pgx.Tx, key string, p *messaging.Prepared,
	opts ...outbox.EnqueueOption) (outbox.Entry, error) {
	entry, err := o.EnqueueTx(ctx, tx, key, p, opts...)
	if err != nil || entry.State != outbox.Pending {
		return entry, err
	}
	_, err = client.InsertTx(ctx, tx, Permit{Keys: []string{key}}, scheduled(entry))
	if err != nil {
		return outbox.Entry{}, fmt.Errorf("outboxriver: insert permit: %w", err)
	}
	return entry, nil
}

// EnqueueAllTx adds requests to the outbox and permits for them to River, in one
// transaction. Otherwise it is like [outbox.Outbox.EnqueueAllTx]. After an error other than
// [outbox.ErrKeyConflict], you must roll the transaction back.
func EnqueueAllTx(ctx context.Context, client *river.Client[pgx.Tx], o *outbox.Outbox[pgx.Tx], tx pgx.Tx,
	items ...outbox.Item) ([]outbox.Entry, error) {
	entries, err := o.EnqueueAllTx(ctx, tx, items...)
	if err != nil {
		return nil, err
	}
	var params []river.InsertManyParams
	var due []string
	for _, entry := range entries {
		switch opts := scheduled(entry); {
		case entry.State != outbox.Pending:
		case opts != nil:
			params = append(params, river.InsertManyParams{Args: Permit{Keys: []string{entry.Key}}, InsertOpts: opts})
		default:
			due = append(due, entry.Key)
		}
	}
	params = append(params, permits(due)...)
	if len(params) == 0 {
		return entries, nil
	}
	if _, err := client.InsertManyFastTx(ctx, tx, params); err != nil {
		return nil, fmt.Errorf("outboxriver: insert permits: %w", err)
	}
	return entries, nil
}

// permits returns permits for entries that are due.
func permits(keys []string) (params []river.InsertManyParams) {
	for keys := range slices.Chunk(keys, PermitSize) {
		params = append(params, river.InsertManyParams{Args: Permit{Keys: keys}})
	}
	return params
}

// scheduled returns the options of a permit for an entry that is not due yet. It returns
// nil for an entry that is due.
func scheduled(entry outbox.Entry) *river.InsertOpts {
	if !entry.NotBefore.After(entry.EnqueuedAt) {
		return nil
	}
	return &river.InsertOpts{ScheduledAt: entry.NotBefore}
}
