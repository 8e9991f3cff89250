// Package ledger defines what package outbox needs from a database. The packages sqlite
// and postgres implement it.
//
// The state of an entry is changed only by the statements behind [Ledger]. Each of them
// is a separate transaction, so their promises hold for all processes on the same
// database.
package ledger

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"
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

// SchemaVersion is the version of the tables that this package reads and writes.
const SchemaVersion = 2

// These errors are returned by several implementations. Package outbox and the stores add
// their names when they wrap them.
var (
	ErrClosed        = errors.New("the store is closed")
	ErrNoEntry       = errors.New("no such entry")
	ErrOtherDatabase = errors.New("the transaction belongs to another database")
	ErrNewerSchema   = errors.New("the tables were created by a newer version of this package")
	ErrNoTransaction = errors.New("not a transaction")
)

// Store gives package outbox its ledger. It has no other method, so the types of the
// packages sqlite and postgres do not show the methods of the ledger.
type Store[Tx any] interface {
	// Ledger is for package outbox.
	Ledger() TxLedger[Tx]
}

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

	// Due returns when the first pending entries are due, for each operation and
	// separately for urgent entries.
	Due(ctx context.Context) ([]Due, error)
	// Claim turns pending entries that are due into sending ones, in one durable
	// transaction that is committed when Claim returns. It claims nothing of a paused
	// operation. After an error, the transaction may have been committed or may still
	// be; see Unclaim.
	Claim(ctx context.Context, claim Claim) ([]Claimed, error)
	// Unclaim makes the entries of a claim pending again, and returns how many. The
	// caller must not have sent any of them.
	Unclaim(ctx context.Context, token Token) (int, error)
	// Settle records outcomes in one transaction. An outcome applies only to an entry
	// that has its token and is sending or unclear. If the outcome is accepted or
	// rejected, it also applies to an entry that is pending again; if it is accepted,
	// also to a dismissed one. Settle waits for no lock of another transaction.
	Settle(ctx context.Context, outcomes []Outcome) (settled []Settled, at time.Time, err error)
	// Sweep turns up to limit entries whose lease is over from sending to unclear.
	Sweep(ctx context.Context, limit int) ([]Swept, error)
	// Expire turns up to limit pending entries whose NotAfter has passed into rejected
	// ones, and returns them.
	Expire(ctx context.Context, limit int) ([]Entry, error)
	// StillSwept returns the entries that are still unclear only because of Sweep.
	StillSwept(ctx context.Context, ids []int64) ([]Entry, error)
	// Purge deletes up to limit entries that were accepted or dismissed longer ago than
	// keep, and returns how many.
	Purge(ctx context.Context, keep time.Duration, limit int) (int, error)

	// Tidy removes what is left of erased bodies outside the table, as far as the
	// database supports it.
	Tidy(ctx context.Context) error

	// Find returns the entries with these keys, in no particular order.
	Find(ctx context.Context, keys []string) ([]Entry, error)
	// Request returns the request of an entry. Its body is nil if it was erased.
	Request(ctx context.Context, key string) (Request, error)
	// List returns up to limit entries that match the filter and whose id is larger than
	// after, in the order of their ids.
	List(ctx context.Context, filter Filter, after int64, limit int) ([]Entry, error)
	// LastID returns the largest id, or 0.
	LastID(ctx context.Context) (int64, error)
	Counts(ctx context.Context) (Counts, error)

	// Resend turns unclear and rejected entries into pending ones, except those that were
	// swept less than a lease ago and those whose NotAfter has passed. It returns a
	// decision for each key, in their order.
	Resend(ctx context.Context, keys []string) ([]Decision, error)
	// Dismiss turns pending, unclear and rejected entries into dismissed ones.
	Dismiss(ctx context.Context, keys []string) ([]Decision, error)
	// Quarantine turns pending and sending entries into unclear ones.
	Quarantine(ctx context.Context) (int, error)

	// Pause keeps entries of the operations from being claimed, until Resume. The name ""
	// stands for all operations.
	Pause(ctx context.Context, operations []string) error
	// Resume ends the pauses of the operations. No operations end every pause.
	Resume(ctx context.Context, operations []string) error

	// Announce makes Listen of other processes call wake.
	Announce(ctx context.Context) error
	// Listen calls wake after an Announce, until ctx is done. It
	// returns immediately if the database has no announcements.
	Listen(ctx context.Context, wake func())
}

// NewEntry is an entry to insert.
type NewEntry struct {
	Key, Operation string
	Digest         []byte
	Body           []byte
	Sealed         bool
	NotBefore      time.Time
	NotAfter       time.Time
	Urgent         bool
}

// Inserted returns the entry as it is after it was added. Times are stored as whole
// milliseconds.
func (e NewEntry) Inserted(id int64, at, due time.Time) Inserted {
	if !e.NotAfter.IsZero() {
		e.NotAfter = time.UnixMilli(e.NotAfter.UnixMilli())
	}
	return Inserted{Digest: e.Digest, Entry: Entry{ID: id, Key: e.Key, Operation: e.Operation, State: Pending,
		Delivery: messaging.DeliveryNotSent, EnqueuedAt: at, NotBefore: due, NotAfter: e.NotAfter, Urgent: e.Urgent}}
}

// Inserted is an entry that Insert added or found.
type Inserted struct {
	Entry
	Digest  []byte
	Present bool
}

// Entry is a stored entry, without its request.
type Entry struct {
	ID             int64
	Key, Operation string
	State          State
	Attempts       int
	Delivery       messaging.Delivery
	Error          string
	EnqueuedAt     time.Time
	NotBefore      time.Time
	NotAfter       time.Time
	SettledAt      time.Time
	Urgent         bool
	// LeaseUntil is when the lease of a sending entry ends, and when an unclear one whose
	// process may be alive can be resent. Otherwise it is zero.
	LeaseUntil time.Time
}

// Filter selects entries.
type Filter struct {
	State                         State // a negative one selects all
	Operation                     string
	EnqueuedAfter, EnqueuedBefore time.Time
	ErrorContains                 string
	UpTo                          int64 // the largest id; 0 means no limit
}

// Due is when the first pending entry of a class is due.
type Due struct {
	Operation string
	Urgent    bool
	Wait      time.Duration // negative if an entry is due already
	Paused    bool
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
	// Owner names the process for people who look at the table.
	Owner string
	// Lease is how long the process may hold the entries until it records their outcomes.
	Lease time.Duration
	Limit int
	// Operation is the operation of the entries.
	Operation string
	// Keys restricts the claim to entries with these keys. If it is nil, Urgent selects
	// the urgent entries or the others, in the order in which they became due.
	Keys   []string
	Urgent bool
	// Newest claims those first that became due last.
	Newest bool
	// MaxBytes limits the size of all bodies. One body is claimed regardless of its size
	// if OneAnyway is true.
	MaxBytes  int64
	OneAnyway bool
}

// Claimed is an entry that was claimed.
type Claimed struct {
	ID             int64
	Key, Operation string
	Body           []byte
	Sealed         bool
	// Attempts includes this claim.
	Attempts int
	// Denials counts the denials of the entry, and AcceptedSince reports whether another
	// entry of its operation was accepted since the last one.
	Denials       int
	AcceptedSince bool
	Error         string // of the last attempt
	EnqueuedAt    time.Time
	NotBefore     time.Time
	// NotAfter is zero if the entry may be sent at any time. Left is the time until then.
	NotAfter time.Time
	Left     time.Duration
	Urgent   bool
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

// Decision is what became of an entry that was to be resent or dismissed.
type Decision struct {
	Entry
	Found, Changed bool
	Now            time.Time // by the clock of the database
}

// Swept is an entry that Sweep has made unclear.
type Swept struct {
	ID int64
	// Guard is how long the entry cannot be resent because its process may be alive.
	Guard time.Duration
}

// Counts is the number of entries in each state.
type Counts struct {
	ByState [Dismissed + 1]int
	// OldestDue is how long ago the oldest pending entry became due, or 0 if none is due.
	OldestDue time.Duration
	// Paused holds the names given to Pause.
	Paused []string
}

// DueIn returns a time to wait, at most an hour: an entry can be due in thousands of
// years, which does not fit into a Duration.
func DueIn(milliseconds int64) time.Duration {
	return time.Duration(min(milliseconds, time.Hour.Milliseconds())) * time.Millisecond
}

// LeftOf returns the time that is left until NotAfter.
func LeftOf(milliseconds int64) time.Duration {
	return time.Duration(min(milliseconds, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}

// Digest identifies a request without revealing it.
func Digest(key []byte, operation string, body []byte) []byte {
	mac := hmac.New(sha256.New, key)
	var size [8]byte
	binary.BigEndian.PutUint64(size[:], uint64(len(operation)))
	mac.Write(size[:])
	mac.Write([]byte(operation))
	mac.Write(body)
	return mac.Sum(nil)
}

// These are the error texts of entries that became unclear without an outcome.
const (
	SweptError       = "the process that sent it did not report the outcome in time"
	QuarantinedError = "quarantined"
)

// ExpiredError is the error text of entries whose NotAfter has passed.
const ExpiredError = "its time is over"

// Decisions returns a decision for each key, from the entries that were changed and the
// entries that exist.
func Decisions(keys []string, changed, found []Entry, now time.Time) []Decision {
	byKey := make(map[string]Decision, len(keys))
	for _, e := range found {
		byKey[e.Key] = Decision{Entry: e, Found: true, Now: now}
	}
	for _, e := range changed {
		byKey[e.Key] = Decision{Entry: e, Found: true, Changed: true, Now: now}
	}
	decisions := make([]Decision, len(keys))
	for i, key := range keys {
		decisions[i] = byKey[key]
		decisions[i].Key = key
	}
	return decisions
}
