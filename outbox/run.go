package outbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// Run sends entries as they become due, until ctx ends. Any number of processes can call
// Run on the same database. If the database or the service fails, Run logs the failure
// and keeps trying.
//
// When ctx ends, Run stops claiming entries, waits for the requests in flight, at most
// for the send timeout, records their outcomes, and returns nil. It returns an error in
// two cases: if the store is closed, and if the database still fails to record outcomes
// after another 10 s. Entries whose outcomes are not recorded become unclear.
func (o *Outbox[Tx]) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &runner[Tx]{Outbox: o, wakes: make(chan struct{}, 1), poll: o.timing.poll}
	var endWatching func() bool
	r.stop, endWatching = stopOf(ctx)
	defer endWatching()
	var helpers sync.WaitGroup
	helpers.Go(func() { r.listen(ctx) })
	helpers.Go(func() { r.maintain(ctx) })
	for ctx.Err() == nil && !r.closed {
		r.step(ctx)
	}
	cancel()
	helpers.Wait()
	r.sends.Wait()
	switch {
	case r.unrecorded > 0:
		return unrecordedError(r.unrecorded, r.err)
	case r.closed:
		return fmt.Errorf("outbox: run: %w", ledger.ErrClosed)
	}
	return nil
}

// runner is one call of Run.
type runner[Tx any] struct {
	*Outbox[Tx]
	stop  *stop
	sends sync.WaitGroup
	wakes chan struct{} // holds a value if the database has announced new entries

	// Only the loop uses these.
	backlog  bool // the last claim found as many entries as it asked for
	failures int  // of the database, in a row
	closed   bool // the store is closed

	mu         sync.Mutex // protects the following fields
	poll       time.Duration
	unrecorded int
	err        error
}

// step claims the entries that can be sent now and starts to send them. If there are
// none, it waits.
func (r *runner[Tx]) step(ctx context.Context) {
	if !r.backlog && !r.untilDue(ctx) {
		return
	}
	pass, wait, changed := r.gate.admit(time.Now())
	if pass == passNone {
		r.wait(ctx, wait, changed)
		return
	}
	n := r.inFlight
	if pass == passProbe {
		n = 1
	}
	c, asked, err := r.claimDue(ctx, n, pass == passProbe)
	r.backlog = err == nil && len(c.entries) == asked
	switch {
	case err != nil && ctx.Err() == nil:
		r.databaseFailed(ctx, "claim entries", err)
	case err == nil:
		r.databaseWorks()
		for _, entry := range c.entries {
			r.sends.Go(func() {
				defer r.slots.release(1)
				if _, _, err := r.deliverOne(ctx, c, entry, r.stop); err != nil {
					r.addUnrecorded(err)
				}
			})
		}
		if len(c.entries) == 0 { // others have locked the entries that are due
			r.wait(ctx, r.timing.poll/4, nil)
		}
	}
}

// claimDue claims up to n entries that are due, as many as the limiter and the free slots
// allow, and returns how many it asked for. Each entry that it claimed occupies a slot.
func (r *runner[Tx]) claimDue(ctx context.Context, n int, probe bool) (c claimed, slots int, err error) {
	defer func() {
		r.slots.release(slots - len(c.entries))
		if probe && len(c.entries) == 0 {
			r.gate.abandon()
		}
	}()
	if slots = r.slots.acquire(ctx, r.permit.most(n)); slots == 0 {
		return claimed{}, 0, ctx.Err()
	}
	c, err = r.claim(ctx, slots, nil, probe)
	c.returnAtStop = true
	if err != nil && c.token != (ledger.Token{}) {
		r.sends.Go(func() { r.unclaim(ctx, c.token) })
	}
	return c, slots, err
}

// untilDue reports whether an entry is due. If none is, it waits until one may be.
func (r *runner[Tx]) untilDue(ctx context.Context) bool {
	due, pending, err := r.ledger.NextDue(ctx)
	switch {
	case err != nil && ctx.Err() == nil:
		r.databaseFailed(ctx, "look for entries", err)
		return false
	case err != nil:
		return false
	case pending && due <= 0:
		return true
	}
	r.databaseWorks()
	r.mu.Lock()
	wait := r.poll
	r.mu.Unlock()
	if pending {
		wait = min(wait, due)
	}
	r.wait(ctx, wait, nil)
	return false
}

// wait waits until the limit has passed, entries were added, or changed is closed.
func (r *runner[Tx]) wait(ctx context.Context, limit time.Duration, changed <-chan struct{}) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	woken, wakes := r.woken, r.wakes
	if changed != nil { // new entries do not open the gate
		woken, wakes = nil, nil
	}
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-changed:
	case <-woken:
	case <-wakes:
	}
}

// databaseFailed logs an error of the database and waits, longer after each failure in a
// row.
func (r *runner[Tx]) databaseFailed(ctx context.Context, doing string, err error) {
	if errors.Is(err, ledger.ErrClosed) {
		r.closed = true
		return
	}
	r.logger.Error("outbox: cannot "+doing+"; retrying", "error", err)
	r.failures++
	timer := time.NewTimer(min(50*time.Millisecond<<min(r.failures, 10), 5*time.Second))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

func (r *runner[Tx]) databaseWorks() { r.failures = 0 }

func (r *runner[Tx]) addUnrecorded(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unrecorded++
	r.err = err
}

// listen makes the database wake the loop if it can announce new entries.
func (r *runner[Tx]) listen(ctx context.Context) {
	r.setPoll(r.timing.listening)
	if !r.ledger.Listen(ctx, func() {
		select {
		case r.wakes <- struct{}{}:
		default:
		}
	}) {
		r.setPoll(r.timing.poll)
	}
}

func (r *runner[Tx]) setPoll(poll time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.poll = poll
}
