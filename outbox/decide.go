package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// Decision is what Resend or Dismiss did with a key.
type Decision struct {
	Key string `json:"key"`
	// Changed is true if the entry was changed.
	Changed bool `json:"changed"`
	// State is the state of the entry now, or "" if there is none.
	State State `json:"state"`
	// Delivery is what is known of all sends of the entry; see [Entry].
	Delivery messaging.Delivery `json:"delivery"`
	// Reason is why the entry was not changed.
	Reason Reason `json:"reason,omitzero"`
	// RetryAt is when the same call can change the entry, for [ReasonMayBeAlive]. For
	// [ReasonSending], it is the latest such time; the send may end earlier. Otherwise it is
	// the zero time. If the process that sends the entry was killed, the entry leaves
	// [Sending] when the next Run or DeliverDue finds it.
	RetryAt time.Time `json:"retry_at,omitzero"`
}

// Reason is why an entry was not changed. It is "" for an entry that was. JSON has the word
// alone.
type Reason string

// The reasons.
const (
	// ReasonAbsent means that no entry has the key.
	ReasonAbsent Reason = "absent"
	// ReasonWrongState means that entries in this state cannot be changed this way.
	ReasonWrongState Reason = "wrong_state"
	// ReasonMayBeAlive means that the process that sent the entry may be alive and may still
	// report the outcome.
	ReasonMayBeAlive Reason = "may_be_alive"
	// ReasonTooLate means that the NotAfter of the entry has passed, so it is never resent.
	ReasonTooLate Reason = "too_late"
	// ReasonSending means that a process has claimed the entry and may be sending it.
	ReasonSending Reason = "sending"
)

var reasonTexts = map[Reason]string{
	ReasonAbsent:     "no entry has the key",
	ReasonWrongState: "wrong state",
	ReasonMayBeAlive: "the process that sent it may be alive",
	ReasonTooLate:    "its time is over",
	ReasonSending:    "it is being sent",
}

// String returns the reason in a few words.
func (r Reason) String() string { return cmp.Or(reasonTexts[r], string(r)) }

// Decided is what ResendAll or DismissAll did.
type Decided struct {
	Changed, Skipped int
	// RetryAt is when all entries that were skipped because they are being sent, or their process
	// may be alive, can be changed, or zero if there are none.
	RetryAt time.Time
}

// Resend makes unclear and rejected entries pending again. It returns a decision for each
// key, in their order; after an error, for those that were decided so far. An unclear
// request may have been carried out; resending it can carry it out twice. Check at the
// service first. [Outbox.Prepared] returns the request and its recipients.
//
// The request is sent as it was stored. That helps if the cause of a rejection was removed
// elsewhere, for example if a template was corrected at the service. If the request itself
// is wrong, dismiss the entry and enqueue a correct request under another key.
//
// Resend leaves out an entry whose process may still be alive. Such an entry can be
// resent one lease after it became unclear. A lease is how long a process may hold an
// entry that it has claimed: the send timeout and 15 s.
//
// If the process reports the outcome of the earlier send before the entry is claimed
// again, that outcome is recorded. An entry that turns out to be accepted or rejected is
// not sent.
func (o *Outbox[Tx]) Resend(ctx context.Context, keys ...string) ([]Decision, error) {
	return o.change(ctx, "resend", keys, o.ledger.Resend)
}

// Dismiss gives up pending, unclear and rejected entries. Their requests and errors are
// erased. It returns a decision for each key, in their order; after an error, for those
// that were decided so far. If an earlier send of the entry turns out to be accepted, the
// entry becomes accepted.
func (o *Outbox[Tx]) Dismiss(ctx context.Context, keys ...string) ([]Decision, error) {
	return o.change(ctx, "dismiss", keys, o.ledger.Dismiss)
}

// DismissTx is Dismiss in your own transaction. Use it to withdraw an entry in the
// transaction that cancels its order. A dismissed entry is not sent, unless the transaction
// is rolled back.
func (o *Outbox[Tx]) DismissTx(ctx context.Context, tx Tx, keys ...string) ([]Decision, error) {
	if any(tx) == any(*new(Tx)) {
		return nil, errors.New("outbox: dismiss entries: tx must not be nil")
	}
	return o.change(ctx, "dismiss", keys, func(ctx context.Context, keys []string) ([]ledger.Decision, error) {
		return o.ledger.DismissTx(ctx, tx, keys)
	})
}

// change applies a decision in batches. Each batch is a transaction.
func (o *Outbox[Tx]) change(ctx context.Context, doing string, keys []string,
	change func(context.Context, []string) ([]ledger.Decision, error)) ([]Decision, error) {
	byKey := make(map[string]Decision, len(keys))
	var err error
	for batch := range slices.Chunk(validKeys(keys), keyBatch) {
		var decisions []ledger.Decision
		if decisions, err = change(ctx, batch); err != nil {
			err = fmt.Errorf("outbox: %s entries: %w", doing, err)
			break
		}
		for _, d := range decisions {
			byKey[d.Key] = decisionOf(d, doing == "resend")
		}
	}
	o.wake()
	decided := make([]Decision, 0, len(keys))
	for _, key := range keys {
		d, ok := byKey[key]
		if !ok && err != nil {
			continue
		}
		if d.Key = key; !ok {
			d.Reason = ReasonAbsent
		}
		decided = append(decided, d)
	}
	return decided, err
}

func decisionOf(d ledger.Decision, resend bool) Decision {
	decision := Decision{Key: d.Key, Changed: d.Changed, State: stateOf(d.State), Delivery: entryOf(d.Entry).Delivery}
	switch {
	case d.Changed:
	case !d.Found:
		return Decision{Key: d.Key, Reason: ReasonAbsent}
	case d.State == ledger.Sending:
		decision.Reason, decision.RetryAt = ReasonSending, time.Now().Add(d.LeaseLeft)
	case !resend || d.State != ledger.Unclear && d.State != ledger.Rejected:
		decision.Reason = ReasonWrongState
	case d.LeaseLeft > 0:
		decision.Reason, decision.RetryAt = ReasonMayBeAlive, time.Now().Add(d.LeaseLeft)
	default:
		decision.Reason = ReasonTooLate
	}
	return decision
}

// ResendAll is Resend for all entries that match the filter, whose State must be Unclear
// or Rejected; [Outbox.List] shows them first. It goes through them once; entries that are
// added or that change their state in the meantime can be left out.
func (o *Outbox[Tx]) ResendAll(ctx context.Context, filter Filter) (Decided, error) {
	return o.changeAll(ctx, "resend", filter, []State{Unclear, Rejected}, o.Resend)
}

// DismissAll is Dismiss for all entries that match the filter, whose State must be
// Pending, Unclear or Rejected. It goes through them once; entries that are added or that
// change their state in the meantime can be left out.
func (o *Outbox[Tx]) DismissAll(ctx context.Context, filter Filter) (Decided, error) {
	return o.changeAll(ctx, "dismiss", filter, []State{Pending, Unclear, Rejected}, o.Dismiss)
}

func (o *Outbox[Tx]) changeAll(ctx context.Context, doing string, filter Filter, states []State,
	change func(context.Context, ...string) ([]Decision, error)) (decided Decided, err error) {
	if !slices.Contains(states, filter.State) {
		return Decided{}, fmt.Errorf("outbox: %s entries: the State of the filter must be one of %q", doing, states)
	}
	var keys []string
	decide := func() error {
		decisions, err := change(ctx, keys...)
		for _, d := range decisions {
			if d.Changed {
				decided.Changed++
				continue
			}
			decided.Skipped++
			if d.RetryAt.After(decided.RetryAt) {
				decided.RetryAt = d.RetryAt
			}
		}
		keys = keys[:0]
		return err
	}
	for e, err := range o.List(ctx, filter) {
		if err != nil {
			return decided, err
		}
		if keys = append(keys, e.Key); len(keys) == keyBatch {
			if err := decide(); err != nil {
				return decided, err
			}
		}
	}
	return decided, decide()
}
