package sidebyside

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/messaging-go/messaging/outbox/torture/internal/pgserver"
	"github.com/messaging-go/messaging/outbox/torture/internal/process"
	"github.com/messaging-go/messaging/outbox/torture/internal/report"
	"github.com/messaging-go/messaging/outbox/torture/internal/service"
	"github.com/messaging-go/messaging/outbox/torture/internal/worker"
)

// Head is the head of the table.
var Head = []string{"", "carried out twice", "of them after a lost response", "lost", "listed as unknown", "deliveries/s", "commits/s"}

// Lab determines where and how much is tried.
type Lab struct {
	Server  string // the URL of Postgres
	Dir     string // for SQLite files
	Entries int
	Kills   int
	Callers int
	Commits time.Duration // for which the commits of the callers are counted
}

// Parts returns a part for each way.
func Parts(l Lab) []report.Part {
	parts := make([]report.Part, len(ways))
	for i, w := range ways {
		parts[i] = report.Part{Table: "side by side", Name: w.name, Do: func(ctx context.Context) ([]report.Row, error) {
			r, err := l.try(ctx, i)
			return []report.Row{r.row(w)}, err
		}}
	}
	return parts
}

// result is what became of one way.
type result struct {
	// twice counts the requests that were carried out more than once, and afterLoss those
	// among them that had lost a response.
	twice, afterLoss int
	// lost counts the requests that were not carried out and are not listed as unknown.
	lost int
	// unknown counts the requests that are listed as unknown, and unknownCarried those among
	// them that were carried out.
	unknown, unknownCarried int
	deliveries, commits     float64 // per second
}

// row returns the row of the table. Nothing may be lost, and this outbox sends nothing twice.
func (r result) row(w way) report.Row {
	unknown := fmt.Sprint(r.unknown)
	if r.unknown > 0 {
		unknown += fmt.Sprintf(" (%d carried out)", r.unknownCarried)
	}
	return report.Row{Missed: r.lost > 0 || w.ours && r.twice > 0,
		Cells: []string{w.String(), fmt.Sprint(r.twice), fmt.Sprint(r.afterLoss), fmt.Sprint(r.lost), unknown,
			fmt.Sprintf("%.0f", r.deliveries), fmt.Sprintf("%.0f", r.commits)}}
}

// on opens a way in a new database for do.
func (l Lab) on(ctx context.Context, w way, do func(c contender, database string) error) error {
	server := l.Server
	if w.onFile {
		server = ""
	}
	database, err := worker.Create(ctx, server, l.Dir, "pool_max_conns=32")
	if err != nil {
		return err
	}
	if !w.onFile {
		defer func() { _ = pgserver.DropSchema(context.Background(), database) }()
	}
	c, err := w.open(ctx, database, nil)
	if err != nil {
		return err
	}
	defer c.close()
	if err := c.create(ctx); err != nil {
		return err
	}
	return do(c, database)
}

// try sends all entries while the process that sends is killed.
func (l Lab) try(ctx context.Context, i int) (r result, err error) {
	if err := l.on(ctx, ways[i], func(c contender, _ string) (err error) {
		r.commits, err = l.measureCommits(ctx, c)
		return err
	}); err != nil {
		return r, fmt.Errorf("commits: %w", err)
	}
	to := &service.Service{Loses: true, Delay: 5 * time.Millisecond}
	to.Start()
	keys := make([]string, l.Entries)
	for i := range keys {
		keys[i] = worker.Key(i)
	}
	err = l.on(ctx, ways[i], func(c contender, database string) (err error) {
		defer to.Close()
		if err := c.fill(ctx, keys); err != nil {
			return fmt.Errorf("fill: %w", err)
		}
		if r.deliveries, err = l.disturb(ctx, task{i, database, to.URL()}, c, to); err != nil {
			return err
		}
		to.Close() // which waits for the last requests
		unknown, err := c.unknown(ctx)
		r.count(keys, unknown, to)
		return err
	})
	return r, err
}

// measureCommits returns the commits of all callers per second.
func (l Lab) measureCommits(ctx context.Context, c contender) (float64, error) {
	if err := c.commit(ctx, worker.Key(0)); err != nil { // the first one takes longer
		return 0, err
	}
	var next, committed atomic.Int64
	var problem atomic.Pointer[error]
	limited, cancel := context.WithTimeout(ctx, l.Commits)
	defer cancel()
	start := time.Now()
	var group sync.WaitGroup
	for range l.Callers {
		group.Go(func() {
			for limited.Err() == nil {
				if err := c.commit(limited, worker.Key(int(next.Add(1)))); err == nil {
					committed.Add(1)
				} else if limited.Err() == nil {
					problem.Store(&err)
					return
				}
			}
		})
	}
	group.Wait()
	if err := problem.Load(); err != nil {
		return 0, *err
	}
	return float64(committed.Load()) / time.Since(start).Seconds(), nil
}

// The parts of the way at which the rate is measured, and between which kills happen.
const rateFrom, rateTo, killTo = 0.02, 0.3, 0.85

// disturb runs the process that sends and kills it now and then, until nothing is left to
// send. It returns the rate before the first kill.
func (l Lab) disturb(ctx context.Context, t task, c contender, to *service.Service) (rate float64, err error) {
	sender, err := process.Start(Name, t)
	if err != nil {
		return 0, err
	}
	defer func() { sender.Kill() }()
	at := func(part float64) error {
		return process.Until(ctx, "progress", func() (bool, error) { return to.Done() >= int(part*float64(l.Entries)), nil })
	}
	if err := at(rateFrom); err != nil {
		return 0, err
	}
	start, before := time.Now(), to.Done()
	if err := at(rateTo); err != nil {
		return 0, err
	}
	rate = float64(to.Done()-before) / time.Since(start).Seconds()
	for _, part := range l.schedule() {
		if err := at(part); err != nil {
			return 0, err
		}
		sender.Kill()
		if sender, err = process.Start(Name, t); err != nil {
			return 0, err
		}
	}
	return rate, process.Until(ctx, "the end", func() (bool, error) {
		left, err := c.left(ctx)
		return err == nil && left == 0, err
	})
}

// schedule returns at which parts of the way the process is killed, the same for every way.
func (l Lab) schedule() []float64 {
	random := rand.New(rand.NewPCG(4711, 4711))
	parts := make([]float64, l.Kills)
	for i := range parts {
		parts[i] = rateTo + (killTo-rateTo)*random.Float64()
	}
	slices.Sort(parts)
	return parts
}

// count compares what the service carried out with what was to be sent.
func (r *result) count(keys []string, unknown map[string]bool, to *service.Service) {
	carried := to.Carried()
	for _, key := range keys {
		n := carried[key]
		switch {
		case n > 1:
			r.twice++
			_, lost := to.Fate(key)
			r.afterLoss += btoi(lost)
		case n == 0 && !unknown[key]:
			r.lost++
		}
		if unknown[key] {
			r.unknown++
			r.unknownCarried += btoi(n > 0)
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
