// Package breaker decides how many requests of each operation may be sent. Each operation
// has a circuit breaker with a window, the number of requests that may be in flight. Each
// success adds one to the window, and each failure halves it. At 0 the breaker is open:
// one request at a time, the probe, finds out whether the service works again.
package breaker

import (
	"cmp"
	"log/slog"
	"sync"
	"time"
)

// Kind is what an outcome says about the operation.
type Kind uint8

const (
	// Nothing means that the outcome says nothing about the service, because nothing was
	// sent, or because the reason may lie in the entry.
	Nothing Kind = iota
	// Works means that the service accepted the request, or rejected it for what it
	// contains.
	Works
	// Denied means that the service denied the request, and that the reason may lie in the
	// entry. It shows that the API key is accepted.
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
	// Delay is the time between two probes while this is the reason, or 0 if it grows.
	Delay time.Duration
}

// Timing holds the durations of the breakers.
type Timing struct {
	First, Longest time.Duration // between two probes
	LongestAsked   time.Duration // of a Retry-After that is obeyed
	Recent         time.Duration // after that long without a success, a window begins anew
}

// Breakers are the breakers of all operations.
type Breakers struct {
	timing   Timing
	inFlight int // from that many on, a window does not limit
	logger   *slog.Logger

	mu         sync.Mutex
	key        state // for all operations
	operations map[string]*operation
	changed    chan struct{} // closed when what Admit returns may have changed
	hanging    int           // requests that do not return
}

// state is whether a breaker is open.
type state struct {
	why     string // "" if it is closed
	until   time.Time
	delay   time.Duration // 0 if it has worked since it was open
	probing bool
}

type operation struct {
	state
	worked  time.Time
	claimed int // not reported yet
	window  int // up to twice inFlight
	recall  chan struct{}
}

// New returns breakers that are closed. inFlight is how many requests are sent at a time.
func New(timing Timing, inFlight int, logger *slog.Logger) *Breakers {
	return &Breakers{timing: timing, inFlight: inFlight, logger: logger, operations: make(map[string]*operation),
		changed: make(chan struct{})}
}

// Pass is the permission to claim entries of an operation.
type Pass struct {
	Operation string
	N         int // how many
	// Open is true if the breaker is open. If N is 1, the entry is a probe.
	Open bool
	// If N is 0, Admit may return more when Changed is closed, or after Wait if Open is true.
	Changed <-chan struct{}
	// Recall is closed when entries that are claimed and not sent are to be given back.
	Recall <-chan struct{}

	ofKey bool
}

// Probe reports whether the entry of this pass is a probe.
func (p Pass) Probe() bool { return p.Open && p.N == 1 }

// Admit permits up to want claims of an operation. Each claim must be reported or given
// back.
func (b *Breakers) Admit(name string, want int, now time.Time) Pass {
	b.mu.Lock()
	defer b.mu.Unlock()
	o := b.operation(name)
	p := Pass{Operation: name, Changed: b.changed, Recall: o.recall}
	for _, s := range []*state{&b.key, &o.state} {
		if s.why == "" {
			continue
		}
		p.Open, p.ofKey = true, s == &b.key
		if !s.probing && !now.Before(s.until) {
			s.probing, p.N = true, 1
			o.claimed++
		}
		return p
	}
	if now.Sub(o.worked) > b.timing.Recent {
		o.window = 1
	}
	p.N = want
	if o.window < b.inFlight {
		p.N = max(min(want, o.window-o.claimed), 0)
	}
	o.claimed += p.N
	return p
}

func (b *Breakers) operation(name string) *operation {
	o := b.operations[name]
	if o == nil {
		o = &operation{window: 1, recall: make(chan struct{})}
		b.operations[name] = o
	}
	return o
}

// GiveBack gives back n claims of a pass that found no entries.
func (b *Breakers) GiveBack(p Pass, n int) {
	if n == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.operation(p.Operation).claimed -= n
	if p.Probe() {
		b.stateOf(p).probing = false
	}
	b.notify()
}

func (b *Breakers) stateOf(p Pass) *state {
	if p.ofKey {
		return &b.key
	}
	return &b.operation(p.Operation).state
}

// Report takes the outcome of an entry that was claimed with the pass. It returns whether
// a breaker is open now because of a failure like this one.
func (b *Breakers) Report(p Pass, outcome Outcome, now time.Time) (open bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.report(p, outcome, now)
}

// Hangs reports that the request of an entry does not return, in the place of its outcome.
func (b *Breakers) Hangs(p Pass, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hanging++
	b.report(p, Outcome{Kind: Failed, Reason: "a request does not return"}, now)
}

// Returns reports that a request has returned after Hangs.
func (b *Breakers) Returns() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hanging--
}

// Stuck reports whether requests that do not return occupy all that may be in flight.
func (b *Breakers) Stuck() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.hanging >= b.inFlight
}

func (b *Breakers) report(p Pass, outcome Outcome, now time.Time) (open bool) {
	defer b.notify()
	o := b.operation(p.Operation)
	o.claimed--
	outcome.RetryAfter = min(outcome.RetryAfter, b.timing.LongestAsked)
	if p.Probe() {
		b.probed(p, outcome, now)
	}
	switch outcome.Kind {
	case Works:
		o.worked = now
		if o.why == "" && b.key.why == "" {
			o.window = min(o.window+1, 2*b.inFlight)
		}
		if o.window >= b.inFlight {
			o.delay = 0
		}
	case Failed:
		o.window /= 2
		if o.delay > 0 { // it was open before, and has not fully recovered
			o.window /= 2
		}
		switch {
		case o.why == "" && o.window == 0:
			b.logger.Warn("outbox: the breaker is open; only probes are sent", "operation", p.Operation, "reason", outcome.Reason)
			o.open(outcome, b.longer(o.delay), now)
			o.giveBack()
		case o.why != "": // it was in flight when the breaker opened
			o.until = later(o.until, now.Add(outcome.RetryAfter))
		}
	case KeyFailed:
		if b.key.why != "" {
			b.key.until = later(b.key.until, now.Add(outcome.RetryAfter))
			break
		}
		b.logger.Warn("outbox: the breaker is open for every operation; only probes are sent", "reason", outcome.Reason)
		b.key.open(outcome, max(b.key.delay, b.timing.First), now)
		for _, o := range b.operations {
			o.giveBack()
		}
	}
	return outcome.Kind == Failed && o.why != "" || outcome.Kind == KeyFailed
}

// longer returns the wait after a wait that did not help.
func (b *Breakers) longer(delay time.Duration) time.Duration {
	return min(max(2*delay, b.timing.First), b.timing.Longest)
}

// probed takes the outcome of a probe.
func (b *Breakers) probed(p Pass, outcome Outcome, now time.Time) {
	s := b.stateOf(p)
	s.probing = false
	switch {
	case p.ofKey && (outcome.Kind == Works || outcome.Kind == Denied):
		b.key = state{}
		b.logger.Info("outbox: the breaker is closed again for every operation")
		for _, o := range b.operations {
			o.window = 1
		}
	case outcome.Kind == Works, outcome.Kind == Denied:
		s.why, b.operation(p.Operation).window = "", 1
		b.logger.Info("outbox: the breaker is closed again", "operation", p.Operation)
	case outcome.Kind == Nothing, outcome.Delay > 0 && outcome.Reason != s.why: // says nothing about the reason
		s.until = now.Add(outcome.Delay)
	case outcome.Kind == Failed && p.ofKey: // says nothing about the key
		s.open(Outcome{Reason: s.why, RetryAfter: outcome.RetryAfter}, b.longer(s.delay), now)
	default:
		s.open(outcome, b.longer(s.delay), now)
	}
}

// open opens a breaker, or keeps it open for another while.
func (s *state) open(outcome Outcome, delay time.Duration, now time.Time) {
	if outcome.Delay > 0 {
		delay = outcome.Delay
	}
	s.why, s.delay = outcome.Reason, delay
	s.until = now.Add(max(delay, outcome.RetryAfter))
}

// Recall makes the entries of an operation that are claimed and not sent go back.
func (b *Breakers) Recall(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.operation(name).giveBack()
}

func (o *operation) giveBack() {
	close(o.recall)
	o.recall = make(chan struct{})
}

// Wait returns how long to wait before the next call of Admit while a breaker is open: until
// the next probe is due, and longer while a probe is being sent.
func (b *Breakers) Wait(name string, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &b.key
	if s.why == "" {
		s = &b.operation(name).state
	}
	if s.why == "" {
		return 0
	}
	wait := max(s.until.Sub(now), 0)
	if s.probing {
		wait = max(wait, b.timing.First)
	}
	return wait
}

// Reasons returns why each breaker is open, by operation. Closed ones are left out.
func (b *Breakers) Reasons() map[string]string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var reasons map[string]string
	for name, o := range b.operations {
		why := cmp.Or(b.key.why, o.why)
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

func (b *Breakers) notify() {
	close(b.changed)
	b.changed = make(chan struct{})
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
