package exchange

// Step is what to do after a call. It has the same numbers as in the root package.
type Step uint8

// The steps. After StepCheck, someone has to find out what happened. After StepRetry, the
// same call can be made again. StepFixRequest means that this request cannot succeed, and
// StepFixSetup that no request can.
const (
	StepCheck Step = iota
	StepNone
	StepRetry
	StepFixRequest
	StepFixSetup
)

// failure is what kind of failure an attempt ended with.
type failure uint8

const (
	// unclassified is the zero value.
	unclassified failure = iota
	// temporary: the service did nothing, and the next attempt may succeed. The call was
	// not begun, there was no connection for a reason that passes, or the status is 429.
	temporary
	// lost: the response was lost, or the status does not tell what happened.
	lost
	// cutShort: a response began and broke off, or net/http kept repeating the request.
	cutShort
	// unrecognized: the caller's own transport returned an error of an unknown kind, and
	// had not read the body.
	unrecognized
	// badSetup: no request can succeed, because of the key, the host, a certificate, a
	// proxy or the account.
	badSetup
	// badRequest: this request cannot succeed.
	badRequest
	// noRecord: what the request names does not exist. A list names nothing, so its path
	// does not exist.
	noRecord
	// unexpected: the response is not one that the service would give.
	unexpected
)

// steps is what to do after each kind of failure. What happened to a send over all of its
// attempts can change that; see [Exchange.step]. A call is retried if the step is StepRetry.
var steps = [...]struct{ read, send, repeatableSend Step }{
	unclassified: {StepCheck, StepCheck, StepCheck},
	temporary:    {StepRetry, StepRetry, StepRetry},
	lost:         {StepRetry, StepCheck, StepRetry},
	cutShort:     {StepRetry, StepCheck, StepCheck},
	unrecognized: {StepRetry, StepFixSetup, StepRetry},
	badSetup:     {StepFixSetup, StepFixSetup, StepFixSetup},
	badRequest:   {StepFixRequest, StepFixRequest, StepFixRequest},
	noRecord:     {StepFixSetup, StepFixRequest, StepFixRequest},
	unexpected:   {StepFixSetup, StepCheck, StepCheck},
}

// stepAfter returns the step after an attempt of this kind of call that ended with f.
func (x *Exchange) stepAfter(f failure) Step {
	switch row := steps[f]; {
	case x.Operation.IsRead():
		return row.read
	case x.RepeatableSend:
		return row.repeatableSend
	default:
		return row.send
	}
}

// step returns the step after the call, whose last attempt ended with f. If a send was
// accepted by any attempt, nothing is left to do. If its delivery is unknown, it can only be
// repeated if it may take effect twice.
func (x *Exchange) step(f failure) Step {
	step := x.stepAfter(f)
	switch {
	case x.Operation.IsRead():
		return step
	case x.delivery == DeliveryAccepted:
		return StepNone
	case x.delivery == DeliveryUnknown && (step != StepRetry || !x.RepeatableSend):
		return StepCheck
	}
	return step
}
