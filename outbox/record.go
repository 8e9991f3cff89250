package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// recorder records outcomes in the ledger. Outcomes that arrive while a transaction is
// running are recorded together in the next one.
type recorder struct {
	ledger ledger.Ledger
	logger *slog.Logger
	grace  time.Duration

	mu      sync.Mutex
	queue   []*recording
	writing bool
}

// recording is an outcome that is being recorded.
type recording struct {
	ledger.Outcome
	stop *stop
	done chan struct{}

	// These are set before done is closed.
	applied bool
	at      time.Time
	err     error
}

// recordBatch is the largest number of outcomes in one transaction.
const recordBatch = 200

// recordTimeout limits one try to record outcomes.
const recordTimeout = 10 * time.Second

// record returns when the outcome is recorded, however long the database takes. It gives
// up only after the stop.
func (r *recorder) record(outcome ledger.Outcome, stop *stop) (applied bool, at time.Time, err error) {
	item := &recording{Outcome: outcome, stop: stop, done: make(chan struct{})}
	r.mu.Lock()
	r.queue = append(r.queue, item)
	if !r.writing {
		r.writing = true
		go r.write()
	}
	r.mu.Unlock()
	<-item.done
	return item.applied, item.at, item.err
}

// write records outcomes until none are left.
func (r *recorder) write() {
	for {
		runtime.Gosched() // lets other sends that have ended join the batch
		batch := r.next()
		if len(batch) == 0 {
			return
		}
		r.writeBatch(batch)
	}
}

func (r *recorder) next() []*recording {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := min(len(r.queue), recordBatch)
	batch := r.queue[:n:n]
	r.queue = r.queue[n:]
	r.writing = n > 0
	return batch
}

// wholeTries is how often a batch is tried as a whole. After that, each outcome is
// recorded by itself, so that one that cannot be recorded does not hold up the others of
// its batch. After as many tries again, its text is left out, because an outcome that is
// never recorded would hold up all later batches.
const wholeTries = 3

// writeBatch retries until every outcome is recorded or nobody waits for it. Recording an
// outcome again changes nothing, so it is safe to retry when the response of the database
// was lost.
func (r *recorder) writeBatch(batch []*recording) {
	first := time.Now()
	wait := 50 * time.Millisecond
	for tries := 1; ; tries++ {
		var err error
		if tries <= wholeTries {
			batch, err = r.tryAll(batch)
		} else {
			batch, err = r.tryEach(batch, tries > 2*wholeTries)
		}
		if len(batch) == 0 {
			return
		}
		r.logger.Error("outbox: cannot record outcomes; retrying", "entries", len(batch), "error", err)
		if batch = r.giveUp(batch, first, err); len(batch) == 0 {
			return
		}
		time.Sleep(wait)
		wait = min(2*wait, 2*time.Second)
	}
}

// tryAll returns the outcomes that are still to be recorded: all of them or none.
func (r *recorder) tryAll(batch []*recording) ([]*recording, error) {
	if err := r.try(batch); err != nil {
		return batch, err
	}
	return nil, nil
}

// tryEach returns the outcomes that are still to be recorded. withoutText leaves out
// their error texts, which may be why the database does not record them.
func (r *recorder) tryEach(batch []*recording, withoutText bool) (left []*recording, err error) {
	for _, item := range batch {
		if withoutText && item.Error != "" {
			item.Error = "the database does not store the text of the error"
		}
		if problem := r.try([]*recording{item}); problem != nil {
			left, err = append(left, item), problem
		}
	}
	return left, err
}

// giveUp removes the outcomes that nobody waits for any longer, or all of them if the
// store is closed.
func (r *recorder) giveUp(batch []*recording, first time.Time, err error) (left []*recording) {
	for _, item := range batch {
		if errors.Is(err, ledger.ErrClosed) || item.stop.since(first) > r.grace {
			item.err = err
			close(item.done)
			continue
		}
		left = append(left, item)
	}
	return left
}

func (r *recorder) try(batch []*recording) error {
	ctx, cancel := context.WithTimeout(context.Background(), recordTimeout)
	defer cancel()
	outcomes := make([]ledger.Outcome, len(batch))
	for i, item := range batch {
		outcomes[i] = item.Outcome
	}
	applied, at, err := r.ledger.Settle(ctx, outcomes)
	if err != nil {
		return err
	}
	for i, item := range batch {
		item.applied, item.at = applied[i], at
		close(item.done)
	}
	return nil
}

// stop knows when a context ended.
type stop struct {
	mu      sync.Mutex
	stopped time.Time
}

// stopOf watches a context until end is called.
func stopOf(ctx context.Context) (s *stop, end func() bool) {
	s = new(stop)
	return s, context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.stopped = time.Now()
	})
}

// since returns the time since the stop or since then, whichever came later. It returns 0
// if there was no stop.
func (s *stop) since(then time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped.IsZero() {
		return 0
	}
	return time.Since(later(s.stopped, then))
}

// unrecordedError is what Run and Deliver return for outcomes that could not be recorded.
func unrecordedError(n int, err error) error {
	if n == 1 {
		return fmt.Errorf("outbox: the outcome of 1 entry could not be recorded, so the entry becomes unclear: %w", err)
	}
	return fmt.Errorf("outbox: the outcomes of %d entries could not be recorded, so the entries become unclear: %w", n, err)
}
