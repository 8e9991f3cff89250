// Package gate decides how many requests of each operation may be sent. It is a circuit
// breaker for each operation: it stops claims while requests fail for reasons that do not
// lie in them, such as a service that is down or no network. Then one request at a time,
// the probe, finds out whether the service works again.
package gate

import (
	"cmp"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Kind is what an outcome says about the operation.
type Kind uint8

const (
	// Nothing is for an attempt that did not begin.
	Nothing Kind = iota
	// Accepted means that the request was carried out.
	Accepted
	// Judged means that the service rejected the request for what it contains.
	Judged
	// OwnFault means that nothing was sent because of the entry itself.
	OwnFault
	// Denied means that the service denied the request, and that the reason may lie in
	// the entry or in the service.
	Denied
	// Failed means that the service or the way to it failed.
	Failed
	// KeyFailed means that the API key was not accepted or was used too often, which
	// concerns every operation.
	KeyFailed
)

// Outcome is the outcome of one attempt.
type Outcome struct {
	Kind       Kind
	Reason     string // without personal data
	RetryAfter time.Duration
}

// Timing holds the durations of the gates.
type Timing struct {
	First, Longest time.Duration // between two probes
	LongestAsked   time.Duration // of a Retry-After that is obeyed
	Recent         time.Duration // how long an outcome says something about the present
}

const (
	lastOutcomes = 16 // of an operation, that are looked at
	tooMany      = 8  // failures among them close its gate
	tooManyEarly = 4  // failures that are no denials, until the operation is no longer limited
)

// Gates are the gates of all operations.
type Gates struct {
	timing   Timing
	inFlight int // from that many on, an operation is not limited
	logger   *slog.Logger

	mu         sync.Mutex
	key        closure // for all operations
	operations map[string]*operation
	changed    chan struct{} // closed when what Admit returns may have changed
}

// closure is a gate that can be closed.
type closure struct {
	why     string // "" if it is open
	until   time.Time
	delay   time.Duration
	probing bool
	newest  bool // whether the next probe is the entry that became due last
}

type operation struct {
	closure
	outcomes         []recorded // the last ones
	accepted, worked time.Time
	claimed          int // not reported yet
	// window limits claimed. It begins with 1 and doubles with each round of requests
	// that the service has accepted or judged.
	window, round int
	recall        chan struct{}
}

type recorded struct {
	kind Kind
	at   time.Time
}

// New returns gates that are open. inFlight is how many requests are sent at a time.
func New(timing Timing, inFlight int, logger *slog.Logger) *Gates {
	return &Gates{timing: timing, inFlight: inFlight, logger: logger, operations: make(map[string]*operation),
		changed: make(chan struct{})}
}

// Pass is the permission to claim entries of an operation.
type Pass struct {
	Operation string
	N         int // how many
	// Closed is true if the gate is closed. If N is 1, the entry is a probe.
	Closed bool
	// Newest is true if a probe is to be the entry that became due last, so that probes
	// find a good entry sooner.
	Newest bool
	// If N is 0, Admit may return more after Wait or when Changed is closed.
	Wait    time.Duration
	Changed <-chan struct{}
	// Recall is closed when entries that are claimed and not sent are to be given back.
	Recall <-chan struct{}

	ofKey bool
}

// Probe reports whether the entry of this pass is a probe.
func (p Pass) Probe() bool { return p.Closed && p.N == 1 }

// Admit permits up to want claims of an operation. Each claim must be reported or given
// back.
func (g *Gates) Admit(name string, want int, now time.Time) Pass {
	g.mu.Lock()
	defer g.mu.Unlock()
	o := g.operation(name)
	p := Pass{Operation: name, Changed: g.changed, Recall: o.recall, Wait: g.timing.Longest}
	for _, c := range []*closure{&g.key, &o.closure} {
		if c.why == "" {
			continue
		}
		p.Closed, p.ofKey = true, c == &g.key
		switch {
		case c.probing:
		case now.Before(c.until):
			p.Wait = c.until.Sub(now)
		default:
			c.probing, p.N, p.Newest = true, 1, c.newest
			c.newest = !c.newest
			o.claimed++
		}
		return p
	}
	if o.claimed == 0 && now.Sub(o.worked) > g.timing.Recent {
		o.window, o.round = 1, 0
	}
	p.N = want
	if o.window < g.inFlight {
		p.N = max(min(want, o.window-o.claimed), 0)
	}
	o.claimed += p.N
	return p
}

func (g *Gates) operation(name string) *operation {
	o := g.operations[name]
	if o == nil {
		o = &operation{window: 1, recall: make(chan struct{})}
		g.operations[name] = o
	}
	return o
}

// GiveBack gives back n claims of a pass that found no entries.
func (g *Gates) GiveBack(p Pass, n int) {
	if n == 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.operation(p.Operation).claimed -= n
	if p.Probe() {
		g.closureOf(p).probing = false
	}
	g.notify()
}

func (g *Gates) closureOf(p Pass) *closure {
	if p.ofKey {
		return &g.key
	}
	return &g.operation(p.Operation).closure
}

// Report takes the outcome of an entry that was claimed with the pass. It returns whether
// the gate is closed now because of a failure like this one.
func (g *Gates) Report(p Pass, outcome Outcome, now time.Time) (closed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	o := g.operation(p.Operation)
	o.claimed--
	o.record(outcome.Kind, now, g.inFlight)
	outcome.RetryAfter = min(outcome.RetryAfter, g.timing.LongestAsked)
	wasOpen := o.why == ""
	if p.Probe() {
		g.probed(p, o, outcome, now)
	}
	switch {
	case outcome.Kind == KeyFailed && g.key.why == "":
		g.logger.Warn("outbox: the gate is closed for every operation; only probes are sent", "reason", outcome.Reason)
		g.key.newest = false
		g.key.close(outcome, max(g.key.delay, g.timing.First), now)
		for _, o := range g.operations {
			o.giveBack()
		}
	case outcome.Kind == KeyFailed && !p.Probe():
		g.key.until = later(g.key.until, now.Add(outcome.RetryAfter))
	case outcome.Kind != Failed && outcome.Kind != Denied:
	case wasOpen && o.why == "" && o.failing(now, g.timing.Recent, o.window < g.inFlight):
		g.logger.Warn("outbox: the gate is closed; only probes are sent", "operation", p.Operation, "reason", outcome.Reason)
		o.newest = outcome.Kind == Denied // which the one that has been due for longest was
		o.close(outcome, g.delayOf(o, outcome.Kind), now)
		o.giveBack()
	case !wasOpen && !p.Probe(): // it was in flight when the gate closed
		o.until = later(o.until, now.Add(outcome.RetryAfter))
	}
	if o.window < g.inFlight || o.why != "" || g.key.why != "" {
		g.notify()
	}
	return outcome.Kind == Failed && o.why != "" || outcome.Kind == KeyFailed
}

// delayOf returns the wait until the first probe. It is longer if the operation has not
// worked for a whole start since the gate was closed before.
func (g *Gates) delayOf(o *operation, kind Kind) time.Duration {
	switch {
	case o.window >= g.inFlight || o.delay == 0:
		return g.timing.First
	case kind == Denied:
		return o.delay
	}
	return min(2*o.delay, g.timing.Longest)
}

// probed takes the outcome of a probe.
func (g *Gates) probed(p Pass, o *operation, outcome Outcome, now time.Time) {
	c := g.closureOf(p)
	c.probing = false
	works := outcome.Kind == Accepted || outcome.Kind == Judged || p.ofKey && outcome.Kind == Denied
	switch {
	case works && p.ofKey:
		g.key = closure{}
		g.logger.Info("outbox: the gate is open again for every operation")
		for _, o := range g.operations {
			o.window, o.round = 1, 0
		}
	case works:
		c.why = ""
		o.window, o.round = 1, 0
		g.logger.Info("outbox: the gate is open again", "operation", p.Operation)
	case outcome.Kind == OwnFault || outcome.Kind == Nothing: // nothing was sent
		c.until = now
	case outcome.Kind == Denied, outcome.Kind == KeyFailed && !p.ofKey:
		c.close(outcome, c.delay, now)
	case outcome.Kind == Failed && p.ofKey: // says nothing about the key
		c.delay = min(2*c.delay, g.timing.Longest)
		c.until = now.Add(max(c.delay, outcome.RetryAfter))
	default:
		c.close(outcome, min(2*c.delay, g.timing.Longest), now)
	}
	g.notify()
}

// close closes a gate, or keeps it closed for another while.
func (c *closure) close(outcome Outcome, delay time.Duration, now time.Time) {
	c.why, c.delay = outcome.Reason, delay
	c.until = now.Add(max(delay, outcome.RetryAfter))
}

// record keeps an outcome. Denials before an acceptance are known to lie in their
// entries, and are forgotten.
func (o *operation) record(kind Kind, now time.Time, inFlight int) {
	switch kind {
	case Nothing, OwnFault, KeyFailed:
		return
	case Accepted:
		o.accepted = now
		o.outcomes = slices.DeleteFunc(o.outcomes, func(r recorded) bool { return r.kind == Denied })
	}
	if len(o.outcomes) == lastOutcomes {
		o.outcomes = slices.Delete(o.outcomes, 0, 1)
	}
	o.outcomes = append(o.outcomes, recorded{kind, now})
	if kind == Failed || kind == Denied {
		o.round = 0
		return
	}
	o.worked = now
	if o.round++; o.round >= o.window && o.window < inFlight {
		o.window, o.round = 2*o.window, 0
	}
}

// failing reports whether too many of the last outcomes are failures. early is true if
// the operation has been sent again for a short time only: then fewer are too many, because
// half of the requests may fail.
func (o *operation) failing(now time.Time, recent time.Duration, early bool) bool {
	failures, denials := 0, 0
	for _, r := range o.outcomes {
		switch {
		case now.Sub(r.at) > recent:
		case r.kind == Failed:
			failures++
		case r.kind == Denied:
			denials++
		}
	}
	return failures+denials >= tooMany || early && failures >= tooManyEarly || now.Sub(o.accepted) > recent
}

// Recall makes the entries of an operation that are claimed and not sent go back.
func (g *Gates) Recall(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.operation(name).giveBack()
}

func (o *operation) giveBack() {
	close(o.recall)
	o.recall = make(chan struct{})
}

// Wait returns how long to wait before the next call of Admit for a closed gate: until
// the next probe is due, and longer while a probe is being sent.
func (g *Gates) Wait(name string, now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := &g.key
	if c.why == "" {
		c = &g.operation(name).closure
	}
	if c.why == "" {
		return 0
	}
	wait := max(c.until.Sub(now), 0)
	if c.probing {
		wait = max(wait, g.timing.First)
	}
	return wait
}

// Reasons returns why each gate is closed, by operation. Open gates are left out.
func (g *Gates) Reasons() map[string]string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var reasons map[string]string
	for name, o := range g.operations {
		why := cmp.Or(g.key.why, o.why)
		if why == "" {
			continue
		}
		if reasons == nil {
			reasons = make(map[string]string)
		}
		reasons[name] = why
	}
	return reasons
}

func (g *Gates) notify() {
	close(g.changed)
	g.changed = make(chan struct{})
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
