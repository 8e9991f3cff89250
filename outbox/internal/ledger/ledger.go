// Package ledger defines what package outbox needs from a database. The packages sqlite
// and postgres implement it.
//
// The state of an entry is changed only by the statements behind [TxLedger]. Each runs in
// one transaction, so what it promises holds for all processes on the same database.
package ledger

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/messaging-go/messaging"
)

// State is the state of an entry as it is stored. The numbers are part of the schema.
type State int16

// The states.
const (
	Pending State = iota
	Sending
	Accepted
	Rejected
	Unclear
	Dismissed
)

// These errors are returned by several implementations. Package outbox and the stores add
// their names when they wrap them.
var (
	ErrClosed        = errors.New("the store is closed")
	ErrNoEntry       = errors.New("no such entry")
	ErrOtherDatabase = errors.New("the transaction belongs to another database")
	ErrNewerSchema   = errors.New("the tables were created by a newer version of this package")
	ErrNoTransaction = errors.New("not a transaction")
)

// CheckSchema fails if the tables, of one version and for programs of another one or later, are too
// new for this program, which knows the versions up to known.
func CheckSchema(version, compatible, known int) error {
	if compatible <= known {
		return nil
	}
	return fmt.Errorf("%w (schema version %d needs a program for version %d or later, and this one is for %d)",
		ErrNewerSchema, version, compatible, known)
}

// Handle holds a ledger that only this module can open. A store hands it out, so that its
// users do not see the methods of the ledger.
type Handle[Tx any] struct{ ledger TxLedger[Tx] }

// NewHandle returns a handle that holds a ledger.
func NewHandle[Tx any](l TxLedger[Tx]) Handle[Tx] { return Handle[Tx]{l} }

// Open returns the ledger of a handle.
func Open[Tx any](h Handle[Tx]) TxLedger[Tx] { return h.ledger }

// TxLedger is a Ledger that can also insert in the caller's transaction.
type TxLedger[Tx any] interface {
	Ledger
	// InsertTx is Insert in tx.
	InsertTx(ctx context.Context, tx Tx, entries []NewEntry) ([]Inserted, error)
	// RemoveTx takes back entries that InsertTx has added in the same tx.
	RemoveTx(ctx context.Context, tx Tx, ids []int64) error
	// DismissTx is Dismiss in tx. It locks only entries that it changes.
	DismissTx(ctx context.Context, tx Tx, keys []string) ([]Decision, error)
}

// Ledger is the table of entries. All methods are safe for concurrent use. Times and
// leases follow the clock of the database. No method holds a connection of the caller after
// it has returned.
type Ledger interface {
	// DigestKey is the random key of the database; see [Digest].
	DigestKey() []byte

	// Insert adds entries in one durable transaction. For each, it returns the new entry
	// or the existing one with the same key.
	Insert(ctx context.Context, entries []NewEntry) ([]Inserted, error)

	// Due returns the first entry of each class. It leaves out classes without entries, and entries that only Expire changes.
	Due(ctx context.Context, looks []Look) ([]Due, error)
	// Claim turns pending entries that are due into sending ones, in one durable
	// transaction that is committed when Claim returns. It claims nothing of a paused
	// operation. After an error that is not [Undone], the transaction may have been
	// committed or may still be; see Unclaim.
	Claim(ctx context.Context, claim Claim) ([]Claimed, error)
	// Unclaim makes the entries of a claim what they were before it, and returns how many.
	// The caller must not have sent any of them.
	Unclaim(ctx context.Context, token Token) (int, error)
	// Settle records outcomes in one transaction. An outcome applies only to an entry
	// that has its token and is sending or unclear. If the outcome is accepted or
	// rejected, it also applies to an entry that is pending again; if it is accepted,
	// also to a dismissed or rejected one. Settle waits for no lock of another transaction.
	Settle(ctx context.Context, outcomes []Outcome) (settled []Settled, at time.Time, err error)
	// Sweep turns up to limit entries whose lease is over from sending to unclear, and
	// repeatable ones to pending, until they had too many doubts. It returns how many of both.
	// Their tokens stay.
	Sweep(ctx context.Context, limit int, repeat Repeat) (Swept, error)
	// Expire turns up to limit pending entries whose NotAfter has passed into rejected
	// ones, and returns them.
	Expire(ctx context.Context, limit int) ([]Entry, error)
	// Purge deletes up to limit entries that were accepted or dismissed longer ago than
	// keep, and returns how many.
	Purge(ctx context.Context, keep time.Duration, limit int) (int, error)

	// Tidy removes what is left of erased bodies outside the table, as far as the
	// database supports it. It waits for no other transaction.
	Tidy(ctx context.Context) error

	// Find returns the entries with these keys, in no particular order.
	Find(ctx context.Context, keys []string) ([]Entry, error)
	// Request returns the request of an entry. Its body is nil if it was erased.
	Request(ctx context.Context, key string) (Request, error)
	// List returns up to limit entries that match the filter and whose id is larger than
	// after, in the order of their ids.
	List(ctx context.Context, filter Filter, after int64, limit int) ([]Entry, error)
	Counts(ctx context.Context) (Counts, error)

	// Resend turns unclear and rejected entries into pending ones, except those that were
	// swept less than a lease ago and those whose NotAfter has passed. It returns a
	// decision for each key, in their order.
	Resend(ctx context.Context, keys []string) ([]Decision, error)
	// Dismiss turns pending, unclear and rejected entries into dismissed ones.
	Dismiss(ctx context.Context, keys []string) ([]Decision, error)
	// Quarantine turns pending, sending and rejected entries into unclear ones.
	Quarantine(ctx context.Context) (int, error)

	// Pause keeps entries of the operations from being claimed, until Resume.
	Pause(ctx context.Context, operations []string) error
	// Resume ends the pauses of the operations.
	Resume(ctx context.Context, operations []string) error
	// Paused returns the operations that are paused, in order.
	Paused(ctx context.Context) ([]string, error)
}

// NewEntry is an entry to insert.
type NewEntry struct {
	Key, Operation string
	Digest         []byte
	Body           []byte
	Sealed         bool
	NotBefore      time.Time
	NotAfter       time.Time
	Priority       Lane
	Repeatable     bool
}

// Inserted returns the entry as it is after it was added. Times are stored as whole
// milliseconds.
func (e NewEntry) Inserted(id int64, at time.Time) Inserted {
	due := at
	if e.NotBefore.After(at) {
		due = time.UnixMilli(e.NotBefore.UnixMilli())
	}
	if !e.NotAfter.IsZero() {
		e.NotAfter = time.UnixMilli(e.NotAfter.UnixMilli())
	}
	return Inserted{Entry: Entry{ID: id, Key: e.Key, Operation: e.Operation, Digest: e.Digest, State: Pending,
		Delivery: messaging.DeliveryNotSent, EnqueuedAt: at, NotBefore: due, NotAfter: e.NotAfter, Priority: e.Priority,
		Repeatable: e.Repeatable}}
}

// Inserted is an entry that Insert added or found.
type Inserted struct {
	Entry
	Present bool
}

// Entry is a stored entry, without its request.
type Entry struct {
	ID             int64
	Key, Operation string
	Digest         []byte
	State          State
	Attempts       int
	// Doubts counts the sends of which nobody knows what they did: those after which an
	// unclear entry was resent or dismissed, and a repeatable one was to be sent again. Every
	// other outcome of the same token brings back the number as of its claim.
	Doubts     int
	Delivery   messaging.Delivery // of the last attempt
	Error      string             // of the last attempt
	EnqueuedAt time.Time
	NotBefore  time.Time
	NotAfter   time.Time // zero if the entry may be sent at any time
	SettledAt  time.Time
	Priority   Lane
	Repeatable bool
	Position   Position
	Size       int64 // of the body
	// DueIn is how long a pending entry is not due yet.
	DueIn time.Duration
	// LeaseLeft is how long the lease of a sending entry lasts, and how long an unclear one
	// whose process may be alive cannot be resent.
	LeaseLeft time.Duration
	Left      time.Duration // until NotAfter
}

// Late reports whether NotAfter has passed.
func (e Entry) Late() bool { return !e.NotAfter.IsZero() && e.Left <= 0 }

// Filter selects entries.
type Filter struct {
	State                         State // a negative one selects all
	Operation                     string
	EnqueuedAfter, EnqueuedBefore time.Time
	ErrorContains                 string
}

// Lane is a part of the pending entries of an operation. The numbers are part of the
// schema.
type Lane int16

// The lanes, in the order in which their entries are sent.
const (
	High Lane = iota
	Normal
	Low // has the entries that the service has denied, too
)

// Class is a part of the entries of a lane: those that wait for a time, in the order of
// their times, or those that do not, in the order of their ids.
type Class struct {
	Operation string
	Lane      Lane
	Timed     bool
}

// Position is the place of an entry in the order of its class. The zero Position comes
// before all entries.
type Position struct {
	Time int64 // in the unit of the database
	ID   int64
}

// Before reports whether p comes before q.
func (p Position) Before(q Position) bool {
	return cmp.Or(cmp.Compare(p.Time, q.Time), cmp.Compare(p.ID, q.ID)) < 0
}

// Look is what to look at: the entries of a class after a position.
type Look struct {
	Class
	After Position
}

// From returns the position that the look begins after. Entries that wait for no time have the
// time 0, and a database may walk over all of them if a look at the others began with it.
func (l Look) From() Position {
	if l.Timed && l.After.Time == 0 {
		return Position{Time: 1}
	}
	return l.After
}

// Due is the first entry of a class.
type Due struct {
	Class
	Head   Position
	Size   int64         // of its body
	Wait   time.Duration // until it is due, 0 if it is due already
	Paused bool
}

// Request is the stored request of an entry.
type Request struct {
	State     State
	Operation string
	Body      []byte
	Sealed    bool
}

// Token identifies a claim.
type Token [16]byte

// Claim selects the entries to claim.
type Claim struct {
	Token Token
	// Lease is how long the process may hold the entries until it records their outcomes.
	Lease time.Duration
	Limit int
	// Look is the class to claim from, in its order. Keys restricts the claim to entries
	// with these keys, of any class of the operation.
	Look
	Keys []string
	// MaxBytes limits the size of all bodies. One body is claimed regardless of its size
	// if OneAnyway is true.
	MaxBytes  int64
	OneAnyway bool
}

// Claimed is an entry that was claimed.
type Claimed struct {
	Entry  // its Attempts include this claim
	Body   []byte
	Sealed bool
	// Denials counts the denials of the entry, and AcceptedSince reports whether another
	// entry of its operation was accepted since the last one.
	Denials       int
	AcceptedSince bool
}

// Outcome is the outcome of a claimed entry.
type Outcome struct {
	ID       int64
	Token    Token
	State    State
	Delivery messaging.Delivery
	Error    string
	// Wait is the time until an entry that is pending again becomes due.
	Wait time.Duration
	// Denials becomes the number of denials of the entry. Denied is true if this outcome
	// is one.
	Denials int
	Denied  bool
	// Doubts becomes the number of doubts of the entry.
	Doubts int
	// Returned is true if no attempt was made, so that none is counted.
	Returned bool
}

// Settled is what Settle did with an outcome.
type Settled uint8

const (
	// Ignored means that the outcome does not apply.
	Ignored Settled = iota
	// Applied means that the outcome is recorded, now or before.
	Applied
	// Locked means that another transaction has locked the entry: try again.
	Locked
)

// Repeat says how a sweep makes repeatable entries pending again.
type Repeat struct {
	Doubts         int           // with so many and this one, they become unclear
	First, Longest time.Duration // the wait after the first attempt, doubling, and the longest one
}

// Swept counts the entries that a sweep has changed, by their new state.
type Swept struct{ Unclear, Pending int }

// Decision is what became of an entry that was to be resent or dismissed.
type Decision struct {
	Entry
	Found, Changed bool
}

// Counts is the number of entries in each state.
type Counts struct {
	ByState [Dismissed + 1]int
	// OldestDue is how long ago the oldest pending entry became due, or 0 if none is due.
	OldestDue time.Duration
	// Paused holds the operations given to Pause.
	Paused []string
}

// Undone marks the error of a transaction that was not committed and never will be.
func Undone(err error) error {
	if err == nil {
		return nil
	}
	return undone{err}
}

type undone struct{ error }

func (u undone) Unwrap() error { return u.error }

// IsUndone reports whether an error shows that its transaction was not committed and never
// will be. A server that sends an SQLSTATE has rolled back, unless it was shutting down or
// the connection broke.
func IsUndone(err error) bool {
	var marked undone
	var server interface{ SQLState() string } // of pgx and of lib/pq
	switch {
	case errors.Is(err, ErrClosed), errors.As(err, &marked):
		return true
	case errors.As(err, &server):
		return !strings.HasPrefix(server.SQLState(), "57P") && !strings.HasPrefix(server.SQLState(), "08")
	}
	return false
}

// Digest identifies a request without revealing it. Its first byte leaves room for others:
// requests are erased, so what was stored cannot be computed anew.
func Digest(key []byte, operation string, body []byte) []byte {
	mac := hmac.New(sha256.New, key)
	var size [8]byte
	binary.BigEndian.PutUint64(size[:], uint64(len(operation)))
	mac.Write(size[:])
	mac.Write([]byte(operation))
	mac.Write(body)
	return mac.Sum([]byte{1})
}

// These are the error texts of entries that became unclear, or pending, without an outcome.
const (
	SweptError       = "the process that sent it did not report the outcome in time"
	QuarantinedError = "quarantined"
)

// ExpiredError is the error text of entries whose NotAfter has passed.
const ExpiredError = "its time is over"

// Decisions returns a decision for each key, from the entries that were changed and the
// entries that exist.
func Decisions(keys []string, changed, found []Entry) []Decision {
	byKey := make(map[string]Decision, len(keys))
	for _, e := range found {
		byKey[e.Key] = Decision{Entry: e, Found: true}
	}
	for _, e := range changed {
		byKey[e.Key] = Decision{Entry: e, Found: true, Changed: true}
	}
	decisions := make([]Decision, len(keys))
	for i, key := range keys {
		decisions[i] = byKey[key]
		decisions[i].Key = key
	}
	return decisions
}

// AddPresent fills in the entries that were not inserted, since they existed already. find
// returns those with the given keys. missing is the key of one that find does not return.
func AddPresent(entries []NewEntry, inserted []Inserted, find func(keys []string) ([]Entry, error)) (missing string, err error) {
	var keys []string
	for i, e := range entries {
		if inserted[i].ID == 0 {
			keys = append(keys, e.Key)
		}
	}
	if len(keys) == 0 {
		return "", nil
	}
	found, err := find(keys)
	byKey := make(map[string]Entry, len(found))
	for _, e := range found {
		byKey[e.Key] = e
	}
	for i, e := range entries {
		if inserted[i].ID != 0 {
			continue
		}
		if inserted[i] = (Inserted{byKey[e.Key], true}); inserted[i].ID == 0 {
			missing = e.Key
		}
	}
	return missing, err
}
