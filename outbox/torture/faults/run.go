package faults

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/torture/internal/pgserver"
	"github.com/messaging-go/messaging/outbox/torture/internal/process"
	"github.com/messaging-go/messaging/outbox/torture/internal/report"
	"github.com/messaging-go/messaging/outbox/torture/internal/service"
	"github.com/messaging-go/messaging/outbox/torture/internal/worker"
)

// run is one database with its workers and its service.
type run struct {
	dir     string
	db      *worker.Database
	task    worker.Task
	service *service.Service
	workers []*process.Process
	server  failing  // the server of Postgres that this run has for itself, or nil
	backups []string // restored copies of the database, made while entries were sent
	paused  bool     // a worker was paused
	total   int      // entries
}

// newRun enqueues entries in a new database, and starts the service.
func (l Lab) newRun(ctx context.Context, server string, entries int, to *service.Service) (r *run, err error) {
	r = &run{dir: l.Dir, total: entries, service: to}
	to.Start()
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	name, err := worker.Create(ctx, server, l.Dir, "pool_max_conns=8")
	if err != nil {
		return r, err
	}
	r.task = worker.Task{Database: name, Service: to.URL(), FailDials: 0.2, InFlight: 32, SendTimeout: sendTimeout}
	if r.db, err = worker.Open(ctx, name, nil); err != nil {
		return r, err
	}
	_, err = r.db.EnqueueAll(ctx, items(entries))
	return r, err
}

// items returns the entries of a run. Every tenth one is repeatable, and one in a thousand has
// a body that is larger than what one claim takes of others.
func items(n int) iter.Seq2[outbox.Item, error] {
	return func(yield func(outbox.Item, error) bool) {
		for i := range n {
			item := worker.ItemOf(worker.Key(i))
			item.Repeatable = i%10 == 0
			if i%1000 == 500 {
				item.Prepared = worker.Large(item.Key)
			}
			if !yield(item, nil) {
				return
			}
		}
	}
}

func (r *run) close() {
	for _, w := range r.workers {
		w.Kill()
	}
	r.service.Close()
	if r.db == nil {
		return
	}
	r.db.Close()
	if r.db.Pool != nil {
		_ = pgserver.DropSchema(context.Background(), r.task.Database)
	}
}

// suffer lets faults happen while entries are sent, until everything is sent.
func (r *run) suffer(ctx context.Context, f fault, times int) error {
	if f.gentle {
		r.task.SendTimeout = 10 * time.Second // only lost responses may be unclear
	}
	if f.name == clockJumps.name {
		if err := r.wrapClock(ctx); err != nil {
			return err
		}
	}
	if err := r.start(workers); err != nil {
		return err
	}
	for i := range times {
		if err := r.at(ctx, float64(i+1)/float64(times+2)); err != nil {
			return err
		}
		if err := f.inflict(r, ctx, i); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return r.end(ctx)
}

// start starts n workers.
func (r *run) start(n int) error {
	for range n {
		w, err := r.task.Start()
		if err != nil {
			return err
		}
		r.workers = append(r.workers, w)
	}
	return nil
}

// at waits until the given part of the entries was carried out.
func (r *run) at(ctx context.Context, part float64) error {
	return process.Until(ctx, "progress", func() (bool, error) {
		return float64(r.service.Done()) >= part*float64(r.total)*0.97, nil // 2 % are rejected
	})
}

// end waits until everything is sent and the workers have stopped.
func (r *run) end(ctx context.Context) error {
	if r.paused {
		time.Sleep(beyond)
		for _, w := range r.workers {
			w.Signal(syscall.SIGCONT)
		}
	}
	if err := process.Until(ctx, "the end", func() (bool, error) {
		counts, err := r.db.Counts(ctx)
		return err == nil && counts.Pending+counts.Sending == 0, err
	}); err != nil {
		return err
	}
	time.Sleep(time.Second) // for outcomes that are late
	for _, w := range r.workers {
		if err := r.stop(w); err != nil {
			return err
		}
	}
	r.workers = nil
	return nil
}

// stop ends a worker. If its server has failed, it may not have tried it again yet.
func (r *run) stop(w *process.Process) error {
	err := w.Stop()
	if err != nil && r.server != nil && strings.Contains(err.Error(), "outbox: run: the database failed until the end") {
		return nil
	}
	return err
}

// replace starts another worker instead of one that has ended.
func (r *run) replace(i int) error {
	r.workers = slices.Delete(r.workers, i, i+1)
	return r.start(1)
}

func (r *run) kill(_ context.Context, _ int) error {
	r.workers[0].Kill()
	return r.replace(0)
}

func (r *run) terminate(_ context.Context, _ int) error {
	if err := r.stop(r.workers[0]); err != nil {
		return err
	}
	return r.replace(0)
}

func (r *run) pause(_ context.Context, i int) error {
	w := r.workers[i%workers]
	w.Signal(syscall.SIGSTOP)
	time.AfterFunc(beyond, func() { w.Signal(syscall.SIGCONT) })
	r.paused = true
	return nil
}

// fail lets the server fail, while entries are enqueued one by one. Each is tried again until
// it is confirmed, and not after that, so that a server that loses one is found out.
func (r *run) fail(ctx context.Context, i int) error {
	failed := make(chan error, 1)
	go func() { failed <- r.server.Fail(ctx) }()
	for n := 0; ; n++ {
		select {
		case err := <-failed:
			return err
		case <-time.After(5 * time.Millisecond):
		}
		item := worker.ItemOf(fmt.Sprintf("during failure %d, %d", i, n))
		if err := process.Until(ctx, "an enqueue", func() (bool, error) {
			_, err := r.db.Enqueue(ctx, item)
			return err == nil, err
		}); err != nil {
			return errors.Join(err, <-failed)
		}
		r.total++
	}
}

// wrapClock gives the workers a clock that can jump: functions in their schema that come
// before those of Postgres.
func (r *run) wrapClock(ctx context.Context) error {
	u, err := url.Parse(r.task.Database)
	if err != nil {
		return err
	}
	query := u.Query()
	schema := query.Get("search_path")
	query.Set("search_path", schema+",pg_catalog")
	u.RawQuery = query.Encode()
	r.task.Database = u.String()
	statements := `CREATE TABLE clock (skew interval NOT NULL); INSERT INTO clock VALUES ('0');`
	for name, kind := range map[string]string{"statement_timestamp": "STABLE", "clock_timestamp": "VOLATILE"} {
		statements += fmt.Sprintf(`CREATE FUNCTION %s() RETURNS timestamptz LANGUAGE sql %s AS
			'SELECT pg_catalog.%s() + (SELECT skew FROM %s.clock)';`, name, kind, name, schema)
	}
	_, err = r.db.Pool.Exec(ctx, statements)
	return err
}

// jump moves the clock forward for longer than a lease, and every second time back a little:
// what was put off then waits for that much longer.
func (r *run) jump(ctx context.Context, i int) error {
	by := r.task.SendTimeout + 18*time.Second // the lease and 3 s
	if i%2 == 1 {
		by = -3 * time.Second
	}
	_, err := r.db.Pool.Exec(ctx, `UPDATE clock SET skew = skew + $1::bigint * interval '1 millisecond'`, by.Milliseconds())
	return err
}

// truth is how the states of all entries compare with what the service carried out.
type truth struct {
	entries, twice, lost, wrong, unclear int
	lostResponses                        int
}

func (r *run) truth(ctx context.Context) (t truth, err error) {
	carried := r.service.Carried()
	for key := range carried {
		if _, lost := r.service.Fate(key); lost {
			t.lostResponses++
		}
	}
	for entry, err := range r.db.List(ctx, outbox.Filter{}) {
		if err != nil {
			return t, err
		}
		t.entries++
		t.twice += btoi(tooOften(entry, carried[entry.Key]))
		switch n := carried[entry.Key]; entry.State {
		case outbox.Accepted:
			_, lost := r.service.Fate(entry.Key)
			t.wrong += btoi(n == 0 || lost && n == 1) // nobody could know of it
		case outbox.Rejected:
			t.wrong += btoi(n != 0)
		case outbox.Unclear:
			t.unclear++
		default:
			t.wrong++
		}
	}
	t.lost = r.total - t.entries
	return t, nil
}

// tooOften reports whether an entry was carried out more often than it may be: once, or, if it is
// repeatable, five times, since the fifth unknown outcome makes it unclear.
func tooOften(entry outbox.Entry, carried int) bool {
	if entry.Repeatable {
		return carried > 5
	}
	return carried > 1
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// row compares the truth with what is required. limit is how many entries may be unclear.
func (t truth) row(name string, limit int) report.Row {
	return report.Judged(t.twice == 0 && t.wrong == 0 && t.lost == 0 && t.unclear <= limit, name, fmt.Sprint(t.entries), fmt.Sprint(t.twice),
		fmt.Sprint(t.lost), fmt.Sprint(t.wrong), fmt.Sprintf("%d of at most %d", t.unclear, limit))
}
