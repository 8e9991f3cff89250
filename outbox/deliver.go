package outbox

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/messaging-go/messaging/outbox/internal/breaker"
	"github.com/messaging-go/messaging/outbox/internal/ledger"
	"github.com/messaging-go/messaging/outbox/internal/limit"
)

// Deliver sends the entries with these keys now. It is for an engine that calls at least
// once: a job queue, a workflow, a consumer, cron. Repeated or concurrent calls send each
// entry once. Deliver shares the limit on requests in flight, the breakers and the limiter
// with the other calls of this Outbox. It does not send entries before they are due, nor
// those whose operation is paused.
//
// ctx applies until an entry is claimed. From then on the entry is sent and its outcome
// is recorded, which takes at most the send timeout if the database works. Entries that
// are not claimed when ctx ends are listed in Later. After ctx has ended, Deliver returns
// within the send timeout and 10 s. An error comes from the database, the limiter or a context
// that had ended before the call, or says that a request did not return. Delivered then contains what is known; call Deliver again.
func (o *Outbox[Tx]) Deliver(ctx context.Context, keys ...string) (Delivered, error) {
	if ctx.Err() != nil {
		return Delivered{}, fmt.Errorf("outbox: deliver: %w", context.Cause(ctx))
	}
	c := o.newCall(ctx)
	keys = slices.Compact(slices.Sorted(slices.Values(keys)))
	var problem error
	err := c.finish(ctx, func() {
		c.maintainNow(ctx)
		problem = c.deliver(ctx, validKeys(keys))
		c.purgeNow(ctx, deliverPurgeTime)
	})
	delivered, others := c.delivered(keys)
	if err != nil { // some sends may have been left behind
		delivered.Busy, delivered.More, delivered.RetryAfter = others, true, busyWait
		return delivered, err
	}
	if err = cmp.Or(problem, c.lookUp(ctx, others, &delivered)); err != nil {
		err = fmt.Errorf("outbox: deliver: %w", err)
	}
	return delivered, err
}

// deliver claims and sends as many of the keys as it can, one operation after the other.
func (c *call[Tx]) deliver(ctx context.Context, keys []string) error {
	found, err := c.find(ctx, keys)
	if err != nil {
		return err
	}
	slices.SortFunc(found, func(a, b ledger.Entry) int { return cmp.Compare(a.Key, b.Key) }) // a database returns them in any order
	if slices.ContainsFunc(found, func(e ledger.Entry) bool { return e.State == ledger.Pending && e.Late() }) {
		if err := c.expire(ctx); err != nil {
			return err
		}
	}
	byOperation := make(map[string][]ledger.Entry)
	for _, e := range found {
		if e.State == ledger.Pending && !e.Late() {
			byOperation[e.Operation] = append(byOperation[e.Operation], e)
		}
	}
	for operation, entries := range byOperation {
		if err := c.deliverOperation(ctx, operation, entries); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// deliverOperation claims and sends entries of one operation, until its breaker is open.
func (c *call[Tx]) deliverOperation(ctx context.Context, operation string, entries []ledger.Entry) error {
	for len(entries) > 0 && ctx.Err() == nil {
		n := c.limit.Claims(ctx, c.batchOf(entries))
		if n == 0 {
			return nil
		}
		pass := c.breakers.Admit(operation, n, time.Now())
		c.limit.EndClaims(n - pass.N)
		switch {
		case pass.N == 0 && pass.Open:
			return nil
		case pass.N == 0: // as many are in flight as may be
			select {
			case <-ctx.Done():
			case <-pass.Changed:
			}
			continue
		}
		if c.rate != nil {
			if err := c.askLimiter(ctx); err != nil {
				c.giveBack(pass, pass.N)
				return err
			}
		}
		if err := c.claimKeys(ctx, pass, entries[:pass.N]); err != nil {
			return err
		}
		entries = entries[pass.N:]
		if pass.Probe() {
			c.sends.Wait()
		}
	}
	return nil
}

// batchOf returns how many of the entries one claim takes.
func (c *call[Tx]) batchOf(entries []ledger.Entry) int {
	most := min(len(entries), c.inFlight, keyBatch)
	if c.rate != nil {
		most = 1
	}
	size := entries[0].Size
	for n := 1; n < most; n++ {
		if size += entries[n].Size; size > limit.ClaimBodies {
			return n
		}
	}
	return most
}

// claimKeys claims entries by their keys, when there is room for their bodies.
func (c *call[Tx]) claimKeys(ctx context.Context, pass breaker.Pass, entries []ledger.Entry) error {
	var keys []string
	size := int64(0)
	for _, e := range entries {
		keys, size = append(keys, e.Key), size+e.Size
	}
	taken := c.limit.Bodies(ctx, size)
	if taken == 0 {
		c.giveBack(pass, pass.N)
		return nil
	}
	_, err := c.claim(ctx, pass, taken, ledger.Claim{Keys: keys})
	return err
}

// find returns the entries with these keys.
func (c *call[Tx]) find(ctx context.Context, keys []string) (found []ledger.Entry, err error) {
	for batch := range slices.Chunk(keys, keyBatch) {
		entries, err := withTimeout(ctx, func(ctx context.Context) ([]ledger.Entry, error) { return c.ledger.Find(ctx, batch) })
		if err != nil {
			return nil, err
		}
		found = append(found, entries...)
	}
	return found, nil
}

// busyWait is how long to wait for entries that another call or process has claimed.
const busyWait = 500 * time.Millisecond

// delivered returns the states of the entries that this call has recorded, and the keys of the
// others.
func (c *call[Tx]) delivered(keys []string) (all Delivered, others []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range keys {
		if state, ok := c.recorded[key]; ok && state != ledger.Pending {
			all.add(key, ledger.Entry{State: state})
		} else {
			others = append(others, key)
		}
	}
	return all, others
}

// lookUp adds the states of entries that this call has not recorded.
func (c *call[Tx]) lookUp(ctx context.Context, keys []string, all *Delivered) error {
	found, err := c.find(ctx, validKeys(keys))
	if err != nil {
		return err
	}
	var paused []string
	if slices.ContainsFunc(found, func(e ledger.Entry) bool { return e.State == ledger.Pending }) {
		if paused, err = withTimeout(ctx, c.ledger.Paused); err != nil {
			return err
		}
	}
	byKey := make(map[string]ledger.Entry, len(found))
	for _, e := range found {
		byKey[e.Key] = e
	}
	for _, key := range keys {
		switch e, ok := byKey[key]; {
		case !ok:
			all.Absent = append(all.Absent, key)
		case e.State == ledger.Pending && slices.Contains(paused, e.Operation):
			all.Paused = append(all.Paused, key)
		default:
			e.DueIn = max(e.DueIn, c.breakers.Wait(e.Operation, time.Now()))
			all.add(key, e)
		}
	}
	if len(all.Busy) > 0 && (len(all.Later) == 0 || all.RetryAfter > busyWait) {
		all.RetryAfter = busyWait
	}
	return nil
}

// add adds the state of an entry.
func (r *Delivered) add(key string, e ledger.Entry) {
	switch e.State {
	case ledger.Accepted:
		r.Accepted++
	case ledger.Rejected:
		r.Rejected++
	case ledger.Unclear:
		r.Unclear++
	case ledger.Sending:
		r.Busy, r.More = append(r.Busy, key), true
	case ledger.Pending:
		if len(r.Later) == 0 || e.DueIn < r.RetryAfter {
			r.RetryAfter = e.DueIn
		}
		r.Later, r.More = append(r.Later, key), true
	case ledger.Dismissed: // is not counted
	}
}
