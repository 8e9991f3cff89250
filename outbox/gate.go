package outbox

import (
	"log/slog"
	"sync"
	"time"
)

// gate is a circuit breaker. It stops claims while requests fail for reasons that do not
// lie in the requests: a wrong API key, a service that is down, no network. While it is
// closed, one request at a time, the probe, finds out whether the service works again.
type gate struct {
	gateTiming
	logger *slog.Logger

	mu       sync.Mutex
	why      string // "" if the gate is open
	until    time.Time
	delay    time.Duration
	probing  bool
	changed  chan struct{}        // closed when what admit returns may have changed
	accepted map[string]time.Time // when each operation was last accepted
}

type gateTiming struct {
	first, longest time.Duration // between two probes
	longestAsked   time.Duration // of a Retry-After that is obeyed
	// recent is how long after an acceptance the first 403 or 404 of an entry counts as
	// being about the entry.
	recent time.Duration
}

func newGate(timing gateTiming, logger *slog.Logger) gate {
	return gate{gateTiming: timing, logger: logger, changed: make(chan struct{}), accepted: make(map[string]time.Time)}
}

// pass is the permission to claim.
type pass uint8

const (
	passNone pass = iota
	passProbe
	passAll
)

// admit returns how much may be claimed now. If that is nothing, it also returns when to
// call it again: after wait, or when changed is closed. The caller must report or abandon
// a probe.
func (g *gate) admit(now time.Time) (p pass, wait time.Duration, changed <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.why == "":
		return passAll, 0, nil
	case g.probing:
		return passNone, g.longest, g.changed
	case now.Before(g.until):
		return passNone, g.until.Sub(now), g.changed
	}
	g.probing = true
	return passProbe, 0, nil
}

// wait returns how long to wait before the next call of admit: until the next probe is
// due, and longer while a probe is being sent.
func (g *gate) wait(now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.why == "" {
		return 0
	}
	wait := max(g.until.Sub(now), 0)
	if g.probing {
		wait = max(wait, g.first)
	}
	return wait
}

func (g *gate) reason() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.why
}

// abandon ends a probe that found nothing to send.
func (g *gate) abandon() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.probing = false
	g.notify()
}

// acceptedWithin reports whether the operation was accepted within the window before now.
func (g *gate) acceptedWithin(operation string, window time.Duration, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	at, ok := g.accepted[operation]
	return ok && now.Sub(at) <= window
}

// report takes the outcome of a send that began at started. It returns whether the gate
// is now closed because of the failure of this send.
func (g *gate) report(o outcome, probe bool, started, now time.Time) (closed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if o.accepted() {
		g.accepted[o.operation] = now
	}
	if probe {
		g.probing = false
		defer g.notify()
	}
	blocked := o.block == blockAlways || o.block == blockUnlessWorking && !g.worksSince(started)
	switch {
	case !blocked && probe && o.responded:
		g.open()
	case !blocked && probe:
		g.until = now.Add(g.delay)
	case !blocked:
		return false
	case g.why == "":
		g.delay = g.first
		g.close(o, now)
	case probe:
		g.delay = min(2*g.delay, g.longest)
		g.close(o, now)
	default: // a send that was in flight when the gate closed
		g.until = later(g.until, now.Add(min(o.retryAfter, g.longestAsked)))
	}
	return blocked
}

// worksSince reports whether a request was accepted after then. If so, a failure does not
// concern all requests.
func (g *gate) worksSince(then time.Time) bool {
	for _, at := range g.accepted {
		if at.After(then) {
			return true
		}
	}
	return false
}

func (g *gate) close(o outcome, now time.Time) {
	if g.why == "" {
		g.logger.Warn("outbox: the gate is closed; only probes are sent", "reason", o.reason)
	}
	g.why = o.reason
	g.until = now.Add(max(g.delay, min(o.retryAfter, g.longestAsked)))
	g.notify()
}

func (g *gate) open() {
	g.why = ""
	g.logger.Info("outbox: the gate is open again")
}

func (g *gate) notify() {
	close(g.changed)
	g.changed = make(chan struct{})
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
