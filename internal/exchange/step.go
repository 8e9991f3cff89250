package exchange

import (
	"github.com/messaging-go/messaging/internal/service"
	"github.com/messaging-go/messaging/internal/wire"
)

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
