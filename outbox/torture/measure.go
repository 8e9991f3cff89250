package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/messaging-go/messaging/outbox"
)

// databases returns the two kinds of database.
func (t *torture) databases() []struct{ name, server string } {
	return []struct{ name, server string }{{"SQLite", ""}, {"Postgres", t.server}}
}

// judged returns a row whose number is not judged in a quick run.
func (t *torture) judged(what, required, measured string, ok bool) row {
	if t.quick {
		required, ok = required+" (not judged)", true
	}
	return row{What: what, Required: required, Measured: measured, OK: ok}
}

// rollbacks enqueues in transactions and rolls half of them back.
func (t *torture) rollbacks(ctx context.Context) (rows []row, err error) {
	n := 2000
	if t.quick {
		n = 100
	}
	for _, db := range t.databases() {
		r, err := t.newRun(ctx, db.server, false, 0, settings{})
		if err != nil {
			return nil, err
		}
		defer r.close()
		if err := r.startWorkers(1); err != nil {
			return nil, err
		}
		if err := r.db.inTransactions(ctx, r.path, r.box, n); err != nil {
			return nil, err
		}
		if err := r.done(ctx); err != nil {
			return nil, err
		}
		told, err := r.service.ask("report")
		if err != nil {
			return nil, err
		}
		wrong := 0
		for i := range n {
			wrong += btoi(told.Carried[keyOf(i)] != 1-i%2)
		}
		found, err := r.truth(ctx)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{What: fmt.Sprintf("%d transactions committed and %d rolled back, %s", n/2, n/2, db.name),
			Required: fmt.Sprintf("%d entries, each sent once, and nothing else sent", n/2),
			Measured: fmt.Sprintf("%d entries, %d sent, %d mismatches", found.sum, told.Total, wrong+found.wrong+found.twice),
			OK:       found.sum == n/2 && told.Total == n/2 && wrong+found.wrong+found.twice == 0})
	}
	return rows, nil
}

// afterKill measures how soon a new process continues after one is killed, and how soon
// the unclear entries are listed.
func (t *torture) afterKill(ctx context.Context) (rows []row, err error) {
	for _, db := range t.databases() {
		found, err := t.afterKillOn(ctx, db.name, db.server)
		if err != nil {
			return rows, err
		}
		rows = append(rows, found...)
	}
	return rows, nil
}

func (t *torture) afterKillOn(ctx context.Context, name, server string) ([]row, error) {
	r, err := t.newRun(ctx, server, false, t.entries/4, settings{Delay: 20 * time.Millisecond})
	if err != nil {
		return nil, err
	}
	defer r.close()
	r.flags.FailDials = 0
	if err := r.startWorkers(1); err != nil {
		return nil, err
	}
	if err := r.at(ctx, 0.3); err != nil {
		return nil, err
	}
	killed, err := r.replaceWorker(ctx)
	if err != nil {
		return nil, err
	}
	flows, claimed := time.Since(killed), 0
	if err := until(ctx, patience, "the rest", func() (bool, error) {
		counts, err := r.box.Counts(ctx)
		claimed = counts.Sending + counts.Unclear
		return err == nil && counts.Pending == 0, err
	}); err != nil {
		return nil, err
	}
	if err := r.done(ctx); err != nil {
		return nil, err
	}
	listed, limit := time.Since(killed), t.lease()+10*time.Second
	counts, err := r.box.Counts(ctx)
	return []row{
		{What: "after kill -9, a new process sends, " + name, Required: "within 2 s",
			Measured: fmt.Sprintf("%.1f s, including the start of the process", flows.Seconds()), OK: t.quick || flows <= 2*time.Second},
		{What: "after kill -9, the unclear entries are listed, " + name,
			Required: fmt.Sprintf("within %.0f s (the lease plus 10 s)", limit.Seconds()),
			Measured: fmt.Sprintf("%.0f s, %d unclear (%d claimed when none was pending)", listed.Seconds(), counts.Unclear, claimed),
			OK:       t.quick || listed <= limit}}, err
}

// replaceWorker kills the worker, starts another one, and waits until that one sends.
func (r *run) replaceWorker(ctx context.Context) (killed time.Time, err error) {
	before, err := r.service.ask("total")
	if err != nil {
		return killed, err
	}
	r.workers[0].kill()
	killed, r.workers = time.Now(), nil
	if err := r.startWorkers(1); err != nil {
		return killed, err
	}
	return killed, r.progress(ctx, before)
}

// progress waits until more was carried out than what was in flight.
func (r *run) progress(ctx context.Context, before report) error {
	return until(ctx, patience, "progress", func() (bool, error) {
		now, err := r.service.ask("total")
		return err == nil && now.Total > before.Total+r.flags.Slots, err
	})
}

// outage is how the service fails for a time.
type outage struct {
	begin, end func() error
	requests   func() (int, error)
	closing    int // how many failures open the breaker
}

// outages makes the service fail for 5 s while many entries are pending.
func (t *torture) outages(ctx context.Context) (rows []row, err error) {
	pending := 110_000
	if t.quick {
		pending = 1500
	}
	for _, kind := range []string{"wrong API key", "service down"} {
		row, err := t.outage(ctx, kind, pending)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

const outageLength = 5 * time.Second

func (t *torture) outage(ctx context.Context, kind string, pending int) (row, error) {
	r, err := t.newRun(ctx, "", false, pending, settings{Delay: 10 * time.Millisecond})
	if err != nil {
		return row{}, err
	}
	defer r.close()
	r.flags.FailDials, r.flags.SendTimeout = 0, 25*time.Second // only the outage may make an entry unclear
	o := r.wrongKey()
	if kind == "service down" {
		o = r.serviceDown()
	}
	if err := r.startWorkers(1); err != nil {
		return row{}, err
	}
	if err := r.at(ctx, 0.03); err != nil {
		return row{}, err
	}
	first, last, counts, err := r.during(ctx, o)
	if err != nil {
		return row{}, err
	}
	atFirst := 2*r.flags.Slots + 16
	return row{What: kind + " for 5 s, over 100000 entries pending",
		Required: fmt.Sprintf("0 rejected, 0 unclear, at most %d requests before the breaker is open and 20 while it is, sending resumes "+
			"afterwards", atFirst),
		Measured: fmt.Sprintf("%d rejected, %d unclear, %d requests while the breaker was open (%d before), %d entries still pending",
			counts.Rejected,
			counts.Unclear, last-first, first, counts.Pending),
		OK: counts.Rejected == 0 && counts.Unclear == 0 && first <= atFirst && last-first <= 20 &&
			(t.quick || counts.Pending >= 100_000)}, nil
}

// during lets an outage begin and end, and waits until sending goes on. It returns how many
// requests there were until the breaker was open and in all, and the counts at the end of the
// outage.
func (r *run) during(ctx context.Context, o outage) (first, last int, counts outbox.Counts, err error) {
	if err = o.begin(); err != nil {
		return 0, 0, counts, err
	}
	if first, err = r.closed(ctx, o); err != nil {
		return 0, 0, counts, err
	}
	time.Sleep(outageLength)
	if last, err = o.requests(); err != nil {
		return 0, 0, counts, err
	}
	if counts, err = r.box.Counts(ctx); err != nil {
		return 0, 0, counts, err
	}
	before, err := r.service.ask("total")
	if err == nil {
		err = o.end()
	}
	if err == nil {
		err = r.progress(ctx, before)
	}
	return first, last, counts, err
}

// closed waits until the breaker is open: enough requests have failed, and no entry is claimed
// any more. It returns how many requests there were.
func (r *run) closed(ctx context.Context, o outage) (requests int, err error) {
	err = until(ctx, patience, "an open breaker", func() (bool, error) {
		if requests, err = o.requests(); err != nil || requests < o.closing {
			return false, err
		}
		counts, err := r.box.Counts(ctx)
		return err == nil && counts.Sending == 0, err
	})
	return requests, err
}

// wrongKey makes the service respond with 401.
func (r *run) wrongKey() outage {
	var before int
	return outage{
		closing: 1,
		begin: func() error {
			told, err := r.service.ask("total")
			before = told.Requests
			return errors.Join(err, r.service.set(settings{Status: http.StatusUnauthorized}))
		},
		end: func() error { return r.service.set(settings{}) },
		requests: func() (int, error) {
			told, err := r.service.ask("total")
			return told.Requests - before, err
		},
	}
}

// serviceDown makes every connection fail.
func (r *run) serviceDown() outage {
	r.flags.DownFile = newFile(r.dir)
	return outage{
		closing: 8,
		begin:   func() error { return os.WriteFile(r.flags.DownFile, nil, 0o600) },
		end:     func() error { return os.Remove(r.flags.DownFile) },
		requests: func() (int, error) {
			info, err := os.Stat(r.flags.DownFile)
			if err != nil {
				return 0, err
			}
			return int(info.Size()), nil
		},
	}
}

// aMillion measures sizes and rates with a million entries.
func (t *torture) aMillion(ctx context.Context) ([]row, error) {
	path := newFile(t.dir)
	flags := workerFlags{Database: path, Slots: 64, SendTimeout: 25 * time.Second, Enqueue: t.million}
	enqueued, delivered, err := enqueueAndDeliver(flags)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(path) }()
	const mb = 1 << 20
	rss := max(enqueued.RSS, delivered.RSS)
	name := fmt.Sprintf("%d entries on SQLite: ", t.million)
	return []row{
		t.judged(name+"time to enqueue", "≤ 20 s", fmt.Sprintf("%.1f s", enqueued.Seconds),
			enqueued.Seconds <= 20),
		t.judged(name+"size of the file after delivery", "≤ 400 MB", fmt.Sprintf("%d MB", info.Size()/mb), info.Size() <= 400*mb),
		t.judged(name+"largest resident memory", "≤ 64 MB", fmt.Sprintf("%d MB", rss/mb), rss <= 64*mb),
		t.judged(name+"deliveries per second, no-op sends", "≥ 15000/s", fmt.Sprintf("%.0f/s", delivered.rate()),
			delivered.rate() >= 15000),
	}, nil
}

// enqueueAndDeliver runs a worker that enqueues, and then one that delivers all of it.
func enqueueAndDeliver(flags workerFlags) (enqueued, delivered measured, err error) {
	if enqueued, err = runWorker(flags); err != nil {
		return enqueued, delivered, err
	}
	flags.Enqueue, flags.UntilEmpty = 0, true
	delivered, err = runWorker(flags)
	return enqueued, delivered, err
}

// largeBodies measures the memory that large bodies take. Garbage is part of it, and a busy
// machine collects it late, so the best of up to three times counts.
func (t *torture) largeBodies(ctx context.Context) (rows []row, err error) {
	const mb = 1 << 20
	for _, db := range t.databases() {
		var found []row
		for times := 0; times < 3 && (found == nil || slices.ContainsFunc(found, func(r row) bool { return !r.OK })); times++ {
			enqueued, delivered, err := t.withLargeBodies(ctx, db.server)
			if err != nil {
				return nil, err
			}
			name := fmt.Sprintf("%d bodies of %d KB, %s: largest resident memory, ", delivered.Count, largeBody/1000, db.name)
			found = []row{
				{What: name + "EnqueueAll", Required: "≤ 100 MB", Measured: fmt.Sprintf("%d MB, %.1f s", enqueued.RSS/mb, enqueued.Seconds),
					OK: enqueued.RSS <= 100*mb},
				{What: name + "Run, 64 in flight", Required: "≤ 256 MB",
					Measured: fmt.Sprintf("%d MB, %.1f s", delivered.RSS/mb, delivered.Seconds), OK: delivered.RSS <= 256*mb}}
		}
		rows = append(rows, found...)
	}
	return rows, nil
}

// largeBody is the size of a large body.
const largeBody = 800_000

// withLargeBodies enqueues entries with large bodies and delivers them.
func (t *torture) withLargeBodies(ctx context.Context, server string) (enqueued, delivered measured, err error) {
	n := 1000
	if t.quick {
		n = 100
	}
	r, err := t.newRun(ctx, server, false, 0, settings{Delay: 20 * time.Millisecond})
	if err != nil {
		return enqueued, delivered, err
	}
	defer r.close()
	return enqueueAndDeliver(workerFlags{Database: r.path, Service: r.service.url, Slots: 64, SendTimeout: 25 * time.Second,
		Enqueue: n, BodySize: largeBody})
}

// stops pauses a worker on SQLite at random, and counts how often another process then
// cannot write, because the worker holds the write lock.
func (t *torture) stops(ctx context.Context) (rows []row, err error) {
	times := 100
	if t.quick {
		times = 10
	}
	r, err := t.newRun(ctx, "", false, times*300, settings{Delay: 20 * time.Millisecond})
	if err != nil {
		return nil, err
	}
	defer r.close()
	r.flags.FailDials, r.flags.Slots = 0, 20 // 1,000 deliveries a second
	if err := r.startWorkers(1); err != nil {
		return nil, err
	}
	if err := r.at(ctx, 0.02); err != nil {
		return nil, err
	}
	held := 0
	for i := range times {
		time.Sleep(50*time.Millisecond + rand.N(100*time.Millisecond))
		r.workers[0].signal(syscall.SIGSTOP)
		limited, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		key := fmt.Sprintf("stop %d", i)
		_, err := r.box.Enqueue(limited, outbox.Item{Key: key, Prepared: request(key)})
		cancel()
		r.workers[0].signal(syscall.SIGCONT)
		held += btoi(err != nil)
	}
	return []row{t.judged(fmt.Sprintf("stops of a busy worker that hold up another process, SQLite, of %d", times), "≤ 1 of 100",
		fmt.Sprintf("%d", held), held*100 <= times)}, ctx.Err()
}

func (m measured) rate() float64 { return float64(m.Count) / m.Seconds }

func runWorker(f workerFlags) (measured, error) {
	w, err := startWorker(f)
	if err != nil {
		return measured{}, err
	}
	defer w.kill()
	return w.measured()
}

// rates measures deliveries with a send that costs nothing.
func (t *torture) rates(ctx context.Context) (rows []row, err error) {
	n := 60_000
	if t.quick {
		n = 2000
	}
	for _, kind := range []struct {
		name, server string
		river        bool
		least        float64
	}{{"SQLite", "", false, 15000}, {"Postgres", t.server, false, 10000}, {"River", t.server, true, 8000}} {
		var found []float64
		for range 3 {
			r, err := t.newRun(ctx, kind.server, kind.river, n, settings{})
			if err != nil {
				return nil, err
			}
			m, err := runWorker(workerFlags{Database: r.path, Slots: 64, SendTimeout: 25 * time.Second, River: kind.river, UntilEmpty: true})
			r.close()
			if err != nil {
				return nil, err
			}
			found = append(found, m.rate())
		}
		slices.Sort(found)
		rows = append(rows, t.judged("deliveries per second, no-op sends, "+kind.name, fmt.Sprintf("≥ %.0f", kind.least),
			fmt.Sprintf("%.0f (median of %.0f)", found[1], found), found[1] >= kind.least))
	}
	return rows, nil
}

// againstSDK compares the outbox with the SDK alone. It measures them in turn, for long
// enough that the start of the outbox, with one request at first, hardly counts.
func (t *torture) againstSDK(ctx context.Context) (rows []row, err error) {
	length := 8 * time.Second
	if t.quick {
		length = 300 * time.Millisecond
	}
	if t.profiles != "" {
		if err := os.MkdirAll(t.profiles, 0o755); err != nil {
			return nil, err
		}
	}
	const least = 0.90
	for _, slots := range []int{64, 256} {
		for _, db := range t.databases() {
			var ratios []float64
			var last string
			for range 3 {
				alone, through, err := t.rateToSDK(ctx, db.name, db.server, slots, length)
				if err != nil {
					return nil, err
				}
				ratios = append(ratios, through/alone)
				last = fmt.Sprintf("%.0f/s instead of %.0f/s at last", through, alone)
			}
			slices.Sort(ratios)
			rows = append(rows, t.judged(fmt.Sprintf("throughput relative to the client alone, 20 ms per request, %d in flight, %s", slots, db.name),
				fmt.Sprintf("≥ %.2f", least), fmt.Sprintf("%.2f (median of %.2f; %s)", ratios[1], ratios, last), ratios[1] >= least))
		}
	}
	return rows, nil
}

// rateToSDK returns how many requests a second the SDK sends alone and the outbox sends
// through it.
func (t *torture) rateToSDK(ctx context.Context, name, server string, slots int, length time.Duration) (alone, through float64, err error) {
	n := int(float64(slots) / 0.02 * length.Seconds())
	r, err := t.newRun(ctx, server, false, 0, settings{Delay: 20 * time.Millisecond})
	if err != nil {
		return 0, 0, err
	}
	defer r.close()
	profile := func(of string) string {
		if t.profiles == "" {
			return ""
		}
		return filepath.Join(t.profiles, fmt.Sprintf("%s-%d-%s.pprof", name, slots, of))
	}
	first, err := runWorker(workerFlags{Service: r.service.url, Slots: slots, SDK: length, Profile: profile("alone")})
	if err != nil {
		return 0, 0, err
	}
	n = min(n, int(first.rate()*length.Seconds()))
	if _, _, err := r.box.EnqueueAll(ctx, items(n)); err != nil {
		return 0, 0, err
	}
	second, err := runWorker(workerFlags{Database: r.path, Service: r.service.url, Slots: slots,
		SendTimeout: 25 * time.Second, UntilEmpty: true, Profile: profile("outbox")})
	return first.rate(), second.rate(), err
}

// scaling measures several processes on Postgres.
func (t *torture) scaling(ctx context.Context) ([]row, error) {
	window := 5 * time.Second
	if t.quick {
		window = 500 * time.Millisecond
	}
	rate := make(map[int]float64)
	for _, processes := range []int{1, 2, 4} {
		n := int(float64(processes) * 64 / 0.02 * (window.Seconds() + 3))
		r, err := t.newRun(ctx, t.server, false, n, settings{})
		if err != nil {
			return nil, err
		}
		defer r.close()
		r.flags = workerFlags{Database: r.path, SendDelay: 20 * time.Millisecond, Slots: 64, SendTimeout: 25 * time.Second}
		if err := r.startWorkers(processes); err != nil {
			return nil, err
		}
		time.Sleep(time.Second)
		before, err := r.box.Counts(ctx)
		if err != nil {
			return nil, err
		}
		start := time.Now()
		time.Sleep(window)
		after, err := r.box.Counts(ctx)
		if err != nil {
			return nil, err
		}
		rate[processes] = float64(after.Accepted-before.Accepted) / time.Since(start).Seconds()
		for _, w := range r.workers {
			w.kill()
		}
		r.workers = nil
	}
	two, four := rate[2]/rate[1], rate[4]/rate[1]
	const load = "Postgres, 20 ms per send, 64 in flight each"
	return []row{
		t.judged("throughput of 2 processes relative to 1, "+load, "≥ 1.6",
			fmt.Sprintf("%.2f (%.0f/s instead of %.0f/s)", two, rate[2], rate[1]), two >= 1.6),
		t.judged("throughput of 4 processes relative to 1, "+load, "≥ 2.4", fmt.Sprintf("%.2f (%.0f/s)", four, rate[4]), four >= 2.4),
	}, nil
}

// latencies measures the time from an enqueue to the arrival of its request while the
// outbox is idle.
func (t *torture) latencies(ctx context.Context) (rows []row, err error) {
	n := 200
	if t.quick {
		n = 20
	}
	for i, db := range t.databases() {
		r, err := t.newRun(ctx, db.server, false, 0, settings{})
		if err != nil {
			return nil, err
		}
		defer r.close()
		r.flags.FailDials = 0
		if err := r.startWorkers(1); err != nil {
			return nil, err
		}
		enqueued := make(map[string]time.Time)
		for i := range n {
			time.Sleep(50*time.Millisecond + time.Duration(i%7)*7*time.Millisecond)
			key := keyOf(i)
			enqueued[key] = time.Now()
			if _, err := r.box.Enqueue(ctx, outbox.Item{Key: key, Prepared: request(key)}); err != nil {
				return nil, err
			}
		}
		if err := r.done(ctx); err != nil {
			return nil, err
		}
		told, err := r.service.ask("report")
		if err != nil {
			return nil, err
		}
		var waits []time.Duration
		for key, at := range told.Arrived {
			waits = append(waits, at[0].Sub(enqueued[key]))
		}
		slices.Sort(waits)
		p50, p99 := waits[len(waits)/2], waits[len(waits)*99/100]
		limit := []time.Duration{80 * time.Millisecond, 25 * time.Millisecond}[i]
		rows = append(rows, t.judged("time from enqueue to arrival when idle, p99, "+db.name, "≤ "+limit.String(),
			fmt.Sprintf("%s (p50 %s)", p99.Round(100*time.Microsecond), p50.Round(100*time.Microsecond)), p99 <= limit))
	}
	return rows, nil
}
