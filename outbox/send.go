package outbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox/internal/breaker"
	"github.com/messaging-go/messaging/outbox/internal/ledger"
	"github.com/messaging-go/messaging/outbox/internal/limit"
	"github.com/messaging-go/messaging/outbox/internal/record"
)

// call is one call of Run, Deliver or DeliverDue.
type call[Tx any] struct {
	*Outbox[Tx]
	stop *record.Stop
	// returns is true if an entry whose turn has come goes back after the stop, too.
	returns bool
	sends   sync.WaitGroup

	mu         sync.Mutex
	recorded   map[string]ledger.State // what became of the entries that Deliver or DeliverDue has sent, or rejected
	unrecorded int
	err        error
}

// newCall returns a call of Deliver or DeliverDue.
func (o *Outbox[Tx]) newCall(ctx context.Context) *call[Tx] {
	return &call[Tx]{Outbox: o, stop: record.StopOf(ctx), recorded: make(map[string]ledger.State)}
}

// batch is a batch of entries that this process may send.
type batch struct {
	entries []ledger.Claimed
	token   ledger.Token
	begun   time.Time // before the claim
	// deadline ends every send of the batch. It counts from before the claim, so that it
	// comes before the end of the lease by any clock.
	deadline time.Time
	pass     breaker.Pass
}

// ahead is when an entry goes back that still waits for its turn.
func (b *batch) ahead() time.Time { return b.begun.Add(b.deadline.Sub(b.begun) / 2) }

// claim claims what the request asks for, as far as the room for bodies that was taken for it
// allows, and begins to send it. It returns the positions of the entries that it claimed. The
// claim is committed when claim returns. Each of the pass.N entries occupies room until its
// outcome is recorded.
func (c *call[Tx]) claim(ctx context.Context, pass breaker.Pass, taken int64, request ledger.Claim) (claimed []ledger.Position,
	err error) {
	defer func() { c.giveBack(pass, pass.N-len(claimed)) }()
	b := batch{begun: time.Now(), pass: pass}
	b.deadline = b.begun.Add(c.sendTimeout)
	_, _ = rand.Read(b.token[:]) // which never fails
	request.Token, request.Lease, request.Limit = b.token, c.lease(), pass.N
	request.Operation, request.MaxBytes = pass.Operation, taken
	if taken == limit.MaxBodies { // for one that may be larger
		request.MaxBytes, request.OneAnyway = limit.ClaimBodies, true
	}
	b.entries, err = withTimeout(ctx, func(ctx context.Context) ([]ledger.Claimed, error) { return c.ledger.Claim(ctx, request) })
	if err != nil {
		b.entries = nil
		if !ledger.IsUndone(err) {
			c.doubt(b.token)
		}
	}
	for _, entry := range b.entries {
		taken -= limit.Weigh(len(entry.Body))
		claimed = append(claimed, entry.Position)
	}
	c.limit.EndBodies(taken)
	for i := range b.entries {
		c.sends.Add(1)
		go c.deliverOne(ctx, b, &b.entries[i])
	}
	return claimed, err
}

// giveBack gives back n claims of a pass for which there are no entries.
func (c *call[Tx]) giveBack(pass breaker.Pass, n int) {
	c.limit.EndClaims(n)
	c.breakers.GiveBack(pass, n)
}

// askLimiter waits until the limiter permits a request.
func (o *Outbox[Tx]) askLimiter(ctx context.Context) error {
	if err := o.protected("WithRateLimiter", func() error { return o.rate.Wait(ctx) }); err != nil {
		return fmt.Errorf("limiter: %w", err)
	}
	return nil
}

// expired reports whether a deadline has passed by the monotonic clock or by the wall
// clock. One of the two stands still while the machine sleeps.
func expired(deadline, monotonic, wall time.Time) bool {
	return !monotonic.Before(deadline) || !wall.Round(0).Before(deadline.Round(0))
}

// deliverOne sends one claimed entry and records the outcome, unless the entry was changed
// by someone else in the meantime. Since the batch holds the entry until the last one was
// sent, its body is taken out of it.
//
// A request that does not return in time is left behind, with all that it occupies. Its outcome
// is a late one.
func (c *call[Tx]) deliverOne(ctx context.Context, b batch, entry *ledger.Claimed) {
	done := sync.OnceFunc(c.sends.Done)
	defer done()
	defer c.limit.EndClaims(1)
	weight := limit.Weigh(len(entry.Body))
	watch := newWatch(b.deadline, func() {
		c.breakers.Hangs(b.pass, time.Now())
		c.leave(1, errHangs)
		done()
	})
	outcome := c.attempt(ctx, b, entry)
	entry.Body = nil
	c.limit.EndBodies(weight)
	if watch.end() {
		c.breakers.Returns()
		c.leave(-1, errHangs)
	} else if c.breakers.Report(b.pass, outcome.breaker, time.Now()) && !outcome.keeps {
		outcome.wait = 0 // the entry waits for the breaker instead
	}
	applied, at, err := c.recorder.Record(ledger.Outcome{ID: entry.ID, Token: b.token, State: outcome.state,
		Delivery: outcome.delivery, Error: outcome.text, Wait: outcome.wait,
		Denials: entry.Denials + outcome.denials, Denied: outcome.breaker.Kind == breaker.Denied, Doubts: entry.Doubts + outcome.doubts,
		Returned: outcome.returned}, c.stop)
	switch {
	case err != nil:
		c.leave(1, err)
	case applied:
		c.note(entry.Key, outcome.state)
	}
	if outcome.state == ledger.Pending {
		c.wake() // to find out when the entry is due
	} else if err == nil && applied {
		entry.State, entry.Delivery, entry.Error, entry.SettledAt = outcome.state, outcome.delivery, outcome.text, at
		c.settled(context.WithoutCancel(ctx), entryOf(entry.Entry))
	}
}

// leave counts entries whose outcomes are not recorded, because of err.
func (c *call[Tx]) leave(n int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unrecorded += n
	c.err = err
}

// note notes what became of an entry.
func (c *call[Tx]) note(key string, state ledger.State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.recorded != nil {
		c.recorded[key] = state
	}
}

// attempt waits for a slot and sends one claimed entry, once. After that, only the values of
// ctx are used.
func (c *call[Tx]) attempt(ctx context.Context, b batch, entry *ledger.Claimed) outcome {
	ahead, cancel := context.WithDeadline(ctx, b.ahead())
	acquired := c.limit.Slot(entry.Priority == ledger.High, ahead.Done(), b.pass.Recall)
	cancel()
	if !acquired {
		return c.returned(b, entry)
	}
	defer c.limit.EndSlot()
	if entry.Denials >= maxDenials && entry.AcceptedSince {
		return outcome{state: ledger.Rejected, delivery: messaging.DeliveryRejected, text: entry.Error,
			breaker: breaker.Outcome{Kind: breaker.Nothing}}
	}
	ctx, cancel = context.WithDeadline(context.WithoutCancel(ctx), b.deadline)
	defer cancel()
	p, err := c.unseal(ctx, entry.Key, ledger.Request{Operation: entry.Operation, Body: entry.Body, Sealed: entry.Sealed})
	entry.Body = nil // p has a copy
	if err != nil {
		return c.timing.unreadable(entry, err)
	}
	until := b.deadline
	if over := b.begun.Add(entry.Left); !entry.NotAfter.IsZero() && over.Before(until) {
		until = over
	}
	switch {
	case c.stopped():
		return c.returned(b, entry)
	case !expired(until, time.Now(), time.Now()):
		err = c.protected("the client", func() error {
			_, err := c.client.Send(ctx, p, messaging.WithoutRetries(), messaging.WithNotAfter(until))
			return err
		})
		if errors.Is(err, errPanic) { // of a guard, or of a transport that has sent the request
			return c.timing.unknown(entry, err.Error(), breaker.Outcome{Reason: err.Error()})
		}
		var guard *messaging.GuardError // can wrap another ErrNotAfter
		if errors.As(err, &guard) || !errors.Is(err, messaging.ErrNotAfter) || messaging.DeliveryOf(err) != messaging.DeliveryNotSent {
			return c.timing.classify(entry, err)
		}
	}
	if until != b.deadline {
		return outcome{state: ledger.Rejected, delivery: messaging.DeliveryNotSent, text: ledger.ExpiredError,
			breaker: breaker.Outcome{Kind: breaker.Nothing}}
	}
	return c.returned(b, entry)
}

// stopped reports whether entries that are not sent go back because of the stop.
func (c *call[Tx]) stopped() bool { return c.returns && c.stop.Happened() }

// returned is the outcome of an entry that was claimed, and whose send did not begin.
func (c *call[Tx]) returned(b batch, entry *ledger.Claimed) outcome {
	why := "the breaker was open, or the operation was paused"
	switch {
	case c.stopped():
		why = "the process was stopped"
	case expired(b.deadline, time.Now(), time.Now()):
		why = "the process was paused"
	case time.Now().After(b.ahead()):
		why = "the requests before it took too long"
	}
	return outcome{state: ledger.Pending, delivery: messaging.DeliveryNotSent, text: "not begun: " + why, returned: true}
}

// settled calls the function of WithOnSettled.
func (o *Outbox[Tx]) settled(ctx context.Context, e Entry) {
	if o.onSettled == nil {
		return
	}
	_ = o.protected("WithOnSettled", func() error { // a panic is logged
		o.onSettled(ctx, e)
		return nil
	})
}

// finish does the work of a call and waits for its sends, after the stop for as long as a
// request and its outcome may take. What still hangs then is left behind.
func (c *call[Tx]) finish(ctx context.Context, work func()) error {
	defer c.stop.End()
	done := make(chan struct{})
	go func() {
		defer close(done)
		work()
		c.sends.Wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
		select {
		case <-done:
		case <-time.After(c.sendTimeout + c.timing.stopGrace):
			return errors.New("outbox: stopped without waiting any longer; entries whose outcomes are not recorded become unclear")
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unrecorded > 0 {
		return fmt.Errorf("outbox: the outcomes of entries (%d) could not be recorded, so they become unclear: %w", c.unrecorded, c.err)
	}
	return nil
}
