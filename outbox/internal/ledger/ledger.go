// Package ledger is what package outbox needs of a database. The packages sqlite and
// postgres implement it.
//
// The state of an entry is changed only by the statements behind [Ledger], each of which
// is a transaction of its own, so that what they promise holds for every process on the
// same database.
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

// State is the state of an entry, as it is stored. The numbers are part of the schema.
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

// Errors that several implementations return. Package outbox and the stores name themselves
// when they wrap them.
var (
	ErrClosed        = errors.New("the store is closed")
	ErrNoEntry       = errors.New("no such entry")
	ErrOtherDatabase = errors.New("the transaction is not one of the store's database")
	ErrNewerSchema   = errors.New("the tables were created by a newer version of this package")
)

// Store gives package outbox its ledger. It has no other method, so that the types of
// packages sqlite and postgres show nothing of it.
type Store[Tx any] interface {
	// Ledger is for package outbox.
	Ledger() TxLedger[Tx]
}

// TxLedger is a Ledger that also writes within a transaction of the caller's.
type TxLedger[Tx any] interface {
	Ledger
	// InsertTx is Insert for one entry, in tx.
	InsertTx(ctx context.Context, tx Tx, entry NewEntry) (Inserted, error)
}

// Ledger is the table of entries. All methods are safe for concurrent use. Times and
// leases are those of the database's clock. No method holds a connection when it has
// returned.
type Ledger interface {
	// DigestKey is the random key of the database; see [Digest].
	DigestKey() []byte

	// Insert adds entries in one durable transaction, and returns what is there for
	// each: the new entry, or the one that has the key already.
	Insert(ctx context.Context, entries []NewEntry) ([]Inserted, error)

	// Claim turns pending entries that are due into sending ones, in one durable
	// transaction that is committed when it returns. After an error it is not known
	// whether it was, or will be: see Unclaim.
	Claim(ctx context.Context, claim Claim) ([]Claimed, error)
	// Unclaim makes the entries of a claim pending again, and returns how many. Nothing
	// of the claim may have been sent.
	Unclaim(ctx context.Context, token Token) (int, error)
	// Settle records outcomes, in one transaction. An outcome applies only to an entry
	// that has its token and is sending or unclear; accepted and rejected also to one
	// that is pending again. It returns which applied, counting those that are
	// recorded already, and the time.
	Settle(ctx context.Context, settlements []Settlement) (applied []bool, at time.Time, err error)
	// Sweep turns entries whose lease is over from sending to unclear, at most limit.
	Sweep(ctx context.Context, limit int) ([]Swept, error)
	// StillSwept returns which of the entries are unclear because of Sweep alone.
	StillSwept(ctx context.Context, ids []int64) ([]Entry, error)
	// Purge deletes entries that were accepted or dismissed longer ago than keep, at
	// most limit, and returns how many.
	Purge(ctx context.Context, keep time.Duration, limit int) (int, error)

	// Tidy removes what is left of erased bodies beside the table, as far as the database
	// can.
	Tidy(ctx context.Context) error

	// Find returns the entries with these keys, in no order.
	Find(ctx context.Context, keys []string) ([]Entry, error)
	// Request returns what an entry sends. The body is nil if it is erased.
	Request(ctx context.Context, key string) (Request, error)
	// List returns up to limit entries with a larger id than after, in order. A
	// negative state stands for all.
	List(ctx context.Context, state State, after int64, limit int) ([]Entry, error)
	Counts(ctx context.Context) (Counts, error)
	// NextDue returns the time until a pending entry is due, negative if one is, and
	// false if none is pending.
	NextDue(ctx context.Context) (time.Duration, bool, error)

	// Resend turns unclear and rejected entries into pending ones, but for those that
	// were swept less than a lease ago. It returns how many.
	Resend(ctx context.Context, keys []string) (int, error)
	// Dismiss turns unclear and rejected entries into dismissed ones.
	Dismiss(ctx context.Context, keys []string) (int, error)
	// Quarantine turns pending and sending entries into unclear ones.
	Quarantine(ctx context.Context) (int, error)

	// Listen calls wake whenever entries may have been added, until ctx is done. It
	// returns false at once if the database can't tell.
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

// Inserted is the result of inserting an entry.
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

// Request is what an entry sends.
type Request struct {
	State     State
	Operation string
	Body      []byte
	Sealed    bool
}

// Token is what makes a claim different from every other one.
type Token [16]byte

// Claim selects the entries to claim.
type Claim struct {
	Token Token
	// Owner names the process, for people who look at the table.
	Owner string
	// Lease is how long the claimer may need to settle.
	Lease time.Duration
	Limit int
	// Keys restricts the claim to these; nil claims whatever is due, the longest due
	// first.
	Keys []string
}

// Claimed is an entry that was claimed.
type Claimed struct {
	ID             int64
	Key, Operation string
	Body           []byte
	Sealed         bool
	// Attempts counts this claim.
	Attempts int
	// Refusals is how many settlements had Refused set.
	Refusals   int
	EnqueuedAt time.Time
	NotBefore  time.Time
}

// Settlement is the outcome of a claimed entry.
type Settlement struct {
	ID       int64
	Token    Token
	State    State
	Delivery messaging.Delivery
	Error    string
	// Wait is how long an entry that is pending again is not due.
	Wait time.Duration
	// Refused counts the outcome in Claimed.Refusals.
	Refused bool
}

// Swept is an entry whose lease was over.
type Swept struct {
	ID int64
	// Guard is how long the entry can't be sent again, since its sender may be alive.
	Guard time.Duration
}

// Counts is the number of entries in each state.
type Counts struct {
	ByState [Dismissed + 1]int
	// OldestDue is how long ago the oldest of the pending entries that are due was
	// enqueued, 0 if there is none.
	OldestDue time.Duration
}

// DueIn returns a time to wait, at most an hour: an entry can be due in thousands of
// years, which a Duration can't hold.
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

// The errors of entries that became unclear without an outcome.
const (
	SweptError       = "the process that sent it did not report the outcome in time"
	QuarantinedError = "quarantined"
)
