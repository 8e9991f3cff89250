package outbox

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// State is the state of an entry.
type State string

// The states of an entry.
const (
	// Pending means that the request waits to be sent.
	Pending State = "pending"
	// Sending means that a process has claimed the entry and may be sending its request.
	Sending State = "sending"
	// Accepted means that the request was carried out: once, or at least once if the entry is
	// Repeatable or was resent while it was unclear.
	Accepted State = "accepted"
	// Rejected means that the service or a guard of the client rejected the request, or
	// that its NotAfter passed. The last send did not carry it out; its Delivery is unknown if
	// an earlier one may have. Only Resend sends it again, and not after its NotAfter.
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
	ID  int64  `json:"id"`
	Key string `json:"key"`
	// Operation is the operation of the request; see [messaging.Prepared.Operation].
	Operation string `json:"operation"`
	State     State  `json:"state"`
	// Attempts is how often a process has claimed the entry in order to send it.
	Attempts int `json:"attempts"`
	// Delivery is what is known of all sends of the entry. It is that of the last attempt, or
	// DeliveryNotSent if there was none. It is DeliveryUnknown while the entry is sending or
	// unclear. If the entry leaves such a state without an outcome, it stays DeliveryUnknown until
	// the entry is accepted.
	Delivery messaging.Delivery `json:"delivery"`
	// Error describes why the last attempt failed. It can quote the response of the
	// service, and personal data with it.
	Error      string    `json:"error"`
	EnqueuedAt time.Time `json:"enqueued_at"`
	// DueAt is when the entry is due. At first that is the NotBefore of its item, or EnqueuedAt.
	// An attempt that leaves the entry pending can move it.
	DueAt time.Time `json:"due_at"`
	// SettledAt is when the entry became accepted, rejected, unclear or dismissed. It is
	// zero while the entry is pending or sending.
	SettledAt time.Time `json:"settled_at,omitzero"`
	// NotAfter is the time given to Enqueue, or zero.
	NotAfter time.Time `json:"not_after,omitzero"`
	Priority Priority  `json:"priority"`
	// Repeatable is that of the item which added the entry.
	Repeatable bool `json:"repeatable"`
	// Present is true if Enqueue found an existing entry.
	Present bool `json:"present,omitzero"`
}

func entryOf(e ledger.Entry) Entry {
	if e.State == ledger.Sending || e.State == ledger.Unclear || e.Doubts > 0 && e.State != ledger.Accepted {
		e.Delivery = messaging.DeliveryUnknown
	}
	return Entry{ID: e.ID, Key: e.Key, Operation: e.Operation, State: stateOf(e.State), Attempts: e.Attempts, Delivery: e.Delivery,
		Error: e.Error, EnqueuedAt: e.EnqueuedAt, DueAt: e.NotBefore, SettledAt: e.SettledAt, NotAfter: e.NotAfter,
		Priority: priorityOf(e.Priority), Repeatable: e.Repeatable}
}

// LogValue returns the entry without Error, which can contain personal data.
func (e Entry) LogValue() slog.Value {
	delivery, _ := e.Delivery.MarshalText() // never fails
	return slog.GroupValue(slog.Int64("id", e.ID), slog.String("key", e.Key), slog.String("operation", e.Operation),
		slog.String("state", string(e.State)), slog.Int("attempts", e.Attempts), slog.String("delivery", string(delivery)))
}

// Filter selects entries. The zero Filter selects all.
type Filter struct {
	// State selects the entries in this state; "" selects all.
	State State
	// Operation selects the entries with this operation; "" selects all, and an unknown
	// operation selects none.
	Operation string
	// EnqueuedAfter and EnqueuedBefore select the entries that were enqueued after and
	// before these times. A zero time selects all.
	EnqueuedAfter, EnqueuedBefore time.Time
	// ErrorContains selects the entries whose Error contains this text, with the same
	// upper and lower case. Error has the status and the message of the service, such as
	// "422 Unprocessable Entity: …", up to 1000 bytes.
	ErrorContains string
	// AfterID selects the entries with a larger ID. It continues a list.
	AfterID int64
	// Limit is the largest number of entries; 0 means no limit.
	Limit int
}

// ledgerFilter checks the filter and converts it.
func (f Filter) ledgerFilter() (ledger.Filter, error) {
	filter := ledger.Filter{State: -1, Operation: f.Operation, EnqueuedAfter: f.EnqueuedAfter, EnqueuedBefore: f.EnqueuedBefore,
		ErrorContains: f.ErrorContains}
	if f.Limit < 0 || f.AfterID < 0 {
		return filter, errors.New("the filter's AfterID and Limit must not be negative")
	}
	if storable(f.ErrorContains+f.Operation) != f.ErrorContains+f.Operation {
		return filter, errors.New("the filter's Operation and ErrorContains must be valid UTF-8 without NUL, and at most 1000 bytes")
	}
	if f.State == "" {
		return filter, nil
	}
	i := slices.Index(states, f.State)
	if i < 0 {
		return filter, fmt.Errorf("unknown state %q", f.State)
	}
	filter.State = ledger.State(i)
	return filter, nil
}

// Counts is the number of entries in each state.
type Counts struct {
	Pending, Sending, Accepted, Rejected, Unclear, Dismissed int
	// OldestPending is how long ago the oldest pending entry became due: when it was
	// enqueued, its NotBefore came or it was resent. It is 0 if no entry is due. Alert on
	// it. Paused entries count as well, so it grows during a pause.
	OldestPending time.Duration
	// Breakers contains why the breaker of an operation is open, by operation. Closed ones
	// are left out. Each Outbox has its own breakers, so other processes can be in a different
	// state.
	Breakers map[string]Breaker
	// Paused contains the operations that are paused; see [Outbox.Pause].
	Paused []string
}

// Breaker is what is known of a breaker that is open.
type Breaker struct {
	// Reason is why the breaker is open, in a few words that can change.
	Reason string `json:"reason"`
}

// Delivered reports the states of the entries that were given to Deliver, or that
// DeliverDue has sent or rejected. Dismissed entries are not reported.
type Delivered struct {
	// Accepted, Rejected and Unclear count the entries in these states, regardless of
	// which process sent them.
	Accepted, Rejected, Unclear int
	// Later contains the keys of entries that are still pending. They are not due, the
	// breaker was open, the context ended, or an attempt failed without carrying them out.
	Later []string
	// Paused contains the keys of pending entries whose operation is paused. There is no
	// need to come back for them: DeliverDue and Run send them after Resume.
	Paused []string
	// Busy contains the keys of entries that another call or process has claimed.
	Busy []string
	// Absent contains the keys that have no entry.
	Absent []string
	// More is true if entries are left that a later call may send: those in Later and Busy,
	// and after DeliverDue, all that are pending and not paused.
	More bool
	// RetryAfter is how long to wait before the next call, if More is true: until the first
	// of them may be sent, but at most 500 ms if there are Busy keys, because the end of a
	// claim cannot be predicted. 0 means that one may be sent now.
	RetryAfter time.Duration
}
