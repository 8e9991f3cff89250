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
	// Pending means that the request was not carried out, and will be sent.
	Pending State = "pending"
	// Sending means that a process has claimed the entry and may be sending it.
	Sending State = "sending"
	// Accepted means that the request was carried out, once.
	Accepted State = "accepted"
	// Rejected means that the request was not carried out and never will be, unless
	// it is resent: the service refused it, or a guard of the client.
	Rejected State = "rejected"
	// Unclear means that the request may have been carried out. Somebody has to decide
	// what to do: Resend or Dismiss.
	Unclear State = "unclear"
	// Dismissed means that somebody decided not to send the request any more.
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
	// ID grows with each entry.
	ID  int64
	Key string
	// Operation is that of [messaging.Prepared].
	Operation string
	State     State
	// Attempts is how often a process has claimed the entry in order to send it.
	Attempts int
	// Delivery is that of the last attempt; not sent if there was none.
	Delivery messaging.Delivery
	// Error says why the last attempt failed. It can quote the service, and with it
	// personal data.
	Error      string
	EnqueuedAt time.Time
	// NotBefore is when the entry is due: the time that was asked for or that of
	// enqueuing, moved by each wait after an attempt.
	NotBefore time.Time
	// SettledAt is when the entry got its state; zero for pending and sending.
	SettledAt time.Time
	// Present means that Enqueue found the entry there.
	Present bool
}

func entryOf(e ledger.Entry) Entry {
	return Entry{ID: e.ID, Key: e.Key, Operation: e.Operation, State: stateOf(e.State), Attempts: e.Attempts, Delivery: e.Delivery,
		Error: e.Error, EnqueuedAt: e.EnqueuedAt, NotBefore: e.NotBefore, SettledAt: e.SettledAt}
}

// LogValue logs the entry without Error, which can hold personal data.
func (e Entry) LogValue() slog.Value {
	return slog.GroupValue(slog.Int64("id", e.ID), slog.String("key", e.Key), slog.String("operation", e.Operation),
		slog.String("state", string(e.State)), slog.Int("attempts", e.Attempts), slog.String("delivery", e.Delivery.String()))
}

// ListParams selects entries. The zero ListParams selects all.
type ListParams struct {
	// State selects the entries in a state; "" selects all.
	State State
	// After selects the entries with a larger ID, to continue a list.
	After int64
	// Limit is the largest number of entries; 0 is no limit.
	Limit int
}

// Counts is the number of entries in each state.
type Counts struct {
	Pending, Sending, Accepted, Rejected, Unclear, Dismissed int
	// OldestPending is the age of the oldest pending entry that is due, 0 if there is
	// none. It is what to alert on.
	OldestPending time.Duration
	// Gate says why this Outbox has stopped sending for the moment, "" if it has not. Each
	// Outbox has a gate of its own: this says nothing about other processes.
	Gate string
}

// Delivered is what became of the keys that Deliver was given.
type Delivered struct {
	// Accepted, Rejected and Unclear count the entries that are in that state now,
	// whoever sent them.
	Accepted, Rejected, Unclear int
	// Later are the keys of entries that are pending: not due, not sent because of the
	// gate or the context, or not sent by an attempt that failed.
	Later []string
	// Busy are the keys of entries that are claimed elsewhere.
	Busy []string
	// Unknown are the keys without an entry.
	Unknown []string
	// RetryAfter is how long to wait before the next Deliver with Later and Busy: until
	// the first of Later may be sent, and at most 500 ms if there are any Busy, since
	// nothing says when these are done. It is 0 if there are none of either, and can be 0
	// if all are Later.
	RetryAfter time.Duration
}
