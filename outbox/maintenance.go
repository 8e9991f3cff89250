package outbox

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/messaging-go/messaging/outbox/internal/alarm"
	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// alarms are about what Run and DeliverDue repeat.
type alarms struct{ look, claim, limiter, sweep, purge *alarm.Alarm }

func newAlarms(logger *slog.Logger) alarms {
	return alarms{look: alarm.New(logger, "look for entries"), claim: alarm.New(logger, "claim entries"),
		limiter: alarm.New(logger, "ask the limiter"),
		sweep:   alarm.New(logger, "look for entries that were left behind or whose time is over"),
		purge:   alarm.New(logger, "delete old entries")}
}

const (
	// maintenanceBatch is the largest number of entries that one statement sweeps or
	// purges. It is small, because SQLite has one lock for all that writes.
	maintenanceBatch = 200
	// purgeTime limits a purge of Run, which goes on after the next sweep, and of DeliverDue;
	// deliverPurgeTime limits that of Deliver.
	purgeTime        = time.Second
	deliverPurgeTime = 100 * time.Millisecond
)

// maintain sweeps and purges until ctx ends. The purge comes last, so that it delays nothing.
func (c *call[Tx]) maintain(ctx context.Context) {
	ticker := time.NewTicker(c.timing.sweepEvery)
	defer ticker.Stop()
	var purged time.Time
	for {
		c.maintainNow(ctx)
		if time.Since(purged) >= c.timing.purgeEvery && c.purge(ctx, purgeTime) {
			purged = time.Now()
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// maintainNow rejects entries whose time is over, and sweeps, if that is due.
func (c *call[Tx]) maintainNow(ctx context.Context) {
	now, swept := time.Now(), c.swept.Load()
	recently := swept != nil && now.Sub(*swept) < c.timing.sweepEvery*9/10 // a ticker is not exact
	if recently || !c.swept.CompareAndSwap(swept, &now) {
		return
	}
	switch err := errors.Join(c.expire(ctx), c.sweep(ctx)); {
	case err == nil:
		c.alarms.sweep.Works()
	case ctx.Err() == nil:
		c.alarms.sweep.Failed(err)
	}
}

// sweep makes entries unclear, or repeatable ones pending, whose process did not report an
// outcome within the lease.
func (o *Outbox[Tx]) sweep(ctx context.Context) error {
	repeat := ledger.Repeat{Doubts: maxDoubts, First: o.timing.firstWait, Longest: o.timing.longestWait}
	return inBatches(ctx, func(ctx context.Context) (int, error) {
		swept, err := o.ledger.Sweep(ctx, maintenanceBatch, repeat)
		if swept.Unclear > 0 {
			o.logger.Warn("outbox: entries are unclear because their process did not report an outcome in time", "entries", swept.Unclear)
		}
		if swept.Pending > 0 {
			o.logger.Warn("outbox: entries are sent again because their process did not report an outcome in time", "entries", swept.Pending)
		}
		return swept.Unclear + swept.Pending, err
	})
}

// expire rejects entries whose NotAfter has passed.
func (c *call[Tx]) expire(ctx context.Context) error {
	return inBatches(ctx, func(limited context.Context) (int, error) {
		expired, err := c.ledger.Expire(limited, maintenanceBatch)
		for _, e := range expired {
			c.note(e.Key, ledger.Rejected)
			c.settled(context.WithoutCancel(ctx), entryOf(e))
		}
		return len(expired), err
	})
}

// inBatches repeats a statement until it has found less than a batch.
func inBatches(ctx context.Context, do func(context.Context) (int, error)) error {
	for {
		if n, err := withTimeout(ctx, do); err != nil || n < maintenanceBatch {
			return err
		}
	}
}

// purgeNow purges, if that is due, when the entries of Deliver or DeliverDue are sent.
func (c *call[Tx]) purgeNow(ctx context.Context, limit time.Duration) {
	c.sends.Wait()
	now, purged := time.Now(), c.purged.Load()
	recently := purged != nil && now.Sub(*purged) < c.timing.purgeEvery
	if ctx.Err() == nil && !recently && c.purged.CompareAndSwap(purged, &now) {
		c.purge(ctx, limit)
	}
}

// purge removes the remains of erased bodies, and deletes old entries. It returns false if
// it has to go on, because its time was over after it had deleted some.
func (o *Outbox[Tx]) purge(ctx context.Context, limit time.Duration) bool {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err, some := o.ledger.Tidy(limited), false
	for n := maintenanceBatch; err == nil && o.keepSettled > 0 && n >= maintenanceBatch; {
		if limited.Err() != nil {
			return false
		}
		n, err = o.ledger.Purge(limited, o.keepSettled, maintenanceBatch)
		some = some || err == nil
	}
	switch {
	case err == nil:
		o.alarms.purge.Works()
	case some && limited.Err() != nil:
		return false
	case ctx.Err() == nil:
		o.alarms.purge.Failed(err)
	}
	return true
}
