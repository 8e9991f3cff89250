package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/intent"
	"github.com/messaging-go/messaging/internal/service"
	"github.com/messaging-go/messaging/outbox"
)

// sentSince returns what was imported elsewhere or triggered by hand after the entries were
// added, and is like them.
func (d *decision) sentSince(ctx context.Context, b *box, s selected) (intent.Overlap, error) {
	if d.name != "resend" || !b.recorded || s.oldest.IsZero() {
		return nil, nil
	}
	log, err := intent.Open(os.LookupEnv)
	if err != nil {
		return nil, err
	}
	ahead, err := b.ledger.ClockAhead(ctx)
	if err != nil {
		return nil, err
	}
	return log.LookForResend(b.of.Canonical(), s.oldest.Add(-ahead), s.resends(ctx, b, ahead))
}

// resends ranges over the triggers that are selected, and can still be sent again, with the times
// of this machine's clock.
func (s selected) resends(ctx context.Context, b *box, ahead time.Duration) iter.Seq2[intent.Resend, error] {
	return func(yield func(intent.Resend, error) bool) {
		for e, err := range s.all(ctx, b) {
			if err == nil && !isTrigger(e) {
				continue
			}
			var resend intent.Resend
			if err == nil {
				resend, err = b.resend(ctx, e)
				resend.Added = resend.Added.Add(-ahead)
			}
			if errors.Is(err, errGone) {
				continue
			}
			if !yield(resend, err) || err != nil {
				return
			}
		}
	}
}

var errGone = errors.New("the entry can no longer be sent again")

// resend reads the request of an entry. Another process may have dismissed it since.
func (b *box) resend(ctx context.Context, e outbox.Entry) (intent.Resend, error) {
	prepared, err := b.Prepared(ctx, e.Key)
	if err == nil {
		return resendOf(prepared.Body(), e.EnqueuedAt), nil
	}
	if now, again := b.Get(ctx, e.Key); errors.Is(again, outbox.ErrNoEntry) || again == nil && !isTrigger(now) {
		return intent.Resend{}, errGone
	}
	return intent.Resend{}, err
}

// resendOf returns what is known of a trigger from its request.
func resendOf(body []byte, added time.Time) intent.Resend {
	var trigger struct {
		EventID string         `json:"event_id"`
		Payload map[string]any `json:"payload"`
	}
	var customer struct {
		Payload struct {
			Email    string                   `json:"email"`
			Customer messaging.CustomerParams `json:"customer"`
		} `json:"payload"`
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	_ = decoder.Decode(&trigger) // an import has written it
	_ = json.Unmarshal(body, &customer)
	return intent.Resend{EventID: trigger.EventID, Email: customer.Payload.Email, Customer: customer.Payload.Customer,
		Values: trigger.Payload, Added: added}
}

// refusalToResend returns an error, with exit.Usage, if entries must not be sent again, since
// others like them were sent.
func (d *decision) refusalToResend(since intent.Overlap) error {
	if len(since) == 0 || d.again {
		return nil
	}
	return exit.With(exit.Usage, "nothing was changed: after these entries were added, others like them were sent: the same event and "+
		"customer, and the same values where the event requires one. Dismiss what was sent, or pass --again, which sends it once more")
}

// refusalAfterAnswer returns an error, with exit.Usage, if something like the entries was sent
// while the operator looked at the plan.
func (d *decision) refusalAfterAnswer(ctx context.Context, b *box, s selected, seen intent.Overlap) error {
	since, err := d.sentSince(ctx, b, s)
	for _, each := range since {
		if !slices.Contains(seen.IDs(), each.ID) {
			return exit.With(exit.Usage, "nothing was changed: %s, after the plan was shown", each.Describe("trigger"))
		}
	}
	return err
}

// isTrigger reports whether an entry triggers an event and still has its request.
func isTrigger(e outbox.Entry) bool {
	return e.Operation == service.TriggerEvent.Name && (e.State == outbox.Unclear || e.State == outbox.Rejected)
}

// shownSince is what a digest confirms of what was sent since.
func (d *decision) shownSince(since intent.Overlap) string {
	if !d.again || len(since) == 0 {
		return ""
	}
	return "\nagain, after " + strings.Join(since.IDs(), ", ")
}
