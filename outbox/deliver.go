package outbox

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
	"github.com/messaging-go/messaging/outbox/internal/record"
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
// within the send timeout and 10 s. An error comes from the database or the limiter.
// Delivered then contains what is known; call Deliver again.
func (o *Outbox[Tx]) Deliver(ctx context.Context, keys ...string) (Delivered, error) {
	if ctx.Err() != nil {
		return Delivered{}, fmt.Errorf("outbox: deliver: %w", context.Cause(ctx))
	}
	d := &delivery[Tx]{call[Tx]{Outbox: o, recorded: make(map[string]ledger.State)}}
	var endWatching func() bool
	d.stop, endWatching = record.StopOf(ctx)
	defer endWatching()
	keys = slices.Clone(keys)
	slices.Sort(keys)
	keys = slices.Compact(keys)
	valid, _ := validKeys(keys)
	var problem error
	done := make(chan struct{})
	go func() {
		defer close(done)
		o.maintainNow(ctx)
		problem = d.run(ctx, valid)
		d.sends.Wait()
	}()
	err := d.finish(ctx, done)
	if err != nil {
		return d.known(keys), err
	}
	delivered, lookup := d.delivered(ctx, keys)
	if err = problem; err == nil {
		err = lookup
	}
	return delivered, err
}

// delivery is one call of Deliver.
type delivery[Tx any] struct{ call[Tx] }

// run claims and sends as many of the keys as it can, one operation after the other.
func (d *delivery[Tx]) run(ctx context.Context, keys []string) error {
	found, err := d.find(ctx, keys)
	if err != nil {
		return err
	}
	slices.SortFunc(found, func(a, b ledger.Entry) int { return cmp.Compare(a.Key, b.Key) }) // a database returns them in any order
	byOperation := make(map[string][]string)
	if slices.ContainsFunc(found, func(e ledger.Entry) bool { return e.State == ledger.Pending && e.Late }) {
		if err := d.expire(ctx); err != nil {
			return fmt.Errorf("outbox: deliver: %w", err)
		}
	}
	for _, e := range found {
		if e.Late {
			continue
		}
		if e.State == ledger.Pending {
			byOperation[e.Operation] = append(byOperation[e.Operation], e.Key)
		}
	}
	for operation, keys := range byOperation {
		if err := d.runOperation(ctx, operation, keys); err != nil {
			return err
		}
	}
	return nil
}

func (d *delivery[Tx]) runOperation(ctx context.Context, operation string, keys []string) error {
	for len(keys) > 0 && ctx.Err() == nil {
		want := min(len(keys), d.inFlight, keyBatch)
		if d.rate != nil {
			want = 1
		}
		n := d.limit.Claims(ctx, want)
		if n == 0 {
			return nil
		}
		pass := d.breakers.Admit(operation, n, time.Now())
		d.limit.EndClaims(n - pass.N)
		switch {
		case pass.N == 0 && pass.Open:
			return nil
		case pass.N == 0: // as many are in flight as may be
			select {
			case <-ctx.Done():
			case <-pass.Changed:
			case <-time.After(pass.Wait):
			}
			continue
		}
		if d.rate != nil {
			if err := d.askLimiter(ctx); err != nil {
				d.limit.EndClaims(pass.N)
				d.breakers.GiveBack(pass, pass.N)
				return limiterError(ctx, err)
			}
		}
		if _, err := d.claim(ctx, pass, ledger.Claim{Keys: keys[:pass.N]}); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("outbox: deliver: %w", err)
		}
		keys = keys[pass.N:]
		if pass.Probe() {
			d.sends.Wait()
		}
	}
	return nil
}

// limiterError returns nil if the limiter returned because ctx has ended.
func limiterError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("outbox: deliver: %w", err)
}

// find returns the entries with these keys.
func (d *delivery[Tx]) find(ctx context.Context, keys []string) (found []ledger.Entry, err error) {
	for batch := range slices.Chunk(keys, keyBatch) {
		entries, err := withTimeout(ctx, func(ctx context.Context) ([]ledger.Entry, error) { return d.ledger.Find(ctx, batch) })
		if err != nil {
			return nil, fmt.Errorf("outbox: deliver: %w", err)
		}
		found = append(found, entries...)
	}
	return found, nil
}

// busyWait is how long to wait for entries that another call or process has claimed.
const busyWait = 500 * time.Millisecond

// known returns the states of the entries that this call has recorded. The others are
// busy: their sends have been left behind.
func (d *delivery[Tx]) known(keys []string) Delivered {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := Delivered{More: true, RetryAfter: busyWait}
	for _, key := range keys {
		if state, ok := d.recorded[key]; ok && state != ledger.Pending {
			all.add(key, ledger.Entry{State: state}, true)
		} else {
			all.Busy = append(all.Busy, key)
		}
	}
	return all
}

// delivered returns the states of the entries. It looks up those that this call has not
// recorded itself.
func (d *delivery[Tx]) delivered(ctx context.Context, keys []string) (all Delivered, err error) {
	var others []string
	for _, key := range keys {
		if state, ok := d.recorded[key]; ok && state != ledger.Pending {
			all.add(key, ledger.Entry{State: state}, true)
			continue
		}
		others = append(others, key)
	}
	valid, _ := validKeys(others)
	found, err := d.find(ctx, valid)
	if err != nil || len(others) == 0 {
		return all, err
	}
	paused, err := d.paused(ctx, found)
	if err != nil {
		return all, err
	}
	byKey := make(map[string]ledger.Entry, len(found))
	for _, e := range found {
		byKey[e.Key] = e
	}
	for _, key := range others {
		e, ok := byKey[key]
		if ok && e.State == ledger.Pending && slices.Contains(paused, e.Operation) {
			all.Paused = append(all.Paused, key)
			continue
		}
		if ok {
			e.DueIn = max(e.DueIn, d.breakers.Wait(e.Operation, time.Now()))
		}
		all.add(key, e, ok)
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

// paused returns the operations that are paused, if an entry is pending.
func (d *delivery[Tx]) paused(ctx context.Context, found []ledger.Entry) ([]string, error) {
	if !slices.ContainsFunc(found, func(e ledger.Entry) bool { return e.State == ledger.Pending }) {
		return nil, nil
	}
	paused, err := withTimeout(ctx, d.ledger.Paused)
	if err != nil {
		return nil, fmt.Errorf("outbox: deliver: %w", err)
	}
	return paused, nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
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
		r.Busy, r.More = append(r.Busy, key), true
	case ledger.Pending:
		if len(r.Later) == 0 || e.DueIn < r.RetryAfter {
			r.RetryAfter = e.DueIn
		}
		r.Later, r.More = append(r.Later, key), true
	case ledger.Dismissed: // is not counted
	}
}
