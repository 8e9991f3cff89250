// Package record records the outcomes of sends in a ledger.
package record

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/messaging-go/messaging/outbox/internal/alarm"
	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// Recorder records outcomes in the ledger. Outcomes that arrive while a transaction is
// running are recorded together in the next one.
type Recorder struct {
	ledger ledger.Ledger
	alarm  *alarm.Alarm
	grace  time.Duration

	mu      sync.Mutex
	queue   []*recording
	writing bool
}

// New returns a Recorder that gives up when the stop was longer ago than grace.
func New(l ledger.Ledger, logger *slog.Logger, grace time.Duration) *Recorder {
	return &Recorder{ledger: l, alarm: alarm.New(logger, "record outcomes"), grace: grace}
}

// recording is an outcome that is being recorded.
type recording struct {
	ledger.Outcome
	stop  *Stop
	first time.Time // when it was tried first
	tries int
	done  chan struct{}

	// These are set before done is closed.
	applied bool
	at      time.Time
	err     error
}

const (
	// recordBatch is the largest number of outcomes in one transaction.
	recordBatch = 200
	// recordTimeout limits one try to record outcomes.
	recordTimeout = 10 * time.Second
	// wholeTries is how often an outcome is tried together with others. After that it is
	// tried alone, so that one that cannot be recorded does not hold up the others.
	wholeTries = 3
	// shortestWait is the wait before the second try. It doubles with each try.
	shortestWait = 50 * time.Millisecond
	// pause is the time between two transactions while several outcomes arrive. A transaction
	// costs much the same for one outcome as for many, and on SQLite it holds the only lock.
	pause = 4 * time.Millisecond
)

// Record returns when the outcome is recorded, however long the database takes. It gives
// up only after the stop.
func (r *Recorder) Record(outcome ledger.Outcome, stop *Stop) (applied bool, at time.Time, err error) {
	item := &recording{Outcome: outcome, stop: stop, first: time.Now(), done: make(chan struct{})}
	r.add(item)
	<-item.done
	return item.applied, item.at, item.err
}

func (r *Recorder) add(items ...*recording) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queue = append(r.queue, items...)
	if !r.writing && len(items) > 0 {
		r.writing = true
		go r.write()
	}
}

// write records outcomes until none are left. Recording an outcome again changes nothing,
// so it is safe to retry when the response of the database was lost.
func (r *Recorder) write() {
	for last := 0; ; {
		if last > 1 {
			time.Sleep(pause)
		}
		runtime.Gosched() // lets other sends that have ended join the batch
		batch := r.next()
		last = len(batch)
		if len(batch) == 0 {
			return
		}
		left, err := r.try(batch)
		if err != nil {
			r.alarm.Failed(err)
		} else {
			r.alarm.Works()
		}
		if left = r.giveUp(left, err); len(left) > 0 {
			wait := shortestWait << min(left[0].tries-1, 5)
			if left[0].stop.Happened() { // there is not much time left
				wait = shortestWait
			}
			time.AfterFunc(wait, func() { r.add(left...) })
		}
	}
}

// next returns the outcomes of the next transaction.
func (r *Recorder) next() []*recording {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for n < min(len(r.queue), recordBatch) && (n == 0 || r.queue[0].tries < wholeTries && r.queue[n].tries < wholeTries) {
		n++
	}
	batch := r.queue[:n:n]
	r.queue = r.queue[n:]
	r.writing = n > 0
	return batch
}

// try records outcomes and returns those that are to be tried again: all of them after an
// error, else those that another transaction has locked.
func (r *Recorder) try(batch []*recording) (left []*recording, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), recordTimeout)
	defer cancel()
	outcomes := make([]ledger.Outcome, len(batch))
	for i, item := range batch {
		item.tries++
		outcomes[i] = item.Outcome
	}
	settled, at, err := r.ledger.Settle(ctx, outcomes)
	if err != nil {
		return batch, err
	}
	for i, item := range batch {
		if settled[i] == ledger.Locked {
			left = append(left, item)
			continue
		}
		item.applied, item.at = settled[i] == ledger.Applied, at
		close(item.done)
	}
	return left, nil
}

var errLocked = errors.New("another transaction has locked the entry")

// giveUp removes the outcomes that nobody waits for any longer, or all of them if the
// store is closed.
func (r *Recorder) giveUp(batch []*recording, err error) (left []*recording) {
	for _, item := range batch {
		if errors.Is(err, ledger.ErrClosed) || item.stop.Since(item.first) > r.grace {
			if item.err = err; err == nil {
				item.err = errLocked
			}
			close(item.done)
			continue
		}
		left = append(left, item)
	}
	return left
}

// Stop knows when a context ended.
type Stop struct {
	// End gives up the notice of the end of the context.
	End func() bool

	ctx context.Context // nil if there is no stop

	mu      sync.Mutex
	stopped time.Time
}

// StopOf notes the time at which a context ends, until End is called.
func StopOf(ctx context.Context) *Stop {
	s := &Stop{ctx: ctx}
	s.End = context.AfterFunc(ctx, func() { s.Since(time.Time{}) })
	return s
}

// Happened reports whether the context has ended, even if the clock has not advanced since.
func (s *Stop) Happened() bool { return s.ctx != nil && s.ctx.Err() != nil }

// Since returns the time since the stop or since then, whichever came later. It returns 0
// if there was no stop.
func (s *Stop) Since(then time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped.IsZero() && s.Happened() {
		s.stopped = time.Now()
	}
	switch {
	case s.stopped.IsZero():
		return 0
	case s.stopped.After(then):
		return time.Since(s.stopped)
	}
	return time.Since(then)
}
