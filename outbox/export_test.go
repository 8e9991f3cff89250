package outbox

import (
	"context"
	"time"

	"github.com/messaging-go/messaging/outbox/internal/limit"
)

// Fast shortens the durations that are not configurable.
func Fast() Option {
	return func(c *config) error {
		c.timing.sweepEvery = 50 * time.Millisecond
		c.timing.purgeEvery = 50 * time.Millisecond
		c.timing.poll = 10 * time.Millisecond
		c.timing.unclaimEvery = 10 * time.Millisecond
		c.timing.firstWait = 10 * time.Millisecond
		c.timing.longestWait = 50 * time.Millisecond
		c.timing.deniedWait = 100 * time.Millisecond
		c.timing.duePatience = 0
		c.timing.stopGrace = 500 * time.Millisecond
		c.timing.breaker.First = 20 * time.Millisecond
		c.timing.breaker.Longest = 100 * time.Millisecond
		return nil
	}
}

// WithLease sets the send timeout and how much longer the lease is.
func WithLease(sendTimeout, margin time.Duration) Option {
	return func(c *config) error {
		c.sendTimeout, c.timing.leaseMargin = sendTimeout, margin
		return nil
	}
}

// WithBreaker sets how long a breaker is open until the first probe, and at most between two.
func WithBreaker(first, longest time.Duration) Option {
	return func(c *config) error {
		c.timing.breaker.First, c.timing.breaker.Longest = first, longest
		return nil
	}
}

// WithWaits sets the waits of an entry that was not sent, or whose outcome is unknown.
func WithWaits(first, longest time.Duration) Option {
	return func(c *config) error {
		c.timing.firstWait, c.timing.longestWait = first, longest
		return nil
	}
}

// WithDeniedWait sets the wait after the first denial.
func WithDeniedWait(wait time.Duration) Option {
	return func(c *config) error {
		c.timing.deniedWait = wait
		return nil
	}
}

// HoldBodies takes room for bodies until release is called, as those of entries that are being
// sent do.
func (o *Outbox[Tx]) HoldBodies(bytes int64) (release func()) {
	taken := o.limit.Bodies(context.Background(), limit.MaxBodies)
	o.limit.EndBodies(taken - bytes)
	return func() { o.limit.EndBodies(bytes) }
}
