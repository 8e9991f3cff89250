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

// settler records outcomes. Those that arrive while a transaction is under way go into
// the next one together.
type settler struct {
	ledger ledger.Ledger
	logger *slog.Logger
	grace  time.Duration

	mu      sync.Mutex
	queue   []*settling
	writing bool
}

// settling is an outcome that is to be recorded.
type settling struct {
	ledger.Settlement
	stop *stop
	done chan struct{}

	// The result, when done is closed.
	applied bool
	at      time.Time
	err     error
}

// settleBatch is the largest number of outcomes in one transaction.
const settleBatch = 200

// settleTimeout limits one try to record outcomes.
const settleTimeout = 10 * time.Second

// settle returns when the outcome is recorded, however long the database takes; only
// after stop it gives up.
func (s *settler) settle(settlement ledger.Settlement, stop *stop) (applied bool, at time.Time, err error) {
	item := &settling{Settlement: settlement, stop: stop, done: make(chan struct{})}
	s.mu.Lock()
	s.queue = append(s.queue, item)
	if !s.writing {
		s.writing = true
		go s.write()
	}
	s.mu.Unlock()
	<-item.done
	return item.applied, item.at, item.err
}

// write records outcomes until there are none left.
func (s *settler) write() {
	for {
		runtime.Gosched() // to the sends that have ended as well
		batch := s.next()
		if len(batch) == 0 {
			return
		}
		s.record(batch)
	}
}

func (s *settler) next() []*settling {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(len(s.queue), settleBatch)
	batch := s.queue[:n:n]
	s.queue = s.queue[n:]
	s.writing = n > 0
	return batch
}

// wholeTries is how often a batch is tried as a whole. If the database refuses one outcome,
// the others are recorded without it.
const wholeTries = 3

// record repeats the transaction until it succeeds, or nobody waits for it any more. An
// outcome that is recorded twice, since the response of the database was lost, changes
// nothing.
func (s *settler) record(batch []*settling) {
	first := time.Now()
	wait := 50 * time.Millisecond
	for tries := 1; len(batch) > 0; tries++ {
		var err error
		if tries <= wholeTries {
			batch, err = s.tryAll(batch)
		} else {
			batch, err = s.tryEach(batch, tries > 2*wholeTries)
		}
		if len(batch) == 0 {
			return
		}
		s.logger.Error("outbox: outcomes can't be recorded, trying again", "entries", len(batch), "error", err)
		if batch = s.giveUp(batch, first, err); len(batch) > 0 {
			time.Sleep(wait)
			wait = min(2*wait, 2*time.Second)
		}
	}
}

// tryAll returns what is left of the batch.
func (s *settler) tryAll(batch []*settling) ([]*settling, error) {
	if err := s.try(batch); err != nil {
		return batch, err
	}
	return nil, nil
}

// tryEach records what it can, and without texts if these may be the reason.
func (s *settler) tryEach(batch []*settling, withoutText bool) (left []*settling, err error) {
	for _, item := range batch {
		if withoutText && item.Error != "" {
			item.Error = "the database does not store the text of the error"
		}
		if problem := s.try([]*settling{item}); problem != nil {
			left, err = append(left, item), problem
		}
	}
	return left, err
}

// giveUp removes those from the batch that nobody waits for any more, or all if the store
// is closed.
func (s *settler) giveUp(batch []*settling, first time.Time, err error) (left []*settling) {
	for _, item := range batch {
		if errors.Is(err, ledger.ErrClosed) || item.stop.since(first) > s.grace {
			item.err = err
			close(item.done)
			continue
		}
		left = append(left, item)
	}
	return left
}

func (s *settler) try(batch []*settling) error {
	ctx, cancel := context.WithTimeout(context.Background(), settleTimeout)
	defer cancel()
	settlements := make([]ledger.Settlement, len(batch))
	for i, item := range batch {
		settlements[i] = item.Settlement
	}
	applied, at, err := s.ledger.Settle(ctx, settlements)
	if err != nil {
		return err
	}
	for i, item := range batch {
		item.applied, item.at = applied[i], at
		close(item.done)
	}
	return nil
}

// stop is when a context ended.
type stop struct {
	mu      sync.Mutex
	stopped time.Time
}

// stopOf returns the stop of a context, and how to end watching it.
func stopOf(ctx context.Context) (s *stop, end func() bool) {
	s = new(stop)
	return s, context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.stopped = time.Now()
	})
}

// since returns the time since both the stop and then, 0 if there is no stop.
func (s *stop) since(then time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped.IsZero() {
		return 0
	}
	return time.Since(later(s.stopped, then))
}

// unsettledError is what Run and Deliver return for outcomes that could not be recorded.
func unsettledError(n int, err error) error {
	return fmt.Errorf("outbox: the outcomes of %d entries could not be recorded; they become unclear: %w", n, err)
}
