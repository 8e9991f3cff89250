package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"os"
	"strings"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/intent"
	"github.com/messaging-go/messaging/internal/service"
	"github.com/messaging-go/messaging/outbox"
)

// triggerEntry is an entry that triggers an event.
type triggerEntry struct {
	key   string
	added time.Time
}

// sentSince returns what was imported elsewhere or triggered by hand after the entries were
// added, and is like them.
func (d *decision) sentSince(ctx context.Context, b *box, s selected) (intent.Overlap, error) {
	if d.name != "resend" || !b.recorded {
		return nil, nil
	}
	var resends []intent.Resend
	for _, each := range s.triggers {
		prepared, err := b.Prepared(ctx, each.key)
		if err != nil {
			return nil, err
		}
		resends = append(resends, resendOf(prepared.Body(), each.added))
	}
	log, err := intent.Open(os.LookupEnv)
	if err != nil {
		return nil, err
	}
	return log.LookForResend(b.of.Canonical(), resends)
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
	r := intent.Resend{EventID: trigger.EventID, Customer: customer.Payload.Customer, Values: trigger.Payload, Added: added}
	r.Customer.Email = cmp.Or(r.Customer.Email, customer.Payload.Email)
	return r
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
