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
	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// outcome is what a send means for its entry and for the gate.
type outcome struct {
	operation string
	state     ledger.State
	delivery  messaging.Delivery
	text      string
	wait      time.Duration // until a pending entry is due again
	refused   bool          // by a 403 or 404 that may be about the entry

	block      block
	reason     string        // why the gate closes, without personal data
	retryAfter time.Duration // that the service asked for
	answered   bool          // the service did, in a way that shows that it works
}

func (o outcome) accepted() bool { return o.state == ledger.Accepted }

// block says when an outcome closes the gate.
type block uint8

const (
	// blockNever is for what is about the entry.
	blockNever block = iota
	// blockUnlessWorking is for what may be an accident of one request: it closes the
	// gate unless another request was accepted meanwhile.
	blockUnlessWorking
	// blockAlways is for what the service says about all requests.
	blockAlways
)

// maxRefusals is how often an entry is refused by 403 or 404, while others of its
// operation are accepted, until it is rejected.
const maxRefusals = 3

// classify says what the result of a send means. working is true if the operation is
// accepted for other entries.
func (t timing) classify(entry ledger.Claimed, err error, working bool) outcome {
	o := outcome{operation: entry.Operation, delivery: messaging.DeliveryOf(err)}
	if err != nil {
		o.text = storable(err.Error())
	}
	var api *messaging.APIError
	status := 0
	if errors.As(err, &api) {
		status, o.retryAfter, o.reason = api.StatusCode, api.RetryAfter, strconv.Itoa(api.StatusCode)+" "+http.StatusText(api.StatusCode)
	}
	var transport *messaging.TransportError
	switch {
	case o.delivery == messaging.DeliveryAccepted:
		o.state, o.answered = ledger.Accepted, true
	case o.delivery == messaging.DeliveryUnknown:
		o.state, o.block = ledger.Unclear, blockUnlessWorking
		if status >= 500 {
			o.block = blockAlways
		}
	case status == http.StatusUnauthorized, status == http.StatusTooManyRequests, status >= 500:
		o.state, o.block = ledger.Pending, blockAlways
	case (status == http.StatusForbidden || status == http.StatusNotFound) && !working:
		o.state, o.block = ledger.Pending, blockAlways
	case status == http.StatusForbidden || status == http.StatusNotFound:
		o.refused, o.answered = true, true
		if o.state, o.wait = ledger.Pending, t.deniedWait<<entry.Refusals; entry.Refusals+1 >= maxRefusals {
			o.state = ledger.Rejected
		}
	case errors.As(err, &transport): // not sent
		o.state, o.block, o.wait = ledger.Pending, blockUnlessWorking, t.growingWait(entry.Attempts)
	case messaging.Retryable(err):
		o.state, o.wait = ledger.Pending, t.growingWait(entry.Attempts)
	default:
		o.state, o.answered = ledger.Rejected, api != nil
	}
	if o.block != blockNever && api == nil {
		o.reason = failureReason(err, transport)
	}
	return o
}

// working is how recently an operation has to have been accepted, so that a 403 or 404 is
// about the entry: the next time, after the last refusal of the entry. So it is never
// rejected by a refusal of everything.
func (t timing) working(refusals int) time.Duration {
	if refusals == 0 {
		return t.gate.recent
	}
	return t.deniedWait << (refusals - 1)
}

// stopped is the outcome of an entry that was claimed and not sent, since the process
// stops or has been paused for too long.
func (t timing) stopped(entry ledger.Claimed, why string) outcome {
	return outcome{operation: entry.Operation, state: ledger.Pending, delivery: messaging.DeliveryNotSent, text: why}
}

// unreadable is the outcome of an entry whose request can't be read here. Another process
// may be able to.
func (t timing) unreadable(entry ledger.Claimed, err error) outcome {
	o := outcome{operation: entry.Operation, state: ledger.Pending, delivery: messaging.DeliveryNotSent,
		text: storable(err.Error()), wait: t.growingWait(entry.Attempts)}
	if errors.Is(err, errNoSealer) { // which no entry can be sent without
		o.block, o.reason = blockUnlessWorking, errNoSealer.Error()
	}
	return o
}

// growingWait returns the wait after the given number of attempts, partly random so that
// entries that failed together are not sent together.
func (t timing) growingWait(attempts int) time.Duration {
	wait := t.firstWait
	for i := 1; i < attempts && wait < t.longestWait; i++ {
		wait *= 2
	}
	wait = min(wait, t.longestWait)
	return wait/2 + rand.N(wait/2+1)
}

// failureReason names a failure without a response, in words that quote nothing.
func failureReason(err error, transport *messaging.TransportError) string {
	var decode *messaging.DecodeError
	switch {
	case errors.As(err, &decode):
		return "the response can't be read"
	case messaging.DeliveryOf(err) == messaging.DeliveryUnknown || transport == nil:
		return "the response was lost"
	default: // the text of a cause quotes nothing of the request
		return storable(fmt.Sprint(transport.Err))
	}
}

// maxErrorBytes is how much of an error text is stored.
const maxErrorBytes = 1000

// storable is a text that every database stores.
func storable(text string) string {
	text = strings.Map(func(r rune) rune {
		if r == 0 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) > maxErrorBytes {
		text = strings.ToValidUTF8(text[:maxErrorBytes], "")
	}
	return text
}
