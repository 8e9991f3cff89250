package outbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/messaging-go/messaging"
)

// Pause stops the sending of entries with these operations, or of all entries if none is
// named. The operations are "send email broadcast", "send push broadcast", "create event"
// and "trigger event". For any other name, Pause returns an error and pauses nothing. The
// pause is recorded in the database: it holds for all processes and until Resume. After
// Pause has returned, no claim begins. Entries that were claimed before may still be sent,
// within the send timeout; until then, [Outbox.List] finds them in the state [Sending].
//
// A pause of all is separate from the pauses of single operations.
func (o *Outbox[Tx]) Pause(ctx context.Context, operations ...string) error {
	if err := checkOperations(operations); err != nil {
		return fmt.Errorf("outbox: pause: %w", err)
	}
	if len(operations) == 0 {
		operations = []string{""}
	}
	if err := o.ledger.Pause(ctx, operations); err != nil {
		return fmt.Errorf("outbox: pause: %w", err)
	}
	return nil
}

// Resume ends the pauses of these operations. If none is named, it ends every pause. A
// pause of all is not ended by naming operations.
func (o *Outbox[Tx]) Resume(ctx context.Context, operations ...string) error {
	err := checkOperations(operations)
	if err == nil {
		err = o.ledger.Resume(ctx, append([]string{}, operations...)) // not nil, which JSON writes as null
	}
	if err != nil {
		return fmt.Errorf("outbox: resume: %w", err)
	}
	o.wake()
	o.announce(ctx)
	return nil
}

func checkOperations(operations []string) error {
	for _, name := range operations {
		if _, err := messaging.ParsePrepared(name, []byte(`{}`)); err != nil {
			return fmt.Errorf("operation %q: %w", name, err)
		}
	}
	return nil
}

// pausedNames returns the names of paused operations as Counts has them.
func pausedNames(names []string) []string {
	for i, name := range names {
		if name == "" {
			names[i] = "all"
		}
	}
	return names
}

// Wake tells the workers in other processes that entries were added. Call it after the
// commit of a transaction with EnqueueTx; Enqueue and EnqueueAll do it themselves. Without
// it, the workers look for entries every 50 ms. It does nothing on SQLite.
//
// Many calls are cheap: at most one announcement is sent in 5 ms, the last one always.
// The error is that of an announcement that this call has sent.
func (o *Outbox[Tx]) Wake(ctx context.Context) error {
	o.wake()
	if !o.waker.begin(func() { o.announceNow(context.Background()) }) {
		return nil
	}
	if err := o.ledger.Announce(ctx); err != nil {
		return fmt.Errorf("outbox: wake: %w", err)
	}
	return nil
}

// announce is Wake for entries that are committed already, so that an error is only
// logged.
func (o *Outbox[Tx]) announce(ctx context.Context) {
	if o.waker.begin(func() { o.announceNow(context.Background()) }) {
		o.announceNow(ctx)
	}
}

// announceTimeout limits an announcement that nobody waits for.
const announceTimeout = 5 * time.Second

func (o *Outbox[Tx]) announceNow(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, announceTimeout)
	defer cancel()
	if err := o.ledger.Announce(ctx); err != nil && !errors.Is(err, context.Canceled) {
		o.logger.Warn("outbox: cannot tell other processes of new entries; they find them by themselves", "error", err)
	}
}

// announceEvery is the shortest time between two announcements.
const announceEvery = 5 * time.Millisecond

// waker limits how often new entries are announced, because Postgres commits the
// transactions with announcements one after the other.
type waker struct {
	mu        sync.Mutex
	last      time.Time
	scheduled bool
}

// begin reports whether to announce now. If not, later is called soon.
func (w *waker) begin(later func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	wait := announceEvery - time.Since(w.last)
	switch {
	case w.scheduled:
		return false
	case wait <= 0:
		w.last = time.Now()
		return true
	}
	w.scheduled = true
	time.AfterFunc(wait, func() {
		w.mu.Lock()
		w.scheduled, w.last = false, time.Now()
		w.mu.Unlock()
		later()
	})
	return false
}
