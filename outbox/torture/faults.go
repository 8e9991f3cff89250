package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
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
	own     failing // the server of Postgres that this run has for itself, or nil
	backups []backup
	paused  bool // a worker was stopped for longer than the lease
	moments []moment
	total   int
}

// failing is a server that can fail, and works again when fail returns.
type failing interface {
	fail(ctx context.Context, i int) error
	close()
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
	if err := r.openExisting(ctx, s); err != nil {
		return err
	}
	r.flags.River = river
	switch {
	case r.total == 0:
	case river:
		err = r.db.enqueueRiver(ctx, r.box.(*outbox.Outbox[pgx.Tx]), r.total)
	default:
		_, _, err = r.box.EnqueueAll(ctx, items(r.total))
	}
	return err
}

// openExisting opens the database and starts the service.
func (r *run) openExisting(ctx context.Context, s settings) (err error) {
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
	r.flags = workerFlags{Database: r.path, Service: r.service.url, FailDials: 0.2, Slots: 32, SendTimeout: r.sendTimeout}
	r.box, err = r.db.outbox(client)
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
	return until(ctx, patience, "progress", func() (bool, error) {
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
	return until(ctx, patience, "the end", func() (bool, error) {
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
	for entry, err := range r.box.List(ctx, outbox.Filter{}) {
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
	server, own, err := t.serverOf(ctx, s)
	if err != nil {
		return nil, err
	}
	if own != nil {
		defer own.close()
	}
	r, err := t.newRun(ctx, server, s.river, t.entries, settings{Faults: true, Delay: 5 * time.Millisecond})
	if err != nil {
		return nil, err
	}
	defer r.close()
	r.own = own
	if err := r.suffer(ctx, s); err != nil {
		return nil, err
	}
	found, err := r.truth(ctx)
	if err != nil {
		return nil, err
	}
	rows = []row{found.row(s.name, r.total, r.limit(s, found.lost), s.gentle())}
	if s.fault == backedUp {
		restored, err := r.restore(ctx)
		return append(rows, restored), err
	}
	return rows, nil
}

// serverOf returns the server for a scenario, "" for SQLite.
func (t *torture) serverOf(ctx context.Context, s scenario) (string, failing, error) {
	switch s.server {
	case shared:
		return t.server, nil, nil
	case single:
		c, err := newCluster(ctx)
		if err != nil {
			return "", nil, err
		}
		return c.url, c, nil
	case withStandby:
		p, err := newPair(ctx)
		if err != nil {
			return "", nil, err
		}
		return p.url, p, nil
	}
	return "", nil, nil
}

// suffer lets the faults happen while the workers send everything.
func (r *run) suffer(ctx context.Context, s scenario) error {
	if err := r.begin(ctx, s); err != nil {
		return err
	}
	added := func() error { return nil }
	if s.server == withStandby {
		added = r.add(ctx, r.total/10)
	}
	way := 1.0
	if s.river { // after a kill, the permits of the process and their entries wait for minutes
		way = 0.6
	}
	for i := range s.times {
		if err := r.at(ctx, way*(float64(i)+rand.Float64())/float64(s.times+1)); err != nil {
			return err
		}
		if err := r.inflict(ctx, s, i); err != nil {
			return err
		}
	}
	if err := added(); err != nil {
		return err
	}
	return r.end(ctx)
}

// add enqueues n more entries, one by one. Each one is tried again until it is confirmed,
// and none after that, so that a server that loses one is found out.
func (r *run) add(ctx context.Context, n int) (wait func() error) {
	before := r.total
	r.total += n
	done := make(chan error, 1)
	go func() {
		for i := range n {
			key := keyOf(before + i)
			if err := until(ctx, patience, "an enqueue", func() (bool, error) {
				_, err := r.box.Enqueue(ctx, outbox.Item{Key: key, Prepared: request(key)})
				return err == nil, err
			}); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	return func() error { return <-done }
}

// limit is how many entries may be unclear.
func (r *run) limit(s scenario, lost int) int {
	atOnce := 2 * r.flags.Slots // being sent, being recorded, and claimed ahead
	switch {
	case s.gentle():
		return lost
	case s.server == single || s.server == withStandby: // each failure affects every process
		return lost + s.times*s.processes*atOnce
	}
	return lost + s.times*atOnce
}

// begin starts the workers.
func (r *run) begin(ctx context.Context, s scenario) error {
	if s.gentle() {
		r.flags.SendTimeout = 10 * time.Second // only lost responses may be unclear
	}
	if s.server != none && (s.fault == clockJumps || s.fault == anyFault) {
		if err := r.wrapClock(ctx); err != nil {
			return err
		}
	}
	return r.startWorkers(s.processes)
}

// end waits until everything is sent and the workers have stopped.
func (r *run) end(ctx context.Context) error {
	if r.paused {
		time.Sleep(r.pause())
		for _, w := range r.workers {
			w.signal(syscall.SIGCONT)
		}
	}
	if err := r.done(ctx); err != nil {
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
func (r *run) stop(p *process) error {
	err := p.stop()
	if err != nil && r.own != nil && strings.Contains(err.Error(), "outbox: run: the database failed until the end") {
		return nil
	}
	return err
}

// inflict makes one fault happen.
func (r *run) inflict(ctx context.Context, s scenario, i int) error {
	victim := i % s.processes
	fault := s.fault
	if fault == anyFault {
		fault = s.choose()
	}
	switch fault {
	case killed:
		r.workers[victim].kill()
	case terminated:
		r.workers[victim].signal(syscall.SIGCONT) // it may be stopped
		if err := r.stop(r.workers[victim]); err != nil {
			return err
		}
	case stopped:
		w := r.workers[victim]
		w.signal(syscall.SIGSTOP)
		time.AfterFunc(r.pause(), func() { w.signal(syscall.SIGCONT) })
		r.paused = true
		return nil
	case fails:
		return r.own.fail(ctx, i)
	case backedUp:
		return r.backUp(ctx, i)
	case clockJumps:
		return r.jump(ctx, i)
	case vacuumed:
		return until(ctx, patience, fault, func() (bool, error) { // the server may have crashed before
			_, err := r.db.pool.Exec(ctx, `VACUUM FULL outbox_entry`)
			return err == nil, err
		})
	}
	w, err := startWorker(r.flags)
	if err != nil {
		return err
	}
	r.workers[victim] = w
	return nil
}

// wrapClock gives the workers a clock that can jump: functions in their schema that come
// before those of Postgres.
func (r *run) wrapClock(ctx context.Context) error {
	u, err := url.Parse(r.flags.Database)
	if err != nil {
		return err
	}
	query := u.Query()
	schema := query.Get("search_path")
	query.Set("search_path", schema+",pg_catalog")
	u.RawQuery = query.Encode()
	r.flags.Database = u.String()
	statements := `CREATE TABLE clock (skew interval NOT NULL); INSERT INTO clock VALUES ('0');`
	for name, kind := range map[string]string{"statement_timestamp": "STABLE", "clock_timestamp": "VOLATILE"} {
		statements += fmt.Sprintf(`CREATE FUNCTION %s() RETURNS timestamptz LANGUAGE sql %s AS
			'SELECT pg_catalog.%s() + (SELECT skew FROM %s.clock)';`, name, kind, name, schema)
	}
	_, err = r.db.pool.Exec(ctx, statements)
	return err
}

// jump moves the clock forward for longer than a lease, and sometimes back a little: what
// was put off then waits for that much longer.
func (r *run) jump(ctx context.Context, i int) error {
	by := r.flags.SendTimeout + 18*time.Second // the lease and 3 s
	if i%2 == 1 {
		by = -3 * time.Second
	}
	return until(ctx, patience, clockJumps, func() (bool, error) {
		_, err := r.db.pool.Exec(ctx, `UPDATE clock SET skew = skew + $1::bigint * interval '1 millisecond'`, by.Milliseconds())
		return err == nil, err
	})
}

// pause is longer than a lease.
func (t *torture) pause() time.Duration { return t.lease() + 3*time.Second }

// lease is the lease of the workers: the send timeout and 15 s.
func (t *torture) lease() time.Duration { return t.sendTimeout + 15*time.Second }

// random makes faults happen at random until the time is over.
func (t *torture) random(ctx context.Context, length time.Duration) (rows []row, err error) {
	start, runs, faults, entries := time.Now(), 0, 0, 0
	for ; time.Since(start) < length && ctx.Err() == nil; runs++ {
		s := scenario{fault: anyFault, times: 1 + rand.N(8), processes: 1 + rand.N(4)}
		s.server = []place{none, none, none, shared, shared, single, withStandby}[rand.N(7)]
		s.name = fmt.Sprintf("random faults, run %d: %d faults, %d processes, %s", runs+1, s.times, s.processes, s.server)
		small := *t
		small.entries = 500 + rand.N(4000)
		found, err := small.disturb(ctx, s)
		if err != nil {
			found = []row{{What: s.name, Required: "no error", Measured: err.Error()}}
		}
		for _, r := range found {
			fmt.Printf("%-6s %s: %s (required: %s)\n", mark(r), r.What, r.Measured, r.Required)
			if !r.OK {
				rows = append(rows, r)
			}
		}
		faults, entries = faults+s.times, entries+small.entries
	}
	missed := len(rows)
	rows = append(rows, row{What: "random faults for " + length.String(), Required: "every run: no duplicate, no wrong state, no entry lost",
		Measured: fmt.Sprintf("%d runs with %d entries and %d faults, %d missed", runs, entries, faults, missed), OK: missed == 0 && runs > 0})
	if missed > 0 {
		err = fmt.Errorf("%d of %d runs missed", missed, runs)
	}
	return rows, err
}
