package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/messaging-go/messaging/outbox"
)

// run is one database with its workers and its service.
type run struct {
	*torture
	path    string
	flags   workerFlags
	db      *database
	box     box
	service *service
	workers []*process
	total   int
}

// newRun enqueues entries in a new database.
func (t *torture) newRun(ctx context.Context, server string, river bool, entries int, s settings) (*run, error) {
	r := &run{torture: t, total: entries}
	if err := r.open(ctx, server, river, s); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *run) open(ctx context.Context, server string, river bool, s settings) (err error) {
	if r.path = newFile(r.dir); server != "" {
		if r.path, err = newSchema(ctx, server); err != nil {
			return err
		}
	}
	if r.service, err = startService(s); err != nil {
		return err
	}
	if r.db, err = openDatabase(ctx, r.path); err != nil {
		return err
	}
	client, err := (&workerFlags{}).client()
	if err != nil {
		return err
	}
	if r.box, err = r.db.outbox(client); err != nil {
		return err
	}
	r.flags = workerFlags{Database: r.path, Service: r.service.url, FailDials: 0.2, Slots: 32, SendTimeout: r.sendTimeout, River: river}
	switch {
	case r.total == 0:
	case river:
		err = r.db.enqueueRiver(ctx, r.box.(*outbox.Outbox[pgx.Tx]), r.total)
	default:
		_, _, err = r.box.EnqueueAll(ctx, items(r.total))
	}
	return err
}

func (r *run) close() {
	for _, w := range r.workers {
		w.kill()
	}
	if r.service != nil {
		r.service.kill()
	}
	if r.db != nil {
		r.db.close()
	}
	if isPostgres(r.path) {
		_ = dropSchema(context.Background(), r.path)
	}
}

func (r *run) startWorkers(n int) error {
	for range n {
		w, err := startWorker(r.flags)
		if err != nil {
			return err
		}
		r.workers = append(r.workers, w)
	}
	return nil
}

// at waits until the given part of the entries was carried out.
func (r *run) at(ctx context.Context, part float64) error {
	return until(ctx, 10*time.Minute, "progress", func() (bool, error) {
		got, err := r.service.ask("total")
		return float64(got.Total) >= part*float64(r.total)*0.97, err // 2 % are rejected
	})
}

// done waits until no entry is pending or sending. A worker that calls Run sends the
// entries that the queue of River has lost.
func (r *run) done(ctx context.Context) error {
	flags := r.flags
	if flags.River {
		flags.River = false
		w, err := startWorker(flags)
		if err != nil {
			return err
		}
		r.workers = append(r.workers, w)
	}
	return until(ctx, 10*time.Minute, "the end", func() (bool, error) {
		counts, err := r.box.Counts(ctx)
		return err == nil && counts.Pending+counts.Sending == 0, err
	})
}

// truth compares the states of all entries with what the service carried out.
type truth struct {
	twice, wrong, sum             int
	unclear, unclearCarried, lost int
	counts                        outbox.Counts
}

func (r *run) truth(ctx context.Context) (t truth, err error) {
	told, err := r.service.ask("report")
	if err != nil {
		return t, err
	}
	t.lost = told.Lost
	for _, n := range told.Carried {
		if n > 1 {
			t.twice++
		}
	}
	for entry, err := range r.box.List(ctx, outbox.ListParams{}) {
		if err != nil {
			return t, err
		}
		t.sum++
		carried := told.Carried[entry.Key]
		switch entry.State {
		case outbox.Accepted:
			t.wrong += btoi(carried != 1)
		case outbox.Rejected, outbox.Pending:
			t.wrong += btoi(carried != 0)
		case outbox.Unclear:
			t.unclear++
			t.unclearCarried += btoi(carried == 1)
		default:
			t.wrong++
		}
	}
	t.counts, err = r.box.Counts(ctx)
	return t, err
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// row compares the truth with what is required. limit is how many entries may be unclear.
func (t truth) row(what string, entries, limit int, exact bool) row {
	c := t.counts
	bound := "at most"
	if exact {
		bound = "exactly"
	}
	unclear := t.unclear <= limit && !exact || t.unclear == limit
	return row{What: what, Required: fmt.Sprintf("0 duplicates, 0 in the wrong state, %d entries, %s %d unclear", entries, bound, limit),
		Measured: fmt.Sprintf("%d duplicates, %d in the wrong state, %d entries, %d unclear (%d carried out), %d accepted, %d rejected",
			t.twice, t.wrong, t.sum, t.unclear, t.unclearCarried, c.Accepted, c.Rejected),
		OK: t.twice == 0 && t.wrong == 0 && t.sum == entries && unclear}
}

// disturb runs a fault scenario: workers deliver, faults happen at regular points on the
// way, and the states are compared with the truth.
func (t *torture) disturb(ctx context.Context, s scenario) (rows []row, err error) {
	server := ""
	if s.postgres {
		server = t.server
	}
	var own *cluster
	if s.crashes {
		if own, err = newCluster(ctx); err != nil {
			return nil, err
		}
		defer own.close()
		server = own.url
	}
	r, err := t.newRun(ctx, server, s.river, t.entries, settings{Faults: true, Delay: 5 * time.Millisecond})
	if err != nil {
		return nil, err
	}
	defer r.close()
	if s.fault == "SIGTERM" {
		r.flags.SendTimeout = 10 * time.Second // only lost responses may be unclear
	}
	if err := r.startWorkers(s.processes); err != nil {
		return nil, err
	}
	way := 1.0
	if s.river { // after a kill, the permits of the process and their entries wait for minutes
		way = 0.6
	}
	for i := range s.times {
		if err := r.at(ctx, way*(float64(i)+rand.Float64())/float64(s.times+1)); err != nil {
			return nil, err
		}
		if err := r.inflict(ctx, s, own, i); err != nil {
			return nil, err
		}
	}
	if s.fault == "SIGSTOP" {
		time.Sleep(t.pause())
		for _, w := range r.workers {
			w.signal(syscall.SIGCONT)
		}
	}
	if err := r.done(ctx); err != nil {
		return nil, err
	}
	time.Sleep(time.Second) // for outcomes that are late
	for _, w := range r.workers {
		if err := w.stop(); err != nil {
			return nil, err
		}
	}
	r.workers = nil
	found, err := r.truth(ctx)
	if err != nil {
		return nil, err
	}
	limit := found.lost
	if s.fault != "SIGTERM" {
		limit += s.times * 2 * r.flags.Slots // being sent, being recorded, and claimed ahead
		if s.crashes {                       // each crash affects every process
			limit = found.lost + 2*s.times*s.processes*r.flags.Slots
		}
	}
	return []row{found.row(s.name, t.entries, limit, s.fault == "SIGTERM")}, nil
}

// inflict makes one fault happen.
func (r *run) inflict(ctx context.Context, s scenario, own *cluster, i int) error {
	victim := i % s.processes
	switch s.fault {
	case "kill -9":
		r.workers[victim].kill()
	case "SIGTERM":
		if err := r.workers[victim].stop(); err != nil {
			return err
		}
	case "SIGSTOP":
		w := r.workers[victim]
		w.signal(syscall.SIGSTOP)
		time.AfterFunc(r.pause(), func() { w.signal(syscall.SIGCONT) })
		return nil
	case "crash":
		return errors.Join(own.crash(ctx), own.endSessions(ctx))
	}
	w, err := startWorker(r.flags)
	if err != nil {
		return err
	}
	r.workers[victim] = w
	return nil
}

// pause is longer than a lease.
func (t *torture) pause() time.Duration { return t.lease() + 3*time.Second }

// lease is the lease of the workers: the send timeout and 15 s.
func (t *torture) lease() time.Duration { return t.sendTimeout + 15*time.Second }
