package exchange

import (
	"net/http"
	"time"

	"github.com/messaging-go/messaging/internal/service"
	"github.com/messaging-go/messaging/internal/wire"
)

// decision is how a call goes on after an attempt.
type decision struct {
	Outcome               // of the call, if it ends here
	again   bool          // there is another attempt
	wait    time.Duration // before it
}

// situation is what a decision depends on besides the call and its attempts.
type situation struct {
	now      time.Time
	left     time.Duration // until the context ends
	otherKey bool          // there is another key than the one that a 401 refused
	random   float64       // from 0 to 1; see [RetryPolicy.wait]
}

// decide returns what a call comes to with one more attempt, and whether it makes another. It
// asks nobody: everything that a decision depends on is in its arguments.
func (c *Call) decide(before *Outcome, did *Result, s situation) decision {
	d := decision{Outcome: c.conclude(before, did)}
	switch {
	case !did.failed() || did.refused || d.Attempts >= c.Retry.MaxAttempts: // it ends
	case stepAfterAttempt(did.failure, c.Operation.IsRead(), c.RepeatableSend) == StepRetry:
		if wait, allowed := c.Retry.pause(d.Attempts, did, s.random); allowed && wait < s.left {
			d.again, d.wait = true, wait
		}
	case did.StatusCode == http.StatusUnauthorized:
		d.again = s.otherKey
	}
	if d.again && c.NotAfter.passedAt(s.now.Add(d.wait)) {
		return decision{Outcome: c.conclude(&d.Outcome, late)}
	}
	return d
}

// conclude returns the outcome of a call that ends with one more attempt, or because that was
// refused.
func (c *Call) conclude(before *Outcome, did *Result) Outcome {
	o := Outcome{Result: did, Delivery: before.Delivery.after(did.Delivery), Attempts: before.Attempts}
	o.Step = stepAfterCall(did.failure, c.Operation.IsRead(), c.RepeatableSend, o.Delivery)
	if did.refused && before.Result != nil {
		earlier := *before
		o.Earlier = &earlier
	}
	return o
}

// steps is what to do after each kind of failure. What happened to a send over all of its
// attempts can change that; see [stepAfterCall]. A call is retried if the step is StepRetry.
var steps = [...]struct{ read, send, repeatableSend Step }{
	unclassified: {StepCheck, StepCheck, StepCheck},
	temporary:    {StepRetry, StepRetry, StepRetry},
	lost:         {StepRetry, StepCheck, StepRetry},
	cutShort:     {StepRetry, StepCheck, StepCheck},
	unrecognized: {StepRetry, StepFixSetup, StepRetry},
	badSetup:     {StepFixSetup, StepFixSetup, StepFixSetup},
	badRequest:   {StepFixRequest, StepFixRequest, StepFixRequest},
	unexpected:   {StepFixSetup, StepCheck, StepCheck},
}

// stepAfterAttempt returns the step after an attempt that ended with f.
func stepAfterAttempt(f failure, isRead, repeatable bool) Step {
	switch row := steps[f]; {
	case isRead:
		return row.read
	case repeatable:
		return row.repeatableSend
	default:
		return row.send
	}
}

// stepAfterCall returns the step after a call whose last attempt ended with f. If a send was
// accepted by any attempt, nothing is left to do. If its delivery is unknown, it can only be
// repeated if it may take effect twice.
func stepAfterCall(f failure, isRead, repeatable bool, delivery Delivery) Step {
	step := stepAfterAttempt(f, isRead, repeatable)
	switch {
	case isRead:
		return step
	case delivery == DeliveryAccepted:
		return StepNone
	case delivery == DeliveryUnknown && (step != StepRetry || !repeatable):
		return StepCheck
	}
	return step
}

// AfterRefusal returns what a response that refuses the only attempt of an operation means. A
// 2xx response refuses a request by its body.
func AfterRefusal(op *service.Operation, status int, body wire.Form) (Delivery, Step) {
	delivery, failure := DeliveryRejected, badRequest
	if status < 200 || status > 299 {
		delivery, failure = classifyStatus(status, body, op)
	}
	return delivery, stepAfterCall(failure, op.IsRead(), false, delivery)
}
