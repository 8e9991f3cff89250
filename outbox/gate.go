package outbox

import (
	"log/slog"
	"sync"
	"time"
)

// gate stops claims while requests fail for reasons that are not theirs: a wrong API
// key, a service that is down, no network. While it is closed, one request at a time, the
// probe, finds out whether that is over.
type gate struct {
	gateTiming
	logger *slog.Logger

	mu       sync.Mutex
	why      string // "" if the gate is open
	until    time.Time
	delay    time.Duration
	probing  bool
	changed  chan struct{} // closed when what pass returns may have changed
	accepted map[string]time.Time
}

type gateTiming struct {
	first, longest time.Duration // between two probes
	longestAsked   time.Duration // for which a Retry-After is obeyed
	// recent is how long after a success the first 403 or 404 of an entry is taken to be
	// about the entry.
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

// admit returns how much may be claimed now. For none it returns when to ask again: after
// wait, or when changed is closed. A probe must be reported or abandoned.
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

// wait returns how long to wait before asking again: as long as the gate stays closed at
// least, and while a probe is sent, for a while.
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

// abandon ends a probe that had nothing to send.
func (g *gate) abandon() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.probing = false
	g.notify()
}

// acceptedWithin reports whether an operation has been accepted within a time.
func (g *gate) acceptedWithin(operation string, window time.Duration, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	at, ok := g.accepted[operation]
	return ok && now.Sub(at) <= window
}

// report tells the gate how a send that began at started has ended. It returns whether
// the gate is closed now because of what stopped the send.
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
	case !blocked && probe && o.answered:
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

// worksSince reports whether a request has been accepted since then, so that a failure is
// not one of everything.
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
		g.logger.Warn("outbox: the gate is closed: nothing but probes is sent", "reason", o.reason)
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
