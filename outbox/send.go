package outbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox/internal/gate"
	"github.com/messaging-go/messaging/outbox/internal/ledger"
	"github.com/messaging-go/messaging/outbox/internal/record"
)

// call is one call of Run, Deliver or DeliverDue.
type call[Tx any] struct {
	*Outbox[Tx]
	stop *record.Stop
	// returns is true if an entry whose turn has come goes back after the stop, too.
	returns bool
	sends   sync.WaitGroup
	running running

	mu         sync.Mutex
	recorded   map[string]ledger.State // what became of the entries that this call has sent
	claims     int
	unrecorded int
	err        error
}

// batch is a batch of entries that this process may send.
type batch struct {
	entries []ledger.Claimed
	token   ledger.Token
	begun   time.Time // before the claim
	// deadline ends every send of the batch. It counts from before the claim, so that it
	// comes before the end of the lease by any clock.
	deadline time.Time
	pass     gate.Pass
	// ahead ends when an entry that still waits for a slot has to go back.
	ahead  context.Context
	cancel context.CancelFunc
}

const (
	// claimTimeout limits a claim, so that time is left for the send.
	claimTimeout = 10 * time.Second
	// stopPatience is how long after the stop a statement is interrupted.
	stopPatience = time.Second
)

// claim claims what the request asks for, as far as there are bodies left, and begins to
// send it. It returns how many entries it claimed. The claim is committed when claim
// returns. Each of the pass.N entries occupies room until its outcome is recorded.
func (c *call[Tx]) claim(ctx context.Context, pass gate.Pass, request ledger.Claim) (n int, err error) {
	defer func() {
		c.room.Release(pass.N - n)
		c.gates.GiveBack(pass, pass.N-n)
		if n == 0 {
			c.permit.Keep()
		}
	}()
	if err := c.acquirePermit(ctx); err != nil {
		return 0, err
	}
	size, alone, err := c.bodies.Reserve(ctx)
	if err != nil {
		return 0, err
	}
	b := batch{begun: time.Now(), pass: pass}
	b.deadline = b.begun.Add(c.sendTimeout)
	_, _ = rand.Read(b.token[:]) // which never fails
	request.Token, request.Owner, request.Lease, request.Limit = b.token, c.owner, c.lease(), pass.N
	request.Operation, request.Newest, request.MaxBytes, request.OneAnyway = pass.Operation, pass.Newest, size, alone
	leave := c.running.enter("the database")
	b.entries, err = withTimeout(ctx, func(ctx context.Context) ([]ledger.Claimed, error) { return c.ledger.Claim(ctx, request) })
	leave()
	if err != nil {
		b.entries = nil
		c.sends.Go(func() { c.unclaim(ctx, b.token) })
	}
	for _, entry := range b.entries {
		size -= int64(len(entry.Body))
	}
	c.bodies.Release(size)
	c.send(ctx, b)
	return len(b.entries), err
}

func (c *call[Tx]) acquirePermit(ctx context.Context) error {
	defer c.running.enter("WithRate")()
	if err := c.permit.Acquire(ctx); err != nil {
		return fmt.Errorf("limiter: %w", err)
	}
	return nil
}

// send sends the entries of a batch, urgent ones first.
func (c *call[Tx]) send(ctx context.Context, b batch) {
	if len(b.entries) == 0 {
		return
	}
	values := context.WithoutCancel(ctx)
	b.ahead, b.cancel = context.WithDeadline(ctx, b.begun.Add(c.sendTimeout/2))
	c.mu.Lock()
	c.claims += len(b.entries)
	c.mu.Unlock()
	var left sync.WaitGroup
	for i := range b.entries {
		left.Add(1)
		c.sends.Go(func() {
			c.deliverOne(values, b, &b.entries[i], left.Done)
		})
	}
	c.sends.Go(func() { // releases what the batch waits with
		left.Wait()
		b.cancel()
	})
}

// unclaim undoes a claim that has returned an error. The claim may have been committed,
// or may be committed later, when a standby or a disk responds. unclaim looks for it for
// ten leases, or until shortly after ctx ends. No entry of the claim was sent or will be.
func (c *call[Tx]) unclaim(ctx context.Context, token ledger.Token) {
	over := time.Now().Add(10 * c.lease())
	for stopped := false; time.Now().Before(over); {
		n, err := withTimeout(ctx, func(ctx context.Context) (int, error) { return c.ledger.Unclaim(ctx, token) })
		if err == nil && n > 0 || errors.Is(err, ledger.ErrClosed) || stopped {
			c.wake()
			return
		}
		select {
		case <-ctx.Done():
			stopped = true // once more
			time.Sleep(c.timing.unclaimEvery / 10)
		case <-time.After(c.timing.unclaimEvery):
		}
	}
}

// withTimeout calls do with a context that ends after a time, and soon after ctx ends.
func withTimeout[T any](ctx context.Context, do func(context.Context) (T, error)) (T, error) {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		select {
		case <-limited.Done():
		case <-time.After(stopPatience):
			cancel()
		}
	})()
	return do(limited)
}

// expired reports whether a deadline has passed by the monotonic clock or by the wall
// clock. One of the two stands still while the machine sleeps.
func expired(deadline, monotonic, wall time.Time) bool {
	return !monotonic.Before(deadline) || !wall.Round(0).Before(deadline.Round(0))
}

// deliverOne sends one claimed entry and records the outcome, unless the entry was changed
// by someone else in the meantime. Only the values of ctx are used. done is called when
// the entry no longer waits for its turn. Since the batch holds the entry until the last one
// was sent, its body is taken out of it.
func (c *call[Tx]) deliverOne(ctx context.Context, b batch, entry *ledger.Claimed, done func()) {
	defer c.room.Release(1)
	size := int64(len(entry.Body))
	outcome := c.attempt(ctx, b, entry, done)
	entry.Body = nil
	c.bodies.Release(size)
	if c.gates.Report(b.pass, outcome.gate, time.Now()) {
		outcome.wait = 0 // the entry waits for the gate instead
	}
	leave := c.running.enter("the database")
	applied, at, err := c.recorder.Record(ledger.Outcome{ID: entry.ID, Token: b.token, State: outcome.state,
		Delivery: outcome.delivery, Error: outcome.text, Wait: outcome.wait, Denials: outcome.denials,
		Denied: outcome.gate.Kind == gate.Denied, Returned: outcome.returned}, c.stop)
	leave()
	c.mu.Lock()
	switch {
	case err != nil:
		c.unrecorded++
		c.err = err
	case applied && c.recorded != nil:
		c.recorded[entry.Key] = outcome.state
	}
	c.mu.Unlock()
	if outcome.state == ledger.Pending {
		c.wake() // to find out when the entry is due
	} else if err == nil && applied {
		c.settled(ctx, Entry{ID: entry.ID, Key: entry.Key, Operation: entry.Operation, State: stateOf(outcome.state),
			Attempts: entry.Attempts, Delivery: outcome.delivery, Error: outcome.text, EnqueuedAt: entry.EnqueuedAt,
			NotBefore: entry.NotBefore, NotAfter: entry.NotAfter, Urgent: entry.Urgent, SettledAt: at}, &c.running)
	}
}

// attempt waits for a slot and sends one claimed entry, once.
func (c *call[Tx]) attempt(ctx context.Context, b batch, entry *ledger.Claimed, done func()) outcome {
	acquired := c.slots.Acquire(entry.Urgent, b.ahead.Done(), b.pass.Recall)
	done()
	switch {
	case !acquired:
		return returned(entry, c.whyReturned(b))
	case entry.Denials >= maxDenials && entry.AcceptedSince:
		c.slots.Release()
		return outcome{state: ledger.Rejected, delivery: messaging.DeliveryRejected, text: entry.Error, denials: entry.Denials,
			gate: gate.Outcome{Kind: gate.OwnFault}}
	}
	defer c.slots.Release()
	ctx, cancel := context.WithDeadline(ctx, b.deadline)
	defer cancel()
	leave := c.running.enter("WithSealer")
	p, err := c.unseal(ctx, ledger.Request{Operation: entry.Operation, Body: entry.Body, Sealed: entry.Sealed})
	leave()
	entry.Body = nil // p has a copy
	if err != nil {
		return c.timing.unreadable(entry, err)
	}
	limit := b.deadline
	if !entry.NotAfter.IsZero() {
		limit = earlier(limit, b.begun.Add(entry.Left))
	}
	switch {
	case c.stopped():
		return returned(entry, c.whyReturned(b))
	case !expired(limit, time.Now(), time.Now()):
		defer c.running.enter("the client")()
		_, err = c.client.Send(ctx, p, messaging.WithoutRetries(), messaging.WithNotAfter(limit))
		if !errors.Is(err, messaging.ErrNotAfter) || messaging.DeliveryOf(err) != messaging.DeliveryNotSent {
			return c.timing.classify(entry, err)
		}
	}
	if limit != b.deadline {
		return outcome{state: ledger.Rejected, delivery: messaging.DeliveryNotSent, text: ledger.ExpiredError, denials: entry.Denials,
			gate: gate.Outcome{Kind: gate.OwnFault}}
	}
	return returned(entry, c.whyReturned(b))
}

// stopped reports whether entries that are not sent go back because of the stop.
func (c *call[Tx]) stopped() bool { return c.returns && c.stop.Happened() }

// whyReturned is why an entry of the batch goes back.
func (c *call[Tx]) whyReturned(b batch) string {
	switch {
	case c.stopped():
		return "the process was stopped"
	case expired(b.deadline, time.Now(), time.Now()):
		return "the process was paused"
	case b.ahead.Err() != nil:
		return "the requests before it took too long"
	}
	return "the gate was closed, or the operation was paused"
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// settled calls the function of WithOnSettled.
func (o *Outbox[Tx]) settled(ctx context.Context, e Entry, r *running) {
	if o.onSettled == nil {
		return
	}
	defer r.enter("WithOnSettled")()
	o.onSettled(ctx, e)
}

// finish waits until done is closed, after the stop for as long as a request and its
// outcome may take. What still hangs then is left behind, and named.
func (c *call[Tx]) finish(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
	case <-ctx.Done():
		timer := time.NewTimer(c.sendTimeout + c.timing.stopGrace)
		defer timer.Stop()
		select {
		case <-done:
		case <-timer.C:
			return fmt.Errorf("outbox: stopped without waiting any longer for %s; entries whose outcomes are not recorded become unclear",
				c.running.names())
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unrecorded > 0 {
		return unrecordedError(c.unrecorded, c.err)
	}
	return nil
}

// running knows which code a call is waiting for.
type running struct {
	mu    sync.Mutex
	count map[string]int
}

// enter notes that the code with this name runs until leave is called.
func (r *running) enter(name string) (leave func()) {
	r.add(name, 1)
	return func() { r.add(name, -1) }
}

func (r *running) add(name string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count == nil {
		r.count = make(map[string]int)
	}
	if r.count[name] += n; r.count[name] == 0 {
		delete(r.count, name)
	}
}

func (r *running) names() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(slices.Sorted(maps.Keys(r.count)), ", ")
}

// unrecordedError is what Run and Deliver return for outcomes that could not be recorded.
func unrecordedError(n int, err error) error {
	if n == 1 {
		return fmt.Errorf("outbox: the outcome of 1 entry could not be recorded, so the entry becomes unclear: %w", err)
	}
	return fmt.Errorf("outbox: the outcomes of %d entries could not be recorded, so the entries become unclear: %w", n, err)
}
