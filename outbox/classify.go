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

// outcome is what a send came to: what it means for its entry and for the gate.
type outcome struct {
	operation string
	state     ledger.State
	delivery  messaging.Delivery
	text      string
	wait      time.Duration // until a pending entry is due again
	denied    bool          // by a 403 or 404 that may be about the entry

	block      block
	reason     string        // why the gate closes, without personal data
	retryAfter time.Duration // the service asked to wait that long
	responded  bool          // the response shows that the service works
}

func (o outcome) accepted() bool { return o.state == ledger.Accepted }

// block is when an outcome closes the gate.
type block uint8

const (
	// blockNever is for failures that are about the entry.
	blockNever block = iota
	// blockUnlessWorking is for failures that may have hit one request by accident: they
	// close the gate unless another request was accepted in the meantime.
	blockUnlessWorking
	// blockAlways is for failures that concern all requests.
	blockAlways
)

// maxDenials is how often an entry is denied, while others of its operation are accepted,
// until it is rejected.
const maxDenials = 3

// classify returns the outcome of a send. working is true if the operation is accepted
// for other entries.
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
		o.state, o.responded = ledger.Accepted, true
	case o.delivery == messaging.DeliveryUnknown:
		o.state, o.block = ledger.Unclear, blockUnlessWorking
		if status >= 500 {
			o.block = blockAlways
		}
	case status == http.StatusUnauthorized, status == http.StatusTooManyRequests, status >= 500:
		o.state, o.block = ledger.Pending, blockAlways
	case isDenial(status) && !working:
		o.state, o.block = ledger.Pending, blockAlways
	case isDenial(status):
		o.denied, o.responded = true, true
		if o.state, o.wait = ledger.Pending, t.deniedWait<<entry.Denials; entry.Denials+1 >= maxDenials {
			o.state = ledger.Rejected
		}
	case errors.As(err, &transport): // not sent
		o.state, o.block, o.wait = ledger.Pending, blockUnlessWorking, t.growingWait(entry.Attempts)
	case messaging.Retryable(err):
		o.state, o.wait = ledger.Pending, t.growingWait(entry.Attempts)
	default:
		o.state, o.responded = ledger.Rejected, api != nil
	}
	if o.block != blockNever && api == nil {
		o.reason = failureReason(err, transport)
	}
	return o
}

// isDenial reports whether the service denied a request with this status.
func isDenial(status int) bool {
	return status == http.StatusForbidden || status == http.StatusNotFound
}

// working returns how recently an operation must have been accepted for a 403 or 404 to
// be about the entry. For an entry that was denied before, that is the time since the
// last denial. So a service that denies everything rejects no entry.
func (t timing) working(denials int) time.Duration {
	if denials == 0 {
		return t.gate.recent
	}
	return t.deniedWait << (denials - 1)
}

// notBegun is the outcome of an entry that was claimed, and whose send did not begin
// because the process was stopped or paused.
func (t timing) notBegun(entry ledger.Claimed, why string) outcome {
	return outcome{operation: entry.Operation, state: ledger.Pending, delivery: messaging.DeliveryNotSent, text: "not begun: " + why}
}

// unreadable is the outcome of an entry whose request this process cannot read. Another
// process may be able to.
func (t timing) unreadable(entry ledger.Claimed, err error) outcome {
	o := outcome{operation: entry.Operation, state: ledger.Pending, delivery: messaging.DeliveryNotSent,
		text: storable(err.Error()), wait: t.growingWait(entry.Attempts)}
	if errors.Is(err, errNoSealer) { // concerns all sealed entries
		o.block, o.reason = blockUnlessWorking, errNoSealer.Error()
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

// failureReason describes a failure without a response, and quotes nothing of the
// request.
func failureReason(err error, transport *messaging.TransportError) string {
	var decode *messaging.DecodeError
	switch {
	case errors.As(err, &decode):
		return "the response cannot be read"
	case messaging.DeliveryOf(err) == messaging.DeliveryUnknown || transport == nil:
		return "the response was lost"
	default: // the text of a cause quotes nothing of the request
		return storable(fmt.Sprint(transport.Err))
	}
}

// maxErrorBytes is how much of an error text is stored.
const maxErrorBytes = 1000

// storable returns the text in a form that every database stores: short, valid UTF-8
// without NUL.
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
