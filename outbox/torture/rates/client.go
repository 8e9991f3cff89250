package rates

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/messaging-go/messaging/outbox/torture/internal/pgserver"
	"github.com/messaging-go/messaging/outbox/torture/internal/process"
	"github.com/messaging-go/messaging/outbox/torture/internal/report"
	"github.com/messaging-go/messaging/outbox/torture/internal/service"
	"github.com/messaging-go/messaging/outbox/torture/internal/worker"
)

// place is one of the two kinds of database.
type place struct{ name, server string }

func (l Lab) databases() []place { return []place{{"SQLite", ""}, {"Postgres", l.Server}} }

// on calls do with an outbox on a new database.
func (l Lab) on(ctx context.Context, at place, do func(*worker.Database, worker.Task) error) error {
	name, err := worker.Create(ctx, at.server, l.Dir, "pool_max_conns=8")
	if err != nil {
		return err
	}
	db, err := worker.Open(ctx, name, nil)
	if err != nil {
		return err
	}
	defer func() {
		db.Close()
		if at.server != "" {
			_ = pgserver.DropSchema(context.Background(), name)
		}
	}()
	return do(db, worker.Task{Database: name})
}

// judged returns a row whose number is not judged in a quick run.
func (l Lab) judged(what, required, measured string, ok bool) []report.Row {
	if l.Quick {
		required, ok = required+" (not judged)", true
	}
	return []report.Row{report.Judged(ok, what, required, measured)}
}

// againstClient compares deliveries with requests of the client alone, by turns.
func (l Lab) againstClient(ctx context.Context, at place, inFlight int) ([]report.Row, error) {
	const least, rounds = 0.90, 3
	var ratios, alone, through [rounds]float64
	err := l.on(ctx, at, func(db *worker.Database, t worker.Task) (err error) {
		t.InFlight = inFlight
		added := 0
		for i := range rounds {
			first := t
			first.Alone = true
			if alone[i], err = l.rateTo(ctx, first); err != nil {
				return err
			}
			added += l.enough(int(1.2 * alone[i]))
			if _, err := db.EnqueueAll(ctx, worker.Items(added)); err != nil {
				return err
			}
			if through[i], err = l.rateTo(ctx, t); err != nil {
				return err
			}
			ratios[i] = through[i] / alone[i]
		}
		return nil
	})
	sorted := slices.Sorted(slices.Values(ratios[:]))
	median := sorted[rounds/2]
	return l.judged(fmt.Sprintf("deliveries against requests of the client alone, 20 ms each, %d in flight, %s", inFlight, at.name),
		fmt.Sprintf("≥ %.2f", least), fmt.Sprintf("%.2f (of %.2f; %.0f/s instead of %.0f/s at last)", median, sorted, through[rounds-1],
			alone[rounds-1]), median >= least), err
}

// rateTo measures a worker whose requests take 20 ms.
func (l Lab) rateTo(ctx context.Context, t worker.Task) (float64, error) {
	to := &service.Service{Delay: 20 * time.Millisecond}
	to.Start()
	defer to.Close()
	t.Service = to.URL()
	w, err := t.Start()
	if err != nil {
		return 0, err
	}
	defer w.Kill()
	return l.rate(ctx, to.Requests)
}

// latency measures the time from an enqueue to the arrival of its request while the outbox
// is idle.
func (l Lab) latency(ctx context.Context, at place) (rows []report.Row, err error) {
	n := 200
	if l.Quick {
		n = 20
	}
	to := &service.Service{}
	to.Start()
	defer to.Close()
	enqueued := make(map[string]time.Time, n)
	err = l.on(ctx, at, func(db *worker.Database, t worker.Task) error {
		t.Service, t.InFlight = to.URL(), 64
		w, err := t.Start()
		if err != nil {
			return err
		}
		defer w.Kill()
		for i := range n {
			time.Sleep(50*time.Millisecond + time.Duration(i%7)*7*time.Millisecond)
			enqueued[worker.Key(i)] = time.Now()
			if _, err := db.Enqueue(ctx, worker.ItemOf(worker.Key(i))); err != nil {
				return err
			}
		}
		return process.Until(ctx, "the end", func() (bool, error) { return to.Done() == n, nil })
	})
	if err != nil {
		return nil, err
	}
	var waits []time.Duration
	for key, arrived := range to.First() {
		waits = append(waits, arrived.Sub(enqueued[key]))
	}
	slices.Sort(waits)
	p50, p99 := waits[len(waits)/2], waits[len(waits)*99/100]
	const limit = 80 * time.Millisecond
	return l.judged("time from Enqueue to the request of another process, idle, p99, "+at.name, "≤ "+limit.String(),
		fmt.Sprintf("%s (p50 %s)", p99.Round(100*time.Microsecond), p50.Round(100*time.Microsecond)), p99 <= limit), nil
}
