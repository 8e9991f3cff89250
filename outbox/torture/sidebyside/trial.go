package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	crand "crypto/rand"

	"github.com/messaging-go/messaging/outbox/torture/internal/pgserver"
	"github.com/messaging-go/messaging/outbox/torture/internal/process"
)

// plan is what every way goes through.
type plan struct {
	entries, kills, inFlight, callers int
	// commits is how long the commits of the callers are counted.
	commits time.Duration
	server  string // the URL of Postgres
	dir     string // for SQLite files
}

// result is what became of one way.
type result struct {
	Name, Version, Settings, Listed string
	Ours                            bool
	Entries, Kills                  int
	// Twice counts the requests that were carried out more than once. TwiceAfterLoss
	// counts those among them that had lost a response.
	Twice, TwiceAfterLoss int
	// Lost counts the requests that were not carried out and are not listed as unknown.
	Lost int
	// Unknown counts the requests that are listed as unknown, UnknownCarried those among
	// them that were carried out.
	Unknown, UnknownCarried int
	// Deliveries and Commits are rates, per second.
	Deliveries, Commits float64
	// Seconds is how long it took until nothing was left to send.
	Seconds float64
}

// task is what a worker process does.
type task struct {
	Way, Database, URL, Key string
	InFlight                int
}

// open opens a way in a new database.
func (p plan) open(ctx context.Context, w way) (c contender, database string, err error) {
	if w.Postgres {
		if database, err = pgserver.NewSchema(ctx, p.server, "pool_max_conns=32"); err != nil {
			return nil, "", err
		}
	} else {
		database = filepath.Join(p.dir, strings.ToLower(crand.Text())+".db")
	}
	if c, err = w.open(ctx, database, p.inFlight); err != nil {
		return nil, "", err
	}
	return c, database, c.create(ctx)
}

// close closes what open has opened.
func (p plan) close(w way, c contender, database string) {
	c.close()
	if w.Postgres {
		_ = pgserver.DropSchema(context.Background(), p.server, database)
	}
}

// measureCommits returns the commits of all callers per second.
func (p plan) measureCommits(ctx context.Context, w way) (float64, error) {
	c, database, err := p.open(ctx, w)
	if err != nil {
		return 0, err
	}
	defer p.close(w, c, database)
	if err := c.commit(ctx, keyOf(0)); err != nil { // the first one takes longer
		return 0, err
	}
	var next, committed atomic.Int64
	var problem atomic.Pointer[error]
	limited, cancel := context.WithTimeout(ctx, p.commits)
	defer cancel()
	start := time.Now()
	var group sync.WaitGroup
	for range p.callers {
		group.Go(func() {
			for limited.Err() == nil {
				if err := c.commit(limited, keyOf(int(next.Add(1)))); err == nil {
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

// try sends all entries while the worker is killed.
func (p plan) try(ctx context.Context, w way) (r result, err error) {
	r = result{Name: w.Name, Version: w.version(), Settings: w.Settings, Listed: w.Listed, Ours: w.Ours, Entries: p.entries, Kills: p.kills}
	if r.Commits, err = p.measureCommits(ctx, w); err != nil {
		return r, fmt.Errorf("commits: %w", err)
	}
	c, database, err := p.open(ctx, w)
	if err != nil {
		return r, err
	}
	defer p.close(w, c, database)
	keys := keysOf(p.entries)
	if err := c.fill(ctx, keys); err != nil {
		return r, fmt.Errorf("fill: %w", err)
	}
	service := startService()
	defer service.close()
	start := time.Now()
	t := task{w.ID, database, service.http.URL, service.service.APIKey(), p.inFlight}
	if r.Deliveries, err = p.disturb(ctx, t, c, service); err != nil {
		return r, err
	}
	r.Seconds = time.Since(start).Seconds()
	service.close() // which waits for the last requests
	unknown, err := c.unknown(ctx)
	if err != nil {
		return r, err
	}
	r.count(keys, unknown, service)
	return r, nil
}

// The parts of the way at which the rate is measured, and between which kills happen.
const rateFrom, rateTo, killTo = 0.02, 0.3, 0.85

// disturb runs a worker and kills it now and then, until nothing is left to send. It
// returns the rate before the first kill.
func (p plan) disturb(ctx context.Context, t task, c contender, service *observed) (rate float64, err error) {
	worker, err := process.Start(t)
	if err != nil {
		return 0, err
	}
	defer func() { worker.Kill() }()
	at := func(part float64) error {
		return until(ctx, 5*time.Minute, func() (bool, error) { return service.done() >= int(part*float64(p.entries)), nil })
	}
	if err := at(rateFrom); err != nil {
		return 0, err
	}
	start, before := time.Now(), service.done()
	if err := at(rateTo); err != nil {
		return 0, err
	}
	rate = float64(service.done()-before) / time.Since(start).Seconds()
	for _, part := range p.schedule() {
		if err := at(part); err != nil {
			return 0, err
		}
		worker.Kill()
		if worker, err = process.Start(t); err != nil {
			return 0, err
		}
	}
	return rate, until(ctx, 5*time.Minute, func() (bool, error) {
		left, err := c.left(ctx)
		return err == nil && left == 0, err
	})
}

// schedule returns at which parts of the way the worker is killed, the same for every way.
func (p plan) schedule() []float64 {
	random := rand.New(rand.NewPCG(4711, 4711))
	parts := make([]float64, p.kills)
	for i := range parts {
		parts[i] = rateTo + (killTo-rateTo)*random.Float64()
	}
	slices.Sort(parts)
	return parts
}

// count compares what the service carried out with what was to be sent.
func (r *result) count(keys []string, unknown map[string]bool, service *observed) {
	service.mu.Lock()
	defer service.mu.Unlock()
	for _, key := range keys {
		carried := service.carried[key]
		switch {
		case carried > 1:
			r.Twice++
			if service.lost[key] > 0 {
				r.TwiceAfterLoss++
			}
		case carried == 0 && !unknown[key]:
			r.Lost++
		}
		if unknown[key] {
			r.Unknown++
			if carried > 0 {
				r.UnknownCarried++
			}
		}
	}
}

// until polls a condition.
func until(ctx context.Context, limit time.Duration, condition func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		ok, err := condition()
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not within %s: %w (last error: %v)", limit, context.Cause(ctx), err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
