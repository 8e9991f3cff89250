package outbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox/internal/breaker"
	"github.com/messaging-go/messaging/outbox/internal/ledger"
	"github.com/messaging-go/messaging/outbox/internal/limit"
	"github.com/messaging-go/messaging/outbox/internal/record"
)

// Store is a database for an [Outbox]. It is implemented in the packages sqlite,
// sqlitefile and postgres. Tx is the type of its transactions.
type Store[Tx any] interface {
	// Ledger returns what only package outbox opens.
	Ledger() ledger.Handle[Tx]
}

// Outbox holds requests until they are sent. Create one with [New]; it is safe for
// concurrent use.
type Outbox[Tx any] struct {
	config
	ledger   ledger.TxLedger[Tx]
	client   *messaging.Client
	limit    *limit.Limit
	breakers *breaker.Breakers
	recorder *record.Recorder
	woken    chan struct{} // holds a value if an entry was added
	alarms   alarms

	swept  atomic.Pointer[time.Time] // when this Outbox last swept
	purged atomic.Pointer[time.Time] // when Deliver or DeliverDue last did
	doubts doubts
}

// SQLTx is a transaction of database/sql, or of a library on top of it: *sql.Tx,
// *sqlx.Tx, and the ConnPool of GORM within a transaction. The outbox uses only these two
// methods. A value that has no Commit and Rollback, such as *sql.DB, is rejected with
// [ErrNoTransaction]. For a bun.Tx, pass its field Tx.
type SQLTx = interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// The errors to test for with [errors.Is].
var (
	// ErrNoEntry is returned if no entry has the key.
	ErrNoEntry = ledger.ErrNoEntry
	// ErrKeyConflict is returned if an entry with the same key has a different request.
	ErrKeyConflict = errors.New("key already used for a different request")
	// ErrNoTransaction is returned if tx is not a transaction, such as a *sql.DB. The entry
	// would be committed even if your transaction is rolled back.
	ErrNoTransaction = ledger.ErrNoTransaction
	// ErrClosed is returned by every method after the store was closed.
	ErrClosed = ledger.ErrClosed
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
	l := ledger.Open(store.Ledger())
	return &Outbox[Tx]{
		config:   c,
		ledger:   l,
		client:   client,
		limit:    limit.New(c.inFlight),
		breakers: breaker.New(c.timing.breaker, c.inFlight, c.logger),
		recorder: record.New(l, c.logger, c.timing.stopGrace),
		woken:    make(chan struct{}, 1),
		alarms:   newAlarms(c.logger),
	}, nil
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

// List ranges over entries in the order of their IDs. It reads them in batches and holds
// no connection while the loop body runs, so the body can make other calls. An entry that
// changes during the loop may be listed in its old or its new state. An error is yielded
// once, as the last element.
func (o *Outbox[Tx]) List(ctx context.Context, f Filter) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		filter, err := f.ledgerFilter()
		for after, left := f.AfterID, f.Limit; err == nil; {
			size := keyBatch
			if f.Limit > 0 {
				size = min(left, keyBatch)
			}
			var entries []ledger.Entry
			if entries, err = o.ledger.List(ctx, filter, after, size); err != nil {
				break
			}
			for _, e := range entries {
				if !yield(entryOf(e), nil) {
					return
				}
				after = e.ID
			}
			if left -= len(entries); len(entries) < size || f.Limit > 0 && left == 0 {
				return
			}
		}
		yield(Entry{}, fmt.Errorf("outbox: list entries: %w", err))
	}
}

// Counts returns how many entries are in each state.
func (o *Outbox[Tx]) Counts(ctx context.Context) (Counts, error) {
	c, err := o.ledger.Counts(ctx)
	if err != nil {
		return Counts{}, fmt.Errorf("outbox: count entries: %w", err)
	}
	n, reasons := c.ByState, o.breakers.Reasons()
	if o.breakers.Stuck() {
		reasons = make(map[string]string)
		for _, operation := range operations {
			reasons[operation] = "requests that do not return are all that may be in flight"
		}
	}
	var open map[string]Breaker
	if len(reasons) > 0 {
		open = make(map[string]Breaker)
	}
	for operation, reason := range reasons {
		open[operation] = Breaker{reason}
	}
	return Counts{Pending: n[ledger.Pending], Sending: n[ledger.Sending], Accepted: n[ledger.Accepted], Rejected: n[ledger.Rejected],
		Unclear: n[ledger.Unclear], Dismissed: n[ledger.Dismissed], OldestPending: c.OldestDue, Breakers: open,
		Paused: c.Paused}, nil
}

// Prepared returns the stored request of an entry. The request is erased when the entry is
// accepted or dismissed.
func (o *Outbox[Tx]) Prepared(ctx context.Context, key string) (*messaging.Prepared, error) {
	if keyProblem(key) != "" {
		return nil, keyed("read", key, ErrNoEntry)
	}
	request, err := o.ledger.Request(ctx, key)
	if err != nil {
		return nil, keyed("read", key, err)
	}
	p, err := o.unseal(ctx, key, request)
	if err != nil {
		return nil, keyed("read", key, err)
	}
	return p, nil
}

// Quarantine makes all pending, sending and rejected entries unclear, and returns how many.
// Call it before the first Run after the database was restored from a backup, or after a
// failover to a replica that may have been behind. Such a database can list entries as pending
// although they were sent, and as rejected although they were resent.
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

var (
	errNoSealer   = errors.New("the request is sealed; set WithSealer")
	errNotOpened  = errors.New("open sealed request")
	errUnreadable = errors.New("this version of package messaging cannot read the stored request")
)

// unseal returns the request of an entry. Its errors quote nothing of the request.
func (o *Outbox[Tx]) unseal(ctx context.Context, key string, r ledger.Request) (*messaging.Prepared, error) {
	body := r.Body
	if body == nil {
		return nil, fmt.Errorf("request erased: entry is %s", stateOf(r.State))
	}
	if r.Sealed {
		if o.sealer == nil {
			return nil, errNoSealer
		}
		err := o.protected("WithSealer", func() (err error) {
			body, err = o.sealer.Open(ctx, key, body)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errNotOpened, err)
		}
	}
	p, err := messaging.ParsePrepared(r.Operation, body)
	if err != nil { // which quotes nothing of the body
		return nil, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return p, nil
}
