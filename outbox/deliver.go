package outbox

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// Deliver sends the entries with these keys now. It is for an engine that calls at least
// once: a job queue, a workflow, a consumer, cron. Repeated or concurrent calls send each
// entry once. Deliver shares the limit on requests in flight, the gate and the limiter
// with the other calls of this Outbox. It does not send entries before they are due.
//
// ctx applies until an entry is claimed. From then on the entry is sent and its outcome
// is recorded, which takes at most the send timeout if the database works. Entries that
// are not claimed when ctx ends are listed in Later. An error comes from the database or
// the limiter. Delivered then contains what is known; call Deliver again.
func (o *Outbox[Tx]) Deliver(ctx context.Context, keys ...string) (Delivered, error) {
	if ctx.Err() != nil {
		return Delivered{}, fmt.Errorf("outbox: deliver: %w", context.Cause(ctx))
	}
	d := &delivery[Tx]{Outbox: o, recorded: make(map[string]ledger.State)}
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
	if d.unrecorded > 0 {
		err = unrecordedError(d.unrecorded, d.err)
	}
	delivered, lookup := d.delivered(ctx, append(keys, invalid...))
	if err == nil {
		err = lookup
	}
	return delivered, err
}

// delivery is one call of Deliver.
type delivery[Tx any] struct {
	*Outbox[Tx]
	stop  *stop
	sends sync.WaitGroup

	mu         sync.Mutex
	recorded   map[string]ledger.State // of the entries that this call has sent
	unrecorded int
	err        error
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
		d.unrecorded++
		d.err = err
	case applied && state != ledger.Pending:
		d.recorded[entry.Key] = state
	}
}

// claimKeys claims as many of the keys as the limiter and the free slots allow. It
// returns how many it tried. Each entry that it claimed occupies a slot.
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
			ctx, cancel := context.WithTimeout(ctx, claimTimeout) // after that, the sweep finds the entries
			defer cancel()
			d.unclaim(ctx, c.token)
		})
	}
	return c, tried, err
}

// busyWait is how long to wait for entries that another call or process has claimed.
const busyWait = 500 * time.Millisecond

// delivered returns the states of the entries. It looks up those that this call has not
// recorded itself.
func (d *delivery[Tx]) delivered(ctx context.Context, keys []string) (Delivered, error) {
	var all Delivered
	var others []string
	for _, key := range keys {
		if state, ok := d.recorded[key]; ok {
			all.add(key, ledger.Entry{State: state}, true)
			continue
		}
		if keyProblem(key) != "" {
			all.Unknown = append(all.Unknown, key)
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
			all.add(key, e, ok)
		}
	}
	if len(all.Later) > 0 {
		all.RetryAfter = max(all.RetryAfter, d.gate.wait(time.Now()))
	}
	switch {
	case len(all.Busy) == 0:
	case len(all.Later) == 0:
		all.RetryAfter = busyWait
	default:
		all.RetryAfter = min(all.RetryAfter, busyWait)
	}
	return all, nil
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
	case ledger.Dismissed: // is not counted
	}
}
