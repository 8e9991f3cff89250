package outbox

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// Deliver sends the entries with these keys now, for an engine that calls at least once:
// a job queue, a workflow, a consumer, cron. Calling it twice, or at once in two places,
// sends once. It uses the slots, the gate and the limiter of this Outbox, together with
// Run, and observes NotBefore.
//
// The context counts until an entry is claimed. From then on it is sent and its outcome
// recorded, which takes at most SendTimeout if the database works. Keys that are not
// claimed when it ends are Later. An error is about the database or the limiter. Delivered
// then holds what is known; call Deliver again.
func (o *Outbox[Tx]) Deliver(ctx context.Context, keys ...string) (Delivered, error) {
	if ctx.Err() != nil {
		return Delivered{}, fmt.Errorf("outbox: deliver: %w", context.Cause(ctx))
	}
	d := &delivery[Tx]{Outbox: o, settled: make(map[string]ledger.State)}
	var endWatching func() bool
	d.stop, endWatching = stopOf(ctx)
	defer endWatching()
	o.maintainNow(ctx)
	keys = slices.Clone(keys)
	slices.Sort(keys)
	keys = slices.Compact(keys)
	keys, invalid := validKeys(keys)
	err := d.run(ctx, keys)
	d.sends.Wait()
	if d.unsettled > 0 {
		err = unsettledError(d.unsettled, d.err)
	}
	result, unknown := d.result(ctx, append(keys, invalid...))
	if err == nil {
		err = unknown
	}
	return result, err
}

// delivery is one call of Deliver.
type delivery[Tx any] struct {
	*Outbox[Tx]
	stop  *stop
	sends sync.WaitGroup

	mu        sync.Mutex
	settled   map[string]ledger.State // of what this call has sent
	unsettled int
	err       error
}

// run claims and sends as many of the keys as it can.
func (d *delivery[Tx]) run(ctx context.Context, keys []string) error {
	for len(keys) > 0 && ctx.Err() == nil {
		pass, _, _ := d.gate.admit(time.Now())
		if pass == passNone {
			return nil
		}
		limit := min(len(keys), d.inFlight, keyBatch)
		if pass == passProbe {
			limit = 1
		}
		c, tried, err := d.claimKeys(ctx, keys[:limit], pass == passProbe)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("outbox: deliver: %w", err)
		}
		keys = keys[tried:]
		for _, entry := range c.entries {
			d.sends.Go(func() {
				defer d.slots.release(1)
				d.sendOne(ctx, c, entry)
			})
		}
		if c.probe {
			d.sends.Wait()
		}
	}
	return nil
}

func (d *delivery[Tx]) sendOne(ctx context.Context, c claimed, entry ledger.Claimed) {
	state, applied, err := d.deliverOne(ctx, c, entry, d.stop)
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case err != nil:
		d.unsettled++
		d.err = err
	case applied && state != ledger.Pending:
		d.settled[entry.Key] = state
	}
}

// claimKeys claims as many of the keys as the limiter and the slots allow at the moment.
// It returns how many it tried. A slot is taken for each entry that it claimed.
func (d *delivery[Tx]) claimKeys(ctx context.Context, keys []string, probe bool) (c claimed, tried int, err error) {
	defer func() {
		d.slots.release(tried - len(c.entries))
		if probe && len(c.entries) == 0 {
			d.gate.abandon()
		}
	}()
	if tried = d.slots.acquire(ctx, d.permit.most(len(keys))); tried == 0 {
		return claimed{}, 0, ctx.Err()
	}
	c, err = d.claim(ctx, tried, keys[:tried], probe)
	if err != nil && c.token != (ledger.Token{}) {
		d.sends.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, claimTimeout) // then the sweep finds it
			defer cancel()
			d.unclaim(ctx, c.token)
		})
	}
	return c, tried, err
}

// busyWait is how long to wait for entries that are claimed elsewhere.
const busyWait = 500 * time.Millisecond

// result says what became of the keys. It asks the database about those that this call
// has not settled.
func (d *delivery[Tx]) result(ctx context.Context, keys []string) (Delivered, error) {
	var result Delivered
	var others []string
	for _, key := range keys {
		if state, ok := d.settled[key]; ok {
			result.add(key, ledger.Entry{State: state}, true)
			continue
		}
		if keyProblem(key) != "" {
			result.Unknown = append(result.Unknown, key)
			continue
		}
		others = append(others, key)
	}
	for batch := range slices.Chunk(others, keyBatch) {
		found, err := withTimeout(ctx, func(ctx context.Context) ([]ledger.Entry, error) { return d.ledger.Find(ctx, batch) })
		if err != nil {
			return Delivered{}, fmt.Errorf("outbox: deliver: %w", err)
		}
		byKey := make(map[string]ledger.Entry, len(found))
		for _, e := range found {
			byKey[e.Key] = e
		}
		for _, key := range batch {
			e, ok := byKey[key]
			result.add(key, e, ok)
		}
	}
	if len(result.Later) > 0 {
		result.RetryAfter = max(result.RetryAfter, d.gate.wait(time.Now()))
	}
	switch {
	case len(result.Busy) == 0:
	case len(result.Later) == 0:
		result.RetryAfter = busyWait
	default:
		result.RetryAfter = min(result.RetryAfter, busyWait)
	}
	return result, nil
}

func (r *Delivered) add(key string, e ledger.Entry, found bool) {
	if !found {
		r.Unknown = append(r.Unknown, key)
		return
	}
	switch e.State {
	case ledger.Accepted:
		r.Accepted++
	case ledger.Rejected:
		r.Rejected++
	case ledger.Unclear:
		r.Unclear++
	case ledger.Sending:
		r.Busy = append(r.Busy, key)
	case ledger.Pending:
		wait := max(time.Until(e.NotBefore), 0)
		if len(r.Later) == 0 || wait < r.RetryAfter {
			r.RetryAfter = wait
		}
		r.Later = append(r.Later, key)
	case ledger.Dismissed: // nothing becomes of it
	}
}
