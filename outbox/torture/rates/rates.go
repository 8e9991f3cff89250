// Package rates measures what an outbox costs: against the client alone, with more processes,
// with larger tables, and in a busy table. Sends go nowhere, or to a service that
// takes 20 ms, so that the outbox and its database are what is measured.
package rates

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/messaging-go/messaging/outbox/torture/internal/pgserver"
	"github.com/messaging-go/messaging/outbox/torture/internal/process"
	"github.com/messaging-go/messaging/outbox/torture/internal/report"
	"github.com/messaging-go/messaging/outbox/torture/internal/worker"
)

// Lab determines where and how much is measured.
type Lab struct {
	Server       string // the URL of Postgres
	Dir          string // for SQLite files
	Quick        bool   // the numbers mean nothing, so none is judged
	Warm, Window time.Duration
	Processes    int
	Entries      int // in the largest table
	Deliveries   int // for the growth of the table
}

// The heads of the tables.
var (
	ClientHead    = []string{"", "required", "measured", "result"}
	ProcessesHead = []string{"processes", "deliveries/s, sends that cost nothing", "deliveries/s, sends of 20 ms", "deliveries/s, outboxriver"}
	SizeHead      = []string{"accepted entries", "pending entries", "table and indexes", "claim of 64, p50 and p99",
		"plain UPDATE of 64, p50 and p99", "EnqueueTx with commit, p50", "Counts", "deliveries/s"}
	BloatHead = []string{"deliveries so far", "deliveries/s", "rows", "dead rows", "table", "indexes", "Counts", "autovacuums"}
)

// Parts returns the measurements.
func Parts(l Lab) []report.Part {
	var parts []report.Part
	for _, inFlight := range []int{64, 256} {
		for _, db := range l.databases() {
			parts = append(parts, report.Part{Table: "the client", Name: fmt.Sprintf("%d in flight, %s", inFlight, db.name),
				Do: func(ctx context.Context) ([]report.Row, error) { return l.againstClient(ctx, db, inFlight) }})
		}
	}
	for _, db := range l.databases() {
		parts = append(parts, report.Part{Table: "the client", Name: "latency, " + db.name,
			Do: func(ctx context.Context) ([]report.Row, error) { return l.latency(ctx, db) }})
	}
	return append(parts, report.Part{Table: "processes", Do: l.processes}, report.Part{Table: "size", Do: l.sizes},
		report.Part{Table: "bloat", Do: l.bloat})
}

// crew is worker processes that send nowhere, and what they have sent.
type crew struct {
	workers []*process.Process
	sent    []atomic.Int64
}

// hire starts n workers.
func hire(n int, t worker.Task) (*crew, error) {
	c := &crew{sent: make([]atomic.Int64, n)}
	for i := range n {
		w, err := t.Start()
		if err != nil {
			c.fire()
			return nil, err
		}
		c.workers = append(c.workers, w)
		go func() {
			var sent int64
			for w.Read(&sent) == nil {
				c.sent[i].Store(sent)
			}
		}()
	}
	return c, nil
}

// fire ends all processes.
func (c *crew) fire() {
	for _, w := range c.workers {
		w.Kill()
	}
}

// total returns how much all processes have sent.
func (c *crew) total() (n int) {
	for i := range c.sent {
		n += int(c.sent[i].Load())
	}
	return n
}

// rate measures how much is sent in a second, some time after the first send.
func (l Lab) rate(ctx context.Context, total func() int) (float64, error) {
	if err := process.Until(ctx, "the first send", func() (bool, error) { return total() > 0, nil }); err != nil {
		return 0, err
	}
	time.Sleep(l.Warm)
	before, start := total(), time.Now()
	time.Sleep(l.Window)
	sent := total() - before
	if sent == 0 {
		return 0, errors.New("nothing was sent while it was measured")
	}
	return float64(sent) / time.Since(start).Seconds(), nil
}

// rateOf measures n workers that send nowhere.
func (l Lab) rateOf(ctx context.Context, n int, t worker.Task) (float64, error) {
	c, err := hire(n, t)
	if err != nil {
		return 0, err
	}
	defer c.fire()
	return l.rate(ctx, c.total)
}

// enough returns how many entries cannot be sent in a measurement.
func (l Lab) enough(perSecond int) int {
	return int(float64(perSecond) * (2*l.Warm + l.Window).Seconds())
}

// processes measures more processes on one database.
func (l Lab) processes(ctx context.Context) (rows []report.Row, err error) {
	for n := 1; n <= l.Processes; n *= 2 {
		cells := []string{fmt.Sprint(n)}
		for _, t := range []worker.Task{{}, {SendDelay: 20 * time.Millisecond}, {River: true}} {
			rate, err := l.delivered(ctx, n, t)
			if err != nil {
				return nil, err
			}
			cells = append(cells, fmt.Sprintf("%.0f", rate))
		}
		rows = append(rows, report.Row{Cells: cells})
	}
	return rows, nil
}

// delivered measures n workers on a new database.
func (l Lab) delivered(ctx context.Context, n int, t worker.Task) (float64, error) {
	s, err := l.newStore(ctx)
	if err != nil {
		return 0, err
	}
	defer s.close()
	if err := s.add(ctx, pendingRows, l.enough(25_000)); err != nil {
		return 0, err
	}
	if err := s.vacuum(ctx); err != nil {
		return 0, err
	}
	t.Database, t.InFlight = s.name, 64
	return l.rateOf(ctx, n, t)
}

// newStore creates a database on the server.
func (l Lab) newStore(ctx context.Context) (*store, error) {
	name, err := worker.Create(ctx, l.Server, "")
	if err != nil {
		return nil, err
	}
	db, err := worker.Open(ctx, name, nil)
	if err != nil {
		return nil, errors.Join(err, pgserver.DropSchema(ctx, name))
	}
	return &store{Database: db, name: name}, nil
}
