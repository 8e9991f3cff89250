package outboxriver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/messaging-go/messaging/outbox"
)

const (
	// reissueEvery is how often entries without a permit are looked for.
	reissueEvery = 5 * time.Second
	// reissueAfter is how long they have been due by then.
	reissueAfter = 10 * time.Second
	// reissueMost is how many entries one job looks at.
	reissueMost = 10_000
)

// Register adds the workers of the outbox to workers and a periodic job to config. It sets
// config.Workers, the queue [Queue] and RescueStuckJobsAfter if they are not set. Call it
// before river.NewClient.
func Register(workers *river.Workers, config *river.Config, o *outbox.Outbox[pgx.Tx]) {
	river.AddWorker(workers, Worker(o))
	river.AddWorker(workers, &reissuer{outbox: o})
	if config.Workers == nil {
		config.Workers = workers
	}
	if config.Queues == nil {
		config.Queues = make(map[string]river.QueueConfig)
	}
	if _, ok := config.Queues[Queue]; !ok {
		config.Queues[Queue] = river.QueueConfig{MaxWorkers: 16, FetchCooldown: 5 * time.Millisecond}
	}
	if config.RescueStuckJobsAfter == 0 {
		config.RescueStuckJobsAfter = Timeout + time.Minute
	}
	config.PeriodicJobs = append(config.PeriodicJobs, river.NewPeriodicJob(river.PeriodicInterval(reissueEvery),
		func() (river.JobArgs, *river.InsertOpts) { return Reissue{}, nil }, &river.PeriodicJobOpts{RunOnStart: true}))
}

// Reissue is the job that inserts permits for entries that are due and have none. [Register]
// makes it run every 5 s.
type Reissue struct{}

// Kind implements river.JobArgs.
func (Reissue) Kind() string { return "messaging_outbox_reissue" }

// active are the states of jobs that are still to be done.
var active = []rivertype.JobState{rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
	rivertype.JobStateRunning, rivertype.JobStateScheduled}

// InsertOpts implements river.JobArgsWithInsertOpts. One job at a time is enough. It comes
// before permits, of which there can be many.
func (Reissue) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: Queue, MaxAttempts: 1, Priority: 1, UniqueOpts: river.UniqueOpts{ByState: active}}
}

type reissuer struct {
	river.WorkerDefaults[Reissue]
	outbox *outbox.Outbox[pgx.Tx]
	after  int64 // the last entry that was looked at, if there were more
}

// Work implements river.Worker. It sends nothing itself, so that all processes share the
// permits.
func (r *reissuer) Work(ctx context.Context, _ *river.Job[Reissue]) error {
	keys, err := r.due(ctx)
	if err != nil || len(keys) == 0 {
		return err
	}
	client, err := river.ClientFromContextSafely[pgx.Tx](ctx)
	if err != nil {
		return fmt.Errorf("outboxriver: %w", err)
	}
	if keys, err = withoutPermit(ctx, client, keys); err != nil || len(keys) == 0 {
		return err
	}
	if _, err := client.InsertMany(ctx, permits(keys)); err != nil {
		return fmt.Errorf("outboxriver: insert permits: %w", err)
	}
	return nil
}

// due returns the keys of entries that have been due for a while. It continues where the
// last call has ended.
func (r *reissuer) due(ctx context.Context) (keys []string, err error) {
	counts, err := r.outbox.Counts(ctx)
	if err != nil || counts.Pending == 0 {
		return nil, err
	}
	seen, due := 0, time.Now().Add(-reissueAfter)
	for entry, err := range r.outbox.List(ctx,
		outbox.ListParams{Filter: outbox.Filter{State: outbox.Pending}, After: r.after, Limit: reissueMost}) {
		if err != nil {
			return nil, err
		}
		seen, r.after = seen+1, entry.ID
		if entry.NotBefore.Before(due) && !slices.Contains(counts.Paused, entry.Operation) && !slices.Contains(counts.Paused, "all") {
			keys = append(keys, entry.Key)
		}
	}
	if seen < reissueMost {
		r.after = 0
	}
	return keys, nil
}

// withoutPermit returns the keys that are in no job that is still to be done.
func withoutPermit(ctx context.Context, client *river.Client[pgx.Tx], keys []string) ([]string, error) {
	permitted := make(map[string]bool)
	params := river.NewJobListParams().Kinds(Permit{}.Kind()).States(active...).First(reissueMost).
		OrderBy(river.JobListOrderByID, river.SortOrderAsc).
		Where(`EXISTS (SELECT 1 FROM jsonb_array_elements_text(args->'keys') AS k WHERE k = ANY(@keys::text[]))`, river.NamedArgs{"keys": keys})
	for {
		found, err := client.JobList(ctx, params)
		if err != nil {
			return nil, fmt.Errorf("outboxriver: list permits: %w", err)
		}
		for _, job := range found.Jobs {
			var permit Permit
			if err := json.Unmarshal(job.EncodedArgs, &permit); err != nil {
				return nil, fmt.Errorf("outboxriver: job %d: %w", job.ID, err)
			}
			for _, key := range permit.Keys {
				permitted[key] = true
			}
		}
		if len(found.Jobs) < reissueMost {
			break
		}
		params = params.After(found.LastCursor)
	}
	return slices.DeleteFunc(keys, func(key string) bool { return permitted[key] }), nil
}
