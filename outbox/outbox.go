package outbox

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"runtime"
	"slices"
	"sync"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// Store is a database for an [Outbox]. It is implemented in the packages sqlite,
// sqlitefile and postgres. Tx is the type of its transactions.
type Store[Tx any] interface {
	ledger.Store[Tx]
}

// Outbox holds requests until they are sent. Create one with [New]; it is safe for
// concurrent use.
type Outbox[Tx any] struct {
	config
	ledger   ledger.TxLedger[Tx]
	client   *messaging.Client
	owner    string
	slots    slots
	gate     gate
	permit   permit
	recorder *recorder
	woken    chan struct{} // holds a value if an entry was added

	maintenance maintenance
	deferred    deferred
}

// The errors to test for with [errors.Is].
var (
	// ErrNoEntry is returned if no entry has the key.
	ErrNoEntry = ledger.ErrNoEntry
	// ErrKeyConflict is returned if an entry with the same key has a different request.
	ErrKeyConflict = errors.New("key already used for a different request")
)

// New returns the outbox in store. It sends with client, so the client's limiter, guards
// and hooks apply. The client's retries do not: a send is one attempt, and an entry that
// can be sent again stays in the outbox. The error lists every bad option.
func New[Tx any](store Store[Tx], client *messaging.Client, opts ...Option) (*Outbox[Tx], error) {
	var problems []string
	if store == nil {
		problems = append(problems, "store must not be nil")
	}
	if client == nil {
		problems = append(problems, "client must not be nil")
	}
	c, err := configure(problems, opts)
	if err != nil {
		return nil, err
	}
	l := store.Ledger()
	return &Outbox[Tx]{
		config:   c,
		ledger:   l,
		client:   client,
		owner:    owner(),
		slots:    newSlots(c.inFlight),
		gate:     newGate(c.timing.gate, c.logger),
		permit:   permit{limiter: c.rate},
		recorder: &recorder{ledger: l, logger: c.logger, grace: c.timing.stopGrace},
		woken:    make(chan struct{}, 1),
	}, nil
}

// owner names this process for people who look at the table.
func owner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s:%d", host, os.Getpid())
}

// Get returns the entry with the key, or [ErrNoEntry].
func (o *Outbox[Tx]) Get(ctx context.Context, key string) (Entry, error) {
	if keyProblem(key) != "" {
		return Entry{}, keyed("get", key, ErrNoEntry)
	}
	found, err := o.ledger.Find(ctx, []string{key})
	if err == nil && len(found) == 0 {
		err = ErrNoEntry
	}
	if err != nil {
		return Entry{}, keyed("get", key, err)
	}
	return entryOf(found[0]), nil
}

// keyed returns an error about the entry with the key.
func keyed(doing, key string, err error) error {
	return fmt.Errorf("outbox: %s entry %q: %w", doing, key, err)
}

// listBatch is how many entries List reads at a time.
const listBatch = 500

// List ranges over entries in the order of their IDs. It reads them in batches and holds
// no connection while the loop body runs, so the body can make other calls. An entry that
// changes during the loop may be listed in its old or its new state. An error is yielded
// once, as the last element.
func (o *Outbox[Tx]) List(ctx context.Context, p ListParams) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		state, err := stateNumber(p.State)
		if err == nil && (p.Limit < 0 || p.After < 0) {
			err = errors.New("outbox: list entries: After and Limit must not be negative")
		}
		if err != nil {
			yield(Entry{}, err)
			return
		}
		for after, left := p.After, p.Limit; ; {
			limit := listBatch
			if p.Limit > 0 {
				limit = min(left, listBatch)
			}
			entries, err := o.ledger.List(ctx, state, after, limit)
			if err != nil {
				yield(Entry{}, fmt.Errorf("outbox: list entries: %w", err))
				return
			}
			for _, e := range entries {
				if !yield(entryOf(e), nil) {
					return
				}
				after = e.ID
			}
			if left -= len(entries); len(entries) < limit || p.Limit > 0 && left == 0 {
				return
			}
		}
	}
}

// stateNumber returns -1 for "", which stands for all states.
func stateNumber(s State) (ledger.State, error) {
	if s == "" {
		return -1, nil
	}
	for number, known := range states {
		if s == known {
			return ledger.State(number), nil
		}
	}
	return 0, fmt.Errorf("outbox: list entries: unknown state %q", s)
}

// Counts returns how many entries are in each state.
func (o *Outbox[Tx]) Counts(ctx context.Context) (Counts, error) {
	c, err := o.ledger.Counts(ctx)
	if err != nil {
		return Counts{}, fmt.Errorf("outbox: count entries: %w", err)
	}
	n := c.ByState
	return Counts{Pending: n[ledger.Pending], Sending: n[ledger.Sending], Accepted: n[ledger.Accepted], Rejected: n[ledger.Rejected],
		Unclear: n[ledger.Unclear], Dismissed: n[ledger.Dismissed], OldestPending: c.OldestDue, Gate: o.gate.reason()}, nil
}

// Prepared returns the request of an entry, which it will send or may have sent. The
// request is erased when the entry is accepted or dismissed.
func (o *Outbox[Tx]) Prepared(ctx context.Context, key string) (*messaging.Prepared, error) {
	if keyProblem(key) != "" {
		return nil, keyed("read", key, ErrNoEntry)
	}
	request, err := o.ledger.Request(ctx, key)
	if err != nil {
		return nil, keyed("read", key, err)
	}
	if request.Body == nil {
		return nil, keyed("read", key, fmt.Errorf("request erased: entry is %s", stateOf(request.State)))
	}
	p, err := o.unseal(ctx, request)
	if err != nil {
		return nil, keyed("read", key, err)
	}
	return p, nil
}

// keyBatch is how many keys go into one statement.
const keyBatch = 500

// Resend makes unclear and rejected entries pending again, and returns how many. An
// unclear request may have been carried out; resending it can carry it out twice. Check
// at the service first. [Outbox.Prepared] returns the request and its recipients.
//
// Resend leaves out an entry whose process may still be alive. Such an entry can be
// resent one lease after it became unclear. A lease is how long a process may hold an
// entry that it has claimed: the send timeout and 15 s. Unknown keys and entries in other
// states are left out as well.
//
// If the process reports the outcome of the earlier send before the entry is claimed
// again, that outcome is recorded. An entry that turns out to be accepted or rejected is
// not sent.
func (o *Outbox[Tx]) Resend(ctx context.Context, keys ...string) (int, error) {
	n, err := o.change(ctx, "resend", keys, o.ledger.Resend)
	if n > 0 {
		o.wake()
	}
	return n, err
}

// Dismiss gives up unclear and rejected entries, and returns how many. Their requests and
// errors are erased. Unknown keys and entries in other states are left out.
func (o *Outbox[Tx]) Dismiss(ctx context.Context, keys ...string) (int, error) {
	return o.change(ctx, "dismiss", keys, o.ledger.Dismiss)
}

// change applies a decision in batches. Each batch is a transaction.
func (o *Outbox[Tx]) change(ctx context.Context, doing string, keys []string,
	change func(context.Context, []string) (int, error)) (int, error) {
	total := 0
	keys, _ = validKeys(keys)
	for batch := range slices.Chunk(keys, keyBatch) {
		n, err := change(ctx, batch)
		if total += n; err != nil {
			return total, fmt.Errorf("outbox: %s entries: %w", doing, err)
		}
	}
	return total, nil
}

// Quarantine makes all pending and sending entries unclear, and returns how many. Call it
// before the first Run after the database was restored from a backup, or after a failover
// to a replica that may have been behind. Such a database can list entries as pending
// although they were sent.
func (o *Outbox[Tx]) Quarantine(ctx context.Context) (int, error) {
	n, err := o.ledger.Quarantine(ctx)
	if err != nil {
		return 0, fmt.Errorf("outbox: quarantine: %w", err)
	}
	return n, nil
}

// wake makes Run look for entries.
func (o *Outbox[Tx]) wake() {
	select {
	case o.woken <- struct{}{}:
	default:
	}
}

// slots limits how many requests are sent at the same time.
type slots struct {
	free chan struct{}
	turn chan struct{} // is held by the goroutine that acquires
}

func newSlots(n int) slots {
	s := slots{free: make(chan struct{}, n), turn: make(chan struct{}, 1)}
	s.release(n)
	return s
}

// acquire waits for a free slot and takes up to n of the free ones. Slots become free
// together, when a transaction has recorded outcomes. For one claim to take all of them,
// waiting goroutines take turns, and yield until the whole batch is free.
func (s slots) acquire(ctx context.Context, n int) int {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return 0
	}
	select {
	case <-s.free:
	case <-ctx.Done():
		return 0
	}
	runtime.Gosched()
	for taken := 1; ; taken++ {
		if taken == n {
			return n
		}
		select {
		case <-s.free:
		default:
			return taken
		}
	}
}

func (s slots) release(n int) {
	for range n {
		s.free <- struct{}{}
	}
}

// permit is the permission of the limiter to claim an entry. It is kept until an entry is
// claimed with it.
type permit struct {
	limiter messaging.Limiter
	mu      sync.Mutex
	kept    bool
}

// most returns how many of n entries one claim may take.
func (p *permit) most(n int) int {
	if p.limiter == nil {
		return n
	}
	return 1
}

// acquire waits until the limiter permits a claim.
func (p *permit) acquire(ctx context.Context) error {
	if p.limiter == nil {
		return nil
	}
	p.mu.Lock()
	kept := p.kept
	p.kept = false
	p.mu.Unlock()
	if kept {
		return nil
	}
	return p.limiter.Wait(ctx)
}

// keep keeps a permit that was not used, for the next claim.
func (p *permit) keep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept = true
}
