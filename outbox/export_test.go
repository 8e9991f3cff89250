package outbox

import "time"

// Fast shortens the durations that are not configurable.
func Fast() Option {
	return func(c *config) error {
		c.timing.sweepEvery = 50 * time.Millisecond
		c.timing.purgeEvery = 50 * time.Millisecond
		c.timing.poll = 10 * time.Millisecond
		c.timing.unclaimEvery = 10 * time.Millisecond
		c.timing.firstWait = 10 * time.Millisecond
		c.timing.longestWait = 50 * time.Millisecond
		c.timing.deniedWait = 300 * time.Millisecond
		c.timing.stopGrace = 500 * time.Millisecond
		c.timing.gate.First = 20 * time.Millisecond
		c.timing.gate.Longest = 100 * time.Millisecond
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

// WithGate sets how long a gate is closed until the first probe, and at most between two.
func WithGate(first, longest time.Duration) Option {
	return func(c *config) error {
		c.timing.gate.First, c.timing.gate.Longest = first, longest
		return nil
	}
}

// EndGuards makes the time pass after which OnSettled is called for swept entries.
func EndGuards(o any) {
	d := o.(interface{ swept() *deferred }).swept()
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.entries {
		d.entries[i].at = time.Time{}
	}
}

func (o *Outbox[Tx]) swept() *deferred { return &o.deferred }
