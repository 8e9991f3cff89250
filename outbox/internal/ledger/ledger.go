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
const SchemaVersion = 1

// These errors are returned by several implementations. Package outbox and the stores add
// their names when they wrap them.
var (
	ErrClosed        = errors.New("the store is closed")
	ErrNoEntry       = errors.New("no such entry")
	ErrOtherDatabase = errors.New("the transaction belongs to another database")
	ErrNewerSchema   = errors.New("the tables were created by a newer version of this package")
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
	// InsertTx is Insert for one entry, in tx.
	InsertTx(ctx context.Context, tx Tx, entry NewEntry) (Inserted, error)
}

// Ledger is the table of entries. All methods are safe for concurrent use. Times and
// leases follow the clock of the database. No method holds a connection after it has
// returned.
type Ledger interface {
	// DigestKey is the random key of the database; see [Digest].
	DigestKey() []byte

	// Insert adds entries in one durable transaction. For each, it returns the new entry
	// or the existing one with the same key.
	Insert(ctx context.Context, entries []NewEntry) ([]Inserted, error)

	// Claim turns pending entries that are due into sending ones, in one durable
	// transaction that is committed when Claim returns. After an error, the transaction
	// may have been committed or may still be; see Unclaim.
	Claim(ctx context.Context, claim Claim) ([]Claimed, error)
	// Unclaim makes the entries of a claim pending again, and returns how many. The
	// caller must not have sent any of them.
	Unclaim(ctx context.Context, token Token) (int, error)
	// Settle records outcomes in one transaction. An outcome applies only to an entry
	// that has its token and is sending or unclear. If the outcome is accepted or
	// rejected, it also applies to an entry that is pending again. Settle returns which
	// outcomes applied, including those that were recorded before, and the time.
	Settle(ctx context.Context, outcomes []Outcome) (applied []bool, at time.Time, err error)
	// Sweep turns up to limit entries whose lease is over from sending to unclear.
	Sweep(ctx context.Context, limit int) ([]Swept, error)
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
	// List returns up to limit entries whose id is larger than after, in the order of
	// their ids. A negative state selects all.
	List(ctx context.Context, state State, after int64, limit int) ([]Entry, error)
	Counts(ctx context.Context) (Counts, error)
	// NextDue returns the time until a pending entry is due, and false if none is
	// pending. The time is negative if an entry is due already.
	NextDue(ctx context.Context) (time.Duration, bool, error)

	// Resend turns unclear and rejected entries into pending ones, except those that were
	// swept less than a lease ago. It returns how many.
	Resend(ctx context.Context, keys []string) (int, error)
	// Dismiss turns unclear and rejected entries into dismissed ones.
	Dismiss(ctx context.Context, keys []string) (int, error)
	// Quarantine turns pending and sending entries into unclear ones.
	Quarantine(ctx context.Context) (int, error)

	// Listen calls wake whenever entries may have been added, until ctx is done. It
	// returns false immediately if the database does not announce new entries.
	Listen(ctx context.Context, wake func()) bool
}

// NewEntry is an entry to insert.
type NewEntry struct {
	Key, Operation string
	Digest         []byte
	Body           []byte
	Sealed         bool
	NotBefore      time.Time
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
	SettledAt      time.Time
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
	// Keys restricts the claim to entries with these keys. If it is nil, all entries that
	// are due can be claimed, in the order in which they became due.
	Keys []string
}

// Claimed is an entry that was claimed.
type Claimed struct {
	ID             int64
	Key, Operation string
	Body           []byte
	Sealed         bool
	// Attempts includes this claim.
	Attempts int
	// Denials is how many outcomes of the entry were denied.
	Denials    int
	EnqueuedAt time.Time
	NotBefore  time.Time
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
	// Denied is true if the service denied the request. Claimed.Denials counts it.
	Denied bool
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
	// OldestDue is how long ago the oldest pending entry that is due was enqueued, or 0
	// if none is due.
	OldestDue time.Duration
}

// DueIn returns a time to wait, at most an hour: an entry can be due in thousands of
// years, which does not fit into a Duration.
func DueIn(milliseconds int64) time.Duration {
	return time.Duration(min(milliseconds, time.Hour.Milliseconds())) * time.Millisecond
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
