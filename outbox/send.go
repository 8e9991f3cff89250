package outbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// claimed is a batch of entries that this process may send.
type claimed struct {
	entries []ledger.Claimed
	token   ledger.Token
	// deadline ends every send of the batch. It counts from before the claim, so that it
	// comes before the end of the lease by any clock.
	deadline time.Time
	probe    bool
	// returnAtStop is true if the sends of the batch must not begin after the stop.
	returnAtStop bool
}

// claimTimeout limits a claim, so that time is left for the send.
const claimTimeout = 10 * time.Second

// claim waits for the limiter and claims up to limit entries, or none if the gate has
// closed in the meantime. The claim is committed when claim returns. Once begun, it is
// not interrupted by the end of the context.
func (o *Outbox[Tx]) claim(ctx context.Context, limit int, keys []string, probe bool) (c claimed, err error) {
	if err := o.permit.acquire(ctx); err != nil {
		return claimed{}, fmt.Errorf("limiter: %w", err)
	}
	defer func() {
		if len(c.entries) == 0 {
			o.permit.keep()
		}
	}()
	if !probe && o.gate.reason() != "" {
		return claimed{}, nil
	}
	c = claimed{deadline: time.Now().Add(o.sendTimeout), probe: probe}
	_, _ = rand.Read(c.token[:]) // which never fails
	request := ledger.Claim{Token: c.token, Owner: o.owner, Lease: o.lease(), Limit: limit, Keys: keys}
	c.entries, err = withTimeout(ctx, func(ctx context.Context) ([]ledger.Claimed, error) { return o.ledger.Claim(ctx, request) })
	if err != nil {
		c.entries = nil
	}
	return c, err
}

// unclaim undoes a claim that has returned an error. The claim may have been committed,
// or may be committed later, when a standby or a disk responds. unclaim looks for it
// until its lease is over or ctx ends. No entry of the claim was sent or will be.
func (o *Outbox[Tx]) unclaim(ctx context.Context, token ledger.Token) {
	ctx, cancel := context.WithTimeout(ctx, o.lease())
	defer cancel()
	for {
		n, err := withTimeout(ctx, func(ctx context.Context) (int, error) { return o.ledger.Unclaim(ctx, token) })
		if err == nil && n > 0 || errors.Is(err, ledger.ErrClosed) {
			o.wake()
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(o.timing.unclaimEvery):
		}
	}
}

func withTimeout[T any](ctx context.Context, do func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimTimeout)
	defer cancel()
	return do(ctx)
}

// expired reports whether a deadline has passed by the monotonic clock or by the wall
// clock. One of the two stands still while the machine sleeps.
func expired(deadline, monotonic, wall time.Time) bool {
	return !monotonic.Before(deadline) || !wall.Round(0).Before(deadline.Round(0))
}

// deliverOne sends one claimed entry and records the outcome. Only the values of ctx are
// used. It returns the state of the entry, and whether the outcome applied: it does not
// if the entry was changed by someone else in the meantime.
func (o *Outbox[Tx]) deliverOne(ctx context.Context, c claimed, entry ledger.Claimed, stop *stop) (ledger.State, bool, error) {
	ctx = context.WithoutCancel(ctx)
	started := time.Now()
	outcome := o.send(ctx, c, entry, stop)
	if o.gate.report(outcome, c.probe, started, time.Now()) {
		outcome.wait = 0 // the entry waits for the gate instead
	}
	applied, at, err := o.recorder.record(ledger.Outcome{ID: entry.ID, Token: c.token, State: outcome.state,
		Delivery: outcome.delivery, Error: outcome.text, Wait: outcome.wait, Denied: outcome.denied}, stop)
	if outcome.state == ledger.Pending {
		o.wake() // to find out when the entry is due
	}
	if err == nil && applied && outcome.state != ledger.Pending && o.onSettled != nil {
		o.onSettled(ctx, Entry{ID: entry.ID, Key: entry.Key, Operation: entry.Operation, State: stateOf(outcome.state),
			Attempts: entry.Attempts, Delivery: outcome.delivery, Error: outcome.text,
			EnqueuedAt: entry.EnqueuedAt, NotBefore: entry.NotBefore, SettledAt: at})
	}
	return outcome.state, applied, err
}

// send sends one claimed entry, once.
func (o *Outbox[Tx]) send(ctx context.Context, c claimed, entry ledger.Claimed, stop *stop) outcome {
	ctx, cancel := context.WithDeadline(ctx, c.deadline)
	defer cancel()
	p, err := o.unseal(ctx, ledger.Request{Operation: entry.Operation, Body: entry.Body, Sealed: entry.Sealed})
	if err != nil {
		return o.timing.unreadable(entry, err)
	}
	switch {
	case c.returnAtStop && stop.since(time.Time{}) > 0:
		return o.timing.notBegun(entry, "the process was stopped")
	case expired(c.deadline, time.Now(), time.Now()):
		return o.timing.notBegun(entry, "the process was paused")
	}
	_, err = o.client.Send(ctx, p, messaging.WithoutRetries())
	return o.timing.classify(entry, err, o.gate.acceptedWithin(entry.Operation, o.timing.working(entry.Denials), time.Now()))
}
