package cli

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/outbox"
)

// How a run deals with a key that is refused.
const (
	denialEnds   = 5 * time.Second // without another response, and after the key was asked for again
	denialRepeat = time.Minute     // how often a run that goes on says so
)

// deniedErrors are in the errors of entries that the service has denied.
var deniedErrors = []string{"401 Unauthorized", "403 Forbidden"}

// denials are what a run knows of a key that the service refuses.
type denials struct {
	service *profile.Service

	mu        sync.Mutex
	since     time.Time // when a series of nothing but 401 began
	asked     bool      // a 401 came after the key was asked for again in this series
	forbidden int
	accepted  bool
}

// attempted is a hook of the client.
func (d *denials) attempted(_ context.Context, _ messaging.CallInfo, result messaging.AttemptResult) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch result.StatusCode {
	case 0:
		return
	case http.StatusUnauthorized:
		if d.since.IsZero() {
			d.since = time.Now()
		}
		d.asked = d.service.Refused().After(d.since)
		return
	case http.StatusForbidden:
		d.forbidden++
	}
	d.since, d.accepted = time.Time{}, d.accepted || result.Delivery == messaging.DeliveryAccepted
}

// changed begins a new series, with another key.
func (d *denials) changed() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.since = time.Time{}
}

// refused returns an error if the service refuses the key, or if each pending entry is forbidden.
func (d *denials) refused(ctx context.Context, o *outbox.Outbox[outbox.SQLTx]) error {
	d.mu.Lock()
	unauthorized := !d.since.IsZero() && d.asked && time.Since(d.since) >= denialEnds
	forbidden, accepted := d.forbidden, d.accepted
	d.mu.Unlock()
	if unauthorized {
		return exit.With(exit.Denied, "the service refuses the key, from %s: %s; correct it there",
			d.service.KeySource, deniedErrors[0])
	}
	if forbidden == 0 || accepted {
		return nil
	}
	counts, err := o.Counts(ctx)
	if err != nil || counts.Sending > 0 || counts.Pending == 0 || forbidden < counts.Pending {
		return err
	}
	denied, err := countOf(ctx, o, outbox.Filter{State: outbox.Pending, ErrorContains: deniedErrors[1]})
	if err != nil || denied < counts.Pending {
		return err
	}
	return exit.With(exit.Denied, "the service denies what the key may not do: %s for each of %s", deniedErrors[1],
		words.Count(denied, "pending entry"))
}

// deniedOf returns the error of a pending entry that the service has denied, or "".
func deniedOf(ctx context.Context, o *outbox.Outbox[outbox.SQLTx]) (string, error) {
	for _, text := range deniedErrors {
		for e, err := range o.List(ctx, outbox.Filter{State: outbox.Pending, ErrorContains: text}) {
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("%s: %s", e.Key, e.Error), nil
		}
	}
	return "", nil
}
