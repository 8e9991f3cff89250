package outbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/messaging-go/messaging/outbox/internal/gate"
	"github.com/messaging-go/messaging/outbox/internal/ledger"
	"github.com/messaging-go/messaging/outbox/internal/record"
)

// Run sends entries as they become due, until ctx ends. Any number of processes can call
// Run on the same database. If the database or the service fails, Run logs the failure
// and keeps trying.
//
// When ctx ends, Run stops claiming entries, waits for the requests in flight, records
// their outcomes, and returns nil. That takes at most the send timeout and 10 s. Run
// returns an error if it then left something behind: outcomes that the database did not
// record, whose entries become unclear, or a function of an option that did not return.
// It also returns an error if the store is closed, and if the database has failed ever
// since a time before ctx ended.
func (o *Outbox[Tx]) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &runner[Tx]{call: call[Tx]{Outbox: o, returns: true}, wakes: make(chan struct{}, 1)}
	var endWatching func() bool
	r.stop, endWatching = record.StopOf(ctx)
	defer endWatching()
	done := make(chan struct{})
	go func() {
		defer close(done)
		var helpers sync.WaitGroup
		helpers.Go(func() { o.ledger.Listen(ctx, r.announced) })
		helpers.Go(func() { o.maintain(ctx, &r.running) })
		for ctx.Err() == nil && !r.closed {
			r.step(ctx, unlimited)
		}
		cancel()
		helpers.Wait()
		r.sends.Wait()
	}()
	switch err := r.finish(ctx, done); {
	case err != nil:
		return err
	case r.closed:
		return fmt.Errorf("outbox: run: %w", ledger.ErrClosed)
	case r.failures >= lostDatabase:
		return fmt.Errorf("outbox: run: the database failed until the end: %w", r.failure)
	}
	return nil
}

// runner claims what is due, for Run and DeliverDue.
type runner[Tx any] struct {
	call[Tx]
	wakes chan struct{} // holds a value if the database has announced new entries

	// Only the loop uses these.
	last     string // the operation of the last claim
	urgent   int    // how many urgent entries were claimed while others were due
	failures int    // of the database, in a row
	failure  error  // the last of them
	closed   bool   // the store is closed
}

const (
	unlimited = int(^uint(0) >> 1)
	// othersShare is the part of the claims that go to what has been due for longest,
	// whatever is urgent: one of eight.
	othersShare = 8
	// lostDatabase is after how many failures in a row the database counts as lost.
	lostDatabase = 3
	// pausePatience is how long Run waits for room until it looks for pauses.
	pausePatience = time.Second
)

// progress is what a step came to.
type progress struct {
	claimed int
	idle    bool          // nothing can be claimed now
	wait    time.Duration // until something may be due; 0 if nothing is pending
}

// step claims the entries that can be sent now, at most limit, and starts to send them.
// If there are none, it waits.
func (r *runner[Tx]) step(ctx context.Context, limit int) {
	if p, changed := r.claimDue(ctx, limit); p.claimed == 0 && ctx.Err() == nil && !r.closed {
		wait := r.timing.poll
		if p.wait > 0 {
			wait = min(wait, p.wait)
		}
		r.wait(ctx, wait, changed)
	}
}

// claimDue claims entries that are due and starts to send them. If none can be claimed,
// it returns when to try again: after a wait, or when changed is closed.
func (r *runner[Tx]) claimDue(ctx context.Context, limit int) (p progress, changed <-chan struct{}) {
	due, err := inDatabase(ctx, &r.running, r.ledger.Due)
	if err != nil {
		r.databaseFailed(ctx, "look for entries", err)
		return progress{}, nil
	}
	r.failures, r.failure = 0, nil
	classes, p := r.classes(due)
	if len(classes) == 0 {
		p.idle = true
		return p, nil
	}
	patience, cancel := context.WithTimeout(ctx, pausePatience)
	defer cancel()
	n := r.room.Acquire(patience, r.permit.Most(min(limit, r.inFlight)))
	if n == 0 {
		return progress{wait: time.Nanosecond}, nil
	}
	class, pass := r.admit(classes, n)
	r.room.Release(n - pass.N)
	if pass.N == 0 {
		return progress{idle: pass.Closed, wait: pass.Wait}, pass.Changed
	}
	r.last = class.Operation
	p.claimed, err = r.claim(ctx, pass, ledger.Claim{Urgent: class.Urgent})
	switch {
	case err != nil:
		r.databaseFailed(ctx, "claim entries", err)
	case p.claimed == 0: // others have locked the entries that are due
		p.idle, p.wait = true, r.timing.poll/4
	case len(classes) == 1:
	case class.Urgent:
		r.urgent += p.claimed
	default:
		r.urgent = max(r.urgent-(othersShare-1)*p.claimed, 0)
	}
	return p, nil
}

// classes returns the classes of which an entry is due, in the order in which they are
// tried: urgent ones first, then one operation after the other. Now and then, the one that
// has been due for longest comes first.
func (r *runner[Tx]) classes(due []ledger.Due) (classes []ledger.Due, p progress) {
	for _, d := range due {
		switch {
		case d.Paused:
			r.gates.Recall(d.Operation)
		case d.Wait <= 0:
			classes = append(classes, d)
		case p.wait == 0 || d.Wait < p.wait:
			p.wait = d.Wait
		}
	}
	oldest := r.urgent >= othersShare-1
	slices.SortStableFunc(classes, func(a, b ledger.Due) int {
		switch {
		case oldest:
			return int(a.Wait - b.Wait)
		case a.Urgent != b.Urgent:
			return order(a.Urgent)
		}
		return order(a.Operation > r.last) - order(b.Operation > r.last)
	})
	return classes, p
}

// order sorts what is true first.
func order(first bool) int {
	if first {
		return -1
	}
	return 1
}

// admit returns the first class of which the gates permit claims. A probe is an entry that
// is not urgent, if there is one.
func (r *runner[Tx]) admit(classes []ledger.Due, n int) (ledger.Due, gate.Pass) {
	if oldest := r.urgent / (othersShare - 1); oldest > 0 {
		n = min(n, oldest)
	}
	blocked := gate.Pass{Closed: true, Wait: time.Hour}
	for _, d := range classes {
		pass := r.gates.Admit(d.Operation, n, time.Now())
		if pass.N == 0 {
			pass.Closed, pass.Wait = pass.Closed && blocked.Closed, min(pass.Wait, blocked.Wait)
			blocked = pass
			continue
		}
		other := ledger.Due{Operation: d.Operation, Wait: d.Wait}
		if i := slices.IndexFunc(classes, func(c ledger.Due) bool { return c.Operation == d.Operation && !c.Urgent }); pass.Probe() && i >= 0 {
			return other, pass
		}
		return d, pass
	}
	return ledger.Due{}, blocked
}

// wait waits until the limit has passed, entries were added, or changed is closed.
func (r *runner[Tx]) wait(ctx context.Context, limit time.Duration, changed <-chan struct{}) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-changed:
	case <-r.woken:
	case <-r.wakes:
	}
}

// announced notes that the database has announced new entries.
func (r *runner[Tx]) announced() {
	select {
	case r.wakes <- struct{}{}:
	default:
	}
}

// databaseFailed logs an error of the database and waits, longer after each failure in a
// row.
func (r *runner[Tx]) databaseFailed(ctx context.Context, doing string, err error) {
	switch {
	case errors.Is(err, ledger.ErrClosed):
		r.closed = true
		return
	case ctx.Err() != nil:
		return
	}
	r.logger.Error("outbox: cannot "+doing+"; retrying", "error", err)
	r.failures++
	r.failure = err
	timer := time.NewTimer(min(50*time.Millisecond<<min(r.failures, 10), 5*time.Second))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// DeliverDue sends up to limit entries that are due, whoever enqueued or resent them. It
// is for cron, and for the periodic job of any engine. It returns when they are sent, when
// no more are due, when the gates of all that are due are closed, or when ctx ends.
// Delivered counts what this call has sent, and its RetryAfter is when to call again.
//
// ctx applies until an entry is claimed; see [Outbox.Deliver].
func (o *Outbox[Tx]) DeliverDue(ctx context.Context, limit int) (Delivered, error) {
	if limit < 1 {
		return Delivered{}, errors.New("outbox: deliver: limit must be positive")
	}
	r := &runner[Tx]{call: call[Tx]{Outbox: o, recorded: make(map[string]ledger.State)}}
	var endWatching func() bool
	r.stop, endWatching = record.StopOf(ctx)
	defer endWatching()
	var retryAfter time.Duration
	done := make(chan struct{})
	go func() {
		defer close(done)
		o.maintainNow(ctx, &r.running)
		retryAfter = r.sendDue(ctx, limit)
		r.sends.Wait()
	}()
	err := r.finish(ctx, done)
	ended := err == nil // or else the goroutine may still be running
	switch {
	case !ended:
	case r.closed:
		err = fmt.Errorf("outbox: deliver: %w", ledger.ErrClosed)
	case r.failure != nil:
		err = fmt.Errorf("outbox: deliver: %w", r.failure)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var delivered Delivered
	for key, state := range r.recorded {
		delivered.add(key, ledger.Entry{State: state}, true)
	}
	slices.Sort(delivered.Later)
	if delivered.RetryAfter = 0; ended {
		delivered.RetryAfter = retryAfter
	}
	return delivered, err
}

// sendDue claims up to limit entries that are due, and starts to send them. It returns when
// more may be due.
func (r *runner[Tx]) sendDue(ctx context.Context, limit int) time.Duration {
	for left := limit; left > 0 && ctx.Err() == nil && r.failure == nil && !r.closed; {
		p, changed := r.claimDue(ctx, left)
		left -= p.claimed
		if p.idle {
			return p.wait
		}
		if p.claimed == 0 && r.failure == nil {
			r.wait(ctx, max(p.wait, time.Millisecond), changed)
		}
	}
	return 0
}
