package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/messaging-go/messaging/outbox/internal/alarm"
	"github.com/messaging-go/messaging/outbox/internal/breaker"
	"github.com/messaging-go/messaging/outbox/internal/ledger"
	"github.com/messaging-go/messaging/outbox/internal/limit"
	"github.com/messaging-go/messaging/outbox/internal/record"
)

// Run sends entries as they become due, until ctx ends. Any number of processes can call
// Run on the same database. If the database, the limiter or the service fails, Run logs it
// and keeps trying.
//
// When ctx ends, Run stops claiming entries, waits for the requests in flight, records
// their outcomes, and returns nil. That takes at most the send timeout and 10 s. Run
// returns an error if it then left something behind: outcomes that the database did not
// record, whose entries become unclear, or a function of an option that did not return.
// It also returns an error if the store is closed, or if the database or the limiter was
// still failing when ctx ended.
func (o *Outbox[Tx]) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &runner[Tx]{call: &call[Tx]{Outbox: o, stop: record.StopOf(ctx), returns: true}}
	err := r.finish(ctx, func() {
		var maintenance sync.WaitGroup
		maintenance.Go(func() { r.maintain(ctx) })
		for ctx.Err() == nil && !r.closed {
			r.step(ctx)
		}
		cancel()
		maintenance.Wait()
	})
	switch {
	case err != nil:
		return err
	case r.closed:
		return fmt.Errorf("outbox: run: %w", ErrClosed)
	case r.failures >= manyFailures:
		return fmt.Errorf("outbox: run: %s failed until the end: %w", r.failing, r.failure)
	}
	return nil
}

// runner claims what is due, for Run and DeliverDue. Only its loop uses it.
type runner[Tx any] struct {
	*call[Tx]
	classes   map[ledger.Class]*class
	looked    time.Time // when every class was last looked at from its start
	turn      int       // counts the claims
	favored   int       // how many entries were claimed from the first lane while others were due
	failures  int       // in a row
	failing   string    // what failed last
	failure   error     // the last of them
	closed    bool      // the store is closed
	permitted bool      // by the limiter, a request for which nothing was claimed yet
}

// class is what a runner knows of a class of pending entries.
type class struct {
	after  ledger.Position // of the last entry that was claimed, below which dead rows pile up
	turn   int             // the last claim
	passed time.Time       // when it is looked at again, after all its entries were locked
	locked ledger.Position // of the first of them
}

const (
	// othersShare is the part of the claims that go to other lanes than the first: one of
	// eight.
	othersShare = 8
	// lookAgain is how often a class is looked at from its start.
	lookAgain = time.Second
	// manyFailures is after how many failures in a row Run returns the last one.
	manyFailures = 3
	// pausePatience is how long Run waits for room until it looks for pauses.
	pausePatience = time.Second
)

// progress is what a step came to.
type progress struct {
	claimed int
	idle    bool            // nothing can be claimed now
	left    bool            // something is pending that is not paused
	wait    time.Duration   // until something may be due; 0 if that is not known
	changed <-chan struct{} // closed when that may have changed
}

// step claims the entries that can be sent now, and starts to send them. If there are none,
// it waits.
func (r *runner[Tx]) step(ctx context.Context) {
	if p := r.claimDue(ctx, r.inFlight); p.claimed == 0 && ctx.Err() == nil && !r.closed {
		wait := r.timing.poll
		if p.wait > 0 {
			wait = min(wait, p.wait)
		}
		r.wait(ctx, wait, p.changed)
	}
}

// claimDue claims up to limit entries that are due and starts to send them.
func (r *runner[Tx]) claimDue(ctx context.Context, limit int) progress {
	due, p, err := r.due(ctx)
	if err == nil && len(due) > 0 && r.rate != nil {
		limit = 1
		if !r.permitted {
			if err := r.askLimiter(ctx); err != nil {
				r.failed(ctx, "the limiter", r.alarms.limiter, err)
				return p
			}
			r.alarms.limiter.Works()
			r.permitted = true
			due, p, err = r.due(ctx) // the limiter can take long
		}
	}
	switch {
	case err != nil:
		r.failed(ctx, theDatabase, r.alarms.look, err)
		return p
	case len(due) == 0:
		p.idle = true
		return p
	}
	return r.claimAmong(ctx, due, limit)
}

// claimAmong claims up to limit entries of one of the classes that are due.
func (r *runner[Tx]) claimAmong(ctx context.Context, due []ledger.Due, limit int) (p progress) {
	patience, cancel := context.WithTimeout(ctx, pausePatience)
	defer cancel()
	n := r.limit.Claims(patience, min(limit, r.inFlight))
	if n == 0 {
		return progress{left: true, wait: time.Nanosecond}
	}
	first := firstLane(due)
	chosen, pass := r.admit(due, n)
	r.limit.EndClaims(n - pass.N)
	if pass.N == 0 { // as many are in flight as may be
		return progress{left: true, wait: r.timing.poll, changed: pass.Changed}
	}
	taken := r.room(ctx, chosen)
	if taken == 0 {
		r.giveBack(pass, pass.N)
		if chosen.Lane != first { // whose entries are ahead of it, and may fit
			r.favored = 0
		}
		return progress{left: true, wait: time.Nanosecond}
	}
	var err error
	p.claimed, err = r.claimFrom(ctx, chosen, pass, taken)
	p.left, r.permitted = true, r.permitted && p.claimed == 0
	switch {
	case err != nil:
		r.failed(ctx, theDatabase, r.alarms.claim, err)
	case p.claimed == 0:
		p.wait = time.Nanosecond // for the other classes
	case chosen.Lane != first:
		r.favored = max(r.favored-(othersShare-1)*p.claimed, 0)
	case slices.ContainsFunc(due, func(d ledger.Due) bool { return d.Lane != first }):
		r.favored += p.claimed
	}
	return p
}

// room takes room for the body of the first entry of a class, and waits for it for a moment: so
// it gets its turn, and the entries that come before it do too. It returns 0 if there is too
// little. If others have locked that entry, the next one may be larger, so room takes all.
func (r *runner[Tx]) room(ctx context.Context, chosen ledger.Due) (taken int64) {
	ctx, cancel := context.WithTimeout(ctx, r.timing.poll)
	defer cancel()
	if chosen.Head == r.classes[chosen.Class].locked {
		return r.limit.Bodies(ctx, limit.MaxBodies)
	}
	return r.limit.Bodies(ctx, chosen.Size)
}

// claimFrom claims entries of a class. If others have locked all of them, or the first ones, and
// the next one does not fit, the class is passed over for a while.
func (r *runner[Tx]) claimFrom(ctx context.Context, chosen ledger.Due, pass breaker.Pass, taken int64) (int, error) {
	known := r.classes[chosen.Class]
	claimed, err := r.claim(ctx, pass, taken, ledger.Claim{Look: ledger.Look{Class: chosen.Class, After: known.after}})
	if err != nil {
		return 0, err
	}
	r.failures, r.failure = 0, nil
	r.alarms.claim.Works()
	r.turn++
	known.turn = r.turn
	for _, position := range claimed {
		if known.after.Before(position) {
			known.after = position
		}
	}
	if len(claimed) == 0 {
		known.passed, known.locked = time.Now().Add(r.timing.poll), chosen.Head
	}
	return len(claimed), nil
}

// due returns the classes of which entries can be sent now, and when more may be.
func (r *runner[Tx]) due(ctx context.Context) (due []ledger.Due, p progress, err error) {
	now := time.Now()
	if r.classes == nil || now.Sub(r.looked) > lookAgain {
		r.lookFromStart(now)
	}
	looks := make([]ledger.Look, 0, len(r.classes))
	for name, known := range r.classes {
		looks = append(looks, ledger.Look{Class: name, After: known.after})
	}
	found, err := withTimeout(ctx, func(ctx context.Context) ([]ledger.Due, error) { return r.ledger.Due(ctx, looks) })
	if err != nil {
		return nil, p, err
	}
	r.alarms.look.Works()
	for _, d := range found {
		wait := max(d.Wait, r.classes[d.Class].passed.Sub(now), r.breakers.Wait(d.Operation, now))
		switch {
		case d.Paused:
			r.breakers.Recall(d.Operation)
			continue
		case wait <= 0:
			due = append(due, d)
		case p.wait == 0 || wait < p.wait:
			p.wait = wait
		}
		p.left = true
	}
	if len(due) == 0 { // else the claim that follows shows whether the database works
		r.failures, r.failure = 0, nil
	}
	return due, p, nil
}

// lookFromStart makes the runner look at all entries of each class.
func (r *runner[Tx]) lookFromStart(now time.Time) {
	if r.classes == nil {
		r.classes = make(map[ledger.Class]*class)
		for _, operation := range operations {
			for _, lane := range []ledger.Lane{ledger.High, ledger.Normal, ledger.Low} {
				r.classes[ledger.Class{Operation: operation, Lane: lane}] = new(class)
				r.classes[ledger.Class{Operation: operation, Lane: lane, Timed: true}] = new(class)
			}
		}
	}
	for _, known := range r.classes {
		known.after = ledger.Position{}
	}
	r.looked = now
}

// firstLane returns the first lane of which entries are due.
func firstLane(due []ledger.Due) ledger.Lane {
	return slices.MinFunc(due, func(a, b ledger.Due) int { return cmp.Compare(a.Lane, b.Lane) }).Lane
}

// admit returns the first entry of the class to claim from: of the first lane, or now and then
// of another one, that whose turn was longest ago. It leaves out classes whose breakers permit
// nothing.
func (r *runner[Tx]) admit(due []ledger.Due, n int) (chosen ledger.Due, pass breaker.Pass) {
	first := firstLane(due)
	owed := r.favored / (othersShare - 1) // to the other lanes
	rank := func(d ledger.Due) int {
		if (d.Lane == first) == (owed == 0) {
			return 0
		}
		return 1
	}
	slices.SortFunc(due, func(a, b ledger.Due) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(r.classes[a.Class].turn, r.classes[b.Class].turn))
	})
	for _, d := range due {
		want := n
		if owed > 0 && d.Lane != first {
			want = min(n, owed)
		}
		if pass = r.breakers.Admit(d.Operation, want, time.Now()); pass.N > 0 {
			return d, pass
		}
	}
	return chosen, pass
}

// wait waits until the limit has passed, entries were added, or changed is closed.
func (r *runner[Tx]) wait(ctx context.Context, limit time.Duration, changed <-chan struct{}) {
	select {
	case <-ctx.Done():
	case <-time.After(limit):
	case <-changed:
	case <-r.woken:
	}
}

// theDatabase is what most failures are of.
const theDatabase = "the database"

// failed notes that something has failed and waits, longer after each failure in a row.
func (r *runner[Tx]) failed(ctx context.Context, what string, a *alarm.Alarm, err error) {
	switch {
	case errors.Is(err, ErrClosed):
		r.closed = true
		return
	case ctx.Err() != nil:
		return
	}
	a.Failed(err)
	r.failures++
	r.failing, r.failure = what, err
	select {
	case <-ctx.Done():
	case <-time.After(min(50*time.Millisecond<<min(r.failures, 10), 5*time.Second)):
	}
}

// DeliverDue sends up to limit entries that are due, whoever enqueued or resent them. It
// is for cron, and for the periodic job of any engine. It returns when they are sent, when
// no more are due, when the breakers of all that are due are open, or when ctx ends.
// Delivered counts what this call has sent, and the entries that it has rejected because
// their NotAfter has passed, which are looked for every 5 s. If More is true, call again
// after RetryAfter, or wait for the next run of cron. At most once a minute, DeliverDue then
// deletes old entries, for up to 1 s.
//
// ctx applies until an entry is claimed; see [Outbox.Deliver].
func (o *Outbox[Tx]) DeliverDue(ctx context.Context, limit int) (Delivered, error) {
	if limit < 1 {
		return Delivered{}, errors.New("outbox: deliver: limit must be positive")
	}
	r := &runner[Tx]{call: o.newCall(ctx)}
	var last progress
	err := r.finish(ctx, func() {
		r.maintainNow(ctx)
		last = r.sendDue(ctx, limit)
		r.purgeNow(ctx, purgeTime)
	})
	ended := err == nil // or else the goroutine may still be running
	switch {
	case !ended:
	case r.closed:
		err = fmt.Errorf("outbox: deliver: %w", ErrClosed)
	case r.failure != nil:
		err = fmt.Errorf("outbox: deliver: %w", r.failure)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var delivered Delivered
	for key, state := range r.recorded {
		delivered.add(key, ledger.Entry{State: state})
	}
	slices.Sort(delivered.Later)
	delivered.More, delivered.RetryAfter = true, 0
	if ended {
		delivered.More, delivered.RetryAfter = len(delivered.Later) > 0 || last.left, last.wait
	}
	return delivered, err
}

// sendDue claims up to limit entries that are due, and starts to send them. It returns what
// is left.
func (r *runner[Tx]) sendDue(ctx context.Context, limit int) (p progress) {
	sent, began := false, time.Now()
	for left := limit; left > 0 && ctx.Err() == nil && r.failure == nil && !r.closed; {
		p = r.claimDue(ctx, left)
		left -= p.claimed
		sent = sent || p.claimed > 0
		switch {
		case p.idle && sent: // a probe may close the breaker, and an entry before the last one that was claimed may be due
			r.sends.Wait()
			r.classes, sent = nil, false
			continue
		case p.idle && p.wait > 0 && p.wait <= r.timing.unopenedProbe && time.Since(began) < r.timing.duePatience:
			// behind a few that cannot be opened
		case p.idle:
			return p
		}
		if p.claimed == 0 && r.failure == nil {
			r.wait(ctx, max(p.wait, time.Millisecond), p.changed)
		}
	}
	return progress{left: true}
}
