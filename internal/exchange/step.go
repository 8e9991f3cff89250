package exchange

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
