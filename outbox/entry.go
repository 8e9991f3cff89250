package outbox

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// State is the state of an entry.
type State string

// The states of an entry.
const (
	// Pending means that the request has not been carried out and will be sent.
	Pending State = "pending"
	// Sending means that a process has claimed the entry and may be sending its request.
	Sending State = "sending"
	// Accepted means that the request was carried out, once.
	Accepted State = "accepted"
	// Rejected means that the service or a guard of the client rejected the request. It
	// was not carried out, and is sent again only after Resend.
	Rejected State = "rejected"
	// Unclear means that the request may have been carried out. It stays unclear until
	// someone calls Resend or Dismiss.
	Unclear State = "unclear"
	// Dismissed means that Dismiss was called, so the request is never sent again.
	Dismissed State = "dismissed"
)

// states are in the order of their numbers in the ledger.
var states = []State{Pending, Sending, Accepted, Rejected, Unclear, Dismissed}

func stateOf(s ledger.State) State {
	if s < 0 || int(s) >= len(states) {
		return State(fmt.Sprintf("unknown state %d", s))
	}
	return states[s]
}

// Entry is a request in the outbox, without its body.
type Entry struct {
	// ID is larger for entries that were added later.
	ID  int64
	Key string
	// Operation is the operation of the request; see [messaging.Prepared.Operation].
	Operation string
	State     State
	// Attempts is how often a process has claimed the entry in order to send it.
	Attempts int
	// Delivery is the delivery of the last attempt, or DeliveryNotSent if there was none.
	Delivery messaging.Delivery
	// Error describes why the last attempt failed. It can quote the response of the
	// service, and personal data with it.
	Error      string
	EnqueuedAt time.Time
	// NotBefore is when the entry is due. At first that is the time given to Enqueue, or
	// EnqueuedAt. An attempt that leaves the entry pending can move it.
	NotBefore time.Time
	// SettledAt is when the entry became accepted, rejected, unclear or dismissed. It is
	// zero while the entry is pending or sending.
	SettledAt time.Time
	// Present is true if Enqueue found an existing entry.
	Present bool
}

func entryOf(e ledger.Entry) Entry {
	return Entry{ID: e.ID, Key: e.Key, Operation: e.Operation, State: stateOf(e.State), Attempts: e.Attempts, Delivery: e.Delivery,
		Error: e.Error, EnqueuedAt: e.EnqueuedAt, NotBefore: e.NotBefore, SettledAt: e.SettledAt}
}

// LogValue returns the entry without Error, which can contain personal data.
func (e Entry) LogValue() slog.Value {
	return slog.GroupValue(slog.Int64("id", e.ID), slog.String("key", e.Key), slog.String("operation", e.Operation),
		slog.String("state", string(e.State)), slog.Int("attempts", e.Attempts), slog.String("delivery", e.Delivery.String()))
}

// ListParams selects entries. The zero ListParams selects all.
type ListParams struct {
	// State selects the entries in this state; "" selects all.
	State State
	// After selects the entries with a larger ID. It continues a list.
	After int64
	// Limit is the largest number of entries; 0 means no limit.
	Limit int
}

// Counts is the number of entries in each state.
type Counts struct {
	Pending, Sending, Accepted, Rejected, Unclear, Dismissed int
	// OldestPending is how long ago the oldest pending entry that is due was enqueued. It
	// is 0 if no entry is due. Alert on it.
	OldestPending time.Duration
	// Gate is why the gate of this Outbox is closed, or "" if it is open. Each Outbox has
	// its own gate, so other processes can be in a different state.
	Gate string
}

// Delivered reports the states of the entries whose keys were given to Deliver. Dismissed
// entries are not reported.
type Delivered struct {
	// Accepted, Rejected and Unclear count the entries in these states, regardless of
	// which process sent them.
	Accepted, Rejected, Unclear int
	// Later contains the keys of entries that are still pending. They are not due, the
	// gate was closed, the context ended, or an attempt failed without carrying them out.
	Later []string
	// Busy contains the keys of entries that another call or process has claimed.
	Busy []string
	// Unknown contains the keys that have no entry.
	Unknown []string
	// RetryAfter is how long to wait before calling Deliver with the keys in Later and
	// Busy. It is the time until the first entry of Later may be sent, but at most 500 ms
	// if there are Busy keys, because the end of a claim cannot be predicted. It is 0 if
	// both lists are empty, and can be 0 if only Later has keys.
	RetryAfter time.Duration
}
