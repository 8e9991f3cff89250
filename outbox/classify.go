package outbox

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox/internal/breaker"
	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// outcome is what an attempt came to: what it means for its entry and for the breaker.
type outcome struct {
	state    ledger.State
	delivery messaging.Delivery
	text     string
	wait     time.Duration // until a pending entry is due again
	keeps    bool          // the wait, even if a breaker is open
	doubts   int           // 1 if nobody will know what this attempt did
	denials  int           // 1 if this is a denial that counts
	returned bool          // no attempt was made
	breaker  breaker.Outcome
}

// maxDenials is how often an entry is denied, with others of its operation accepted since
// each denial, until it is rejected.
const maxDenials = 3

// maxDoubts is after how many unknown outcomes a repeatable entry becomes unclear.
const maxDoubts = 5

// classify returns the outcome of a send.
func (t timing) classify(entry *ledger.Claimed, err error) outcome {
	o := outcome{delivery: messaging.DeliveryOf(err)}
	if err != nil {
		o.text = storable(err.Error())
	}
	var api *messaging.APIError
	var transport *messaging.TransportError
	var guard *messaging.GuardError
	isGuards := errors.As(err, &guard) // and what it wraps is not of this send
	status := 0
	if !isGuards && errors.As(err, &api) {
		status, o.breaker.RetryAfter = api.StatusCode, api.RetryAfter
		o.breaker.Reason = strings.TrimSpace(strconv.Itoa(status) + " " + http.StatusText(status))
	} else if err != nil {
		errors.As(err, &transport)
		o.breaker.Reason = failureReason(err, transport)
	}
	ofRequest := messaging.NextStepOf(err) == messaging.NextFixRequest
	switch {
	case o.delivery == messaging.DeliveryAccepted:
		o.state, o.breaker.Kind = ledger.Accepted, breaker.Works
	case o.delivery == messaging.DeliveryUnknown:
		return t.unknown(entry, o.text, o.breaker)
	case status == http.StatusUnauthorized, status == http.StatusTooManyRequests:
		o.state, o.breaker.Kind = ledger.Pending, breaker.KeyFailed
	case status == http.StatusForbidden, status == http.StatusNotFound,
		status >= 400 && status < 500 && !ofRequest:
		o.state, o.breaker.Kind, o.wait = ledger.Pending, breaker.Denied, t.denialWait(entry.Attempts)
		if entry.Denials == 0 || entry.AcceptedSince {
			o.denials = 1
		}
	case api == nil && ofRequest: // a guard or a check of the client
		o.state, o.breaker.Kind = ledger.Rejected, breaker.Nothing
	case ofRequest:
		o.state, o.breaker.Kind = ledger.Rejected, breaker.Works
	case isGuards: // which could not decide now, or ran when the deadline ended
		o.state, o.breaker.Kind, o.wait = ledger.Pending, breaker.Nothing, t.growingWait(entry.Attempts)
	default:
		o.state, o.breaker.Kind, o.wait = ledger.Pending, breaker.Failed, t.growingWait(entry.Attempts)
	}
	return o
}

// unknown is the outcome of an attempt that may have carried out the request.
func (t timing) unknown(entry *ledger.Claimed, text string, failure breaker.Outcome) outcome {
	failure.Kind = breaker.Failed
	o := outcome{state: ledger.Unclear, delivery: messaging.DeliveryUnknown, text: text, breaker: failure}
	if entry.Repeatable && entry.Doubts < maxDoubts-1 { // waits by itself, or it would be every probe
		o.state, o.doubts, o.wait, o.keeps = ledger.Pending, 1, t.growingWait(entry.Attempts), true
	}
	return o
}

// unreadable is the outcome of an entry whose request this process cannot read. Another
// process may be able to. One that cannot be opened waits like a denied one, or a few of them
// would be every probe.
func (t timing) unreadable(entry *ledger.Claimed, err error) outcome {
	o := outcome{state: ledger.Pending, delivery: messaging.DeliveryNotSent, text: storable(err.Error()),
		wait: t.growingWait(entry.Attempts), breaker: breaker.Outcome{Kind: breaker.Nothing}}
	for _, ofAll := range []error{errNoSealer, errNotOpened} { // concern all sealed entries
		if errors.Is(err, ofAll) {
			o.breaker = breaker.Outcome{Kind: breaker.Failed, Reason: ofAll.Error(), Delay: t.unopenedProbe}
			o.wait, o.keeps = t.denialWait(entry.Attempts), true
		}
	}
	return o
}

// growingWait returns the wait after the given number of attempts. It is partly random,
// so that entries that failed together are not sent together.
func (t timing) growingWait(attempts int) time.Duration {
	wait := t.firstWait
	for i := 1; i < attempts && wait < t.longestWait; i++ {
		wait *= 2
	}
	wait = min(wait, t.longestWait)
	return wait/2 + rand.N(wait/2+1)
}

// maxDoublings limits the wait after a denial to 32 times the first.
const maxDoublings = 5

// denialWait returns the wait after a denial of the given attempt. It is partly random, so
// that entries that were denied together are not sent together.
func (t timing) denialWait(attempts int) time.Duration {
	wait := t.deniedWait << min(max(attempts-1, 0), maxDoublings)
	return wait + rand.N(wait/2+1)
}

// failureReason describes a failure without a response, and quotes nothing of the
// request.
func failureReason(err error, transport *messaging.TransportError) string {
	if messaging.DeliveryOf(err) == messaging.DeliveryUnknown || transport == nil {
		return "the response was lost or cannot be read"
	}
	return storable(fmt.Sprint(transport.Err)) // the text of a cause quotes nothing of the request
}
