package outbox

import (
	"context"
	"sync"
	"time"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// maintenance knows when this process last swept and purged.
type maintenance struct {
	mu            sync.Mutex
	swept, purged time.Time
}

const (
	// maintenanceBatch is the largest number of entries that one statement sweeps or
	// purges. It is small, because SQLite has one lock for all that writes.
	maintenanceBatch = 200
	// reportedClaims is the largest number of entries of others that is logged.
	reportedClaims = 1000
)

// maintain sweeps and purges until ctx ends.
func (o *Outbox[Tx]) maintain(ctx context.Context, r *running) {
	ticker := time.NewTicker(o.timing.sweepEvery)
	defer ticker.Stop()
	o.reportClaimed(ctx)
	for {
		o.maintainNow(ctx, r)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// reportClaimed logs that other processes have claimed entries, perhaps before a crash.
func (o *Outbox[Tx]) reportClaimed(ctx context.Context) {
	claimed, err := withTimeout(ctx, func(ctx context.Context) ([]ledger.Entry, error) {
		return o.ledger.List(ctx, ledger.Filter{State: ledger.Sending}, 0, reportedClaims)
	})
	if err != nil || len(claimed) == 0 {
		return
	}
	var until time.Time
	for _, e := range claimed {
		until = later(until, e.LeaseUntil)
	}
	o.logger.Info("outbox: other processes have claimed entries; those whose process is gone become unclear when their leases end",
		"entries", len(claimed), "until", until)
}

// maintainNow sweeps and purges if either is due.
func (o *Outbox[Tx]) maintainNow(ctx context.Context, r *running) {
	m := &o.maintenance
	m.mu.Lock()
	now := time.Now()
	sweep := now.Sub(m.swept) >= o.timing.sweepEvery*9/10 // a ticker is not exact
	purge := now.Sub(m.purged) >= o.timing.purgeEvery
	if sweep {
		m.swept = now
	}
	if purge {
		m.purged = now
	}
	m.mu.Unlock()
	if sweep {
		o.expire(ctx, r)
		if err := o.sweep(ctx, r); err != nil && ctx.Err() == nil {
			o.logger.Error("outbox: cannot look for entries that were left behind; retrying", "error", err)
		}
	}
	if purge {
		if err := o.purge(ctx); err != nil && ctx.Err() == nil {
			o.logger.Error("outbox: cannot delete old entries; retrying", "error", err)
		}
	}
}

// sweep makes entries unclear whose process did not report an outcome within the lease.
func (o *Outbox[Tx]) sweep(ctx context.Context, r *running) error {
	for {
		swept, err := inDatabase(ctx, r, func(ctx context.Context) ([]ledger.Swept, error) { return o.ledger.Sweep(ctx, maintenanceBatch) })
		if err != nil {
			return err
		}
		if len(swept) > 0 {
			o.logger.Warn("outbox: entries are unclear because their process did not report an outcome in time", "entries", len(swept))
		}
		if o.onSettled != nil {
			now := time.Now()
			for _, s := range swept {
				o.deferred.add(s.ID, now.Add(s.Guard))
			}
		}
		if len(swept) < maintenanceBatch {
			return o.reportSwept(ctx, r)
		}
	}
}

// expire rejects entries whose NotAfter has passed.
func (o *Outbox[Tx]) expire(ctx context.Context, r *running) {
	for {
		expired, err := inDatabase(ctx, r, func(ctx context.Context) ([]ledger.Entry, error) { return o.ledger.Expire(ctx, maintenanceBatch) })
		if err != nil && ctx.Err() == nil {
			o.logger.Error("outbox: cannot reject entries whose time is over; retrying", "error", err)
		}
		for _, e := range expired {
			o.settled(context.WithoutCancel(ctx), entryOf(e), r)
		}
		if len(expired) < maintenanceBatch {
			return
		}
	}
}

// inDatabase calls do with a limit on its time, and notes that it is running.
func inDatabase[T any](ctx context.Context, r *running, do func(context.Context) (T, error)) (T, error) {
	defer r.enter("the database")()
	return withTimeout(ctx, do)
}

// reportSwept calls onSettled for swept entries whose process can no longer report an
// outcome.
func (o *Outbox[Tx]) reportSwept(ctx context.Context, r *running) error {
	ids := o.deferred.due(time.Now())
	if len(ids) == 0 {
		return nil
	}
	entries, err := o.ledger.StillSwept(ctx, ids)
	if err != nil {
		for _, id := range ids {
			o.deferred.add(id, time.Now())
		}
		return err
	}
	for _, e := range entries {
		o.settled(context.WithoutCancel(ctx), entryOf(e), r)
	}
	return nil
}

// purge removes the remains of erased bodies, and deletes old entries.
func (o *Outbox[Tx]) purge(ctx context.Context) error {
	if err := o.ledger.Tidy(ctx); err != nil {
		return err
	}
	for o.keepSettled > 0 {
		n, err := o.ledger.Purge(ctx, o.keepSettled, maintenanceBatch)
		if err != nil || n < maintenanceBatch {
			return err
		}
	}
	return nil
}

// deferred holds the entries for which onSettled is called later.
type deferred struct {
	mu      sync.Mutex
	entries []deferredEntry
}

type deferredEntry struct {
	id int64
	at time.Time
}

func (d *deferred) add(id int64, at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entries = append(d.entries, deferredEntry{id, at})
}

// due removes and returns the entries whose time has come, at most keyBatch.
func (d *deferred) due(now time.Time) (ids []int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	kept := d.entries[:0]
	for _, e := range d.entries {
		if e.at.After(now) || len(ids) == keyBatch {
			kept = append(kept, e)
			continue
		}
		ids = append(ids, e.id)
	}
	d.entries = kept
	return ids
}
