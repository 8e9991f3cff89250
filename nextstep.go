package messaging

import (
	"reflect"

	"github.com/messaging-go/messaging/internal/exchange"
)

// NextStep is what to do after a call; see [NextStepOf].
type NextStep uint8

const (
	// NextCheck is the zero value: someone has to find out what happened. A send may have
	// been carried out, or the error does not come from this package.
	NextCheck NextStep = iota
	// NextNone means that nothing is left to do. The call succeeded, or the error concerns
	// only the response to a send that was carried out.
	NextNone
	// NextRetry means that the same call can be made again, and may then succeed. Nothing
	// happens twice, unless the call allowed it with [WithRepeatableSend].
	NextRetry
	// NextFixRequest means that this request cannot succeed, now or later. Other requests
	// can.
	NextFixRequest
	// NextFixSetup means that no request can succeed until something else is fixed: the API
	// key, the base URL, the host, a proxy, the account or your own transport.
	NextFixSetup
)

// Package exchange uses the same numbers; see Delivery.
var (
	_ = [1]int{}[NextCheck^NextStep(exchange.StepCheck)]
	_ = [1]int{}[NextNone^NextStep(exchange.StepNone)]
	_ = [1]int{}[NextRetry^NextStep(exchange.StepRetry)]
	_ = [1]int{}[NextFixRequest^NextStep(exchange.StepFixRequest)]
	_ = [1]int{}[NextFixSetup^NextStep(exchange.StepFixSetup)]
)

// String returns the step in words.
func (s NextStep) String() string {
	switch s {
	case NextNone:
		return "nothing to do"
	case NextRetry:
		return "try again"
	case NextFixRequest:
		return "fix the request"
	case NextFixSetup:
		return "fix the setup"
	default:
		return "check what happened"
	}
}

// NextStepOf returns what to do after a call that returned err. No other function is needed
// to decide that. The package documentation has the code, and a table of what can go wrong.
//
// For a read, which changes nothing, NextStepOf never returns [NextNone] unless err is nil.
// For a send, it takes all attempts into account: [NextRetry] means that the send was
// certainly not carried out, or that [WithRepeatableSend] allows a duplicate.
//
// Wrapping an error does not change its step. If several errors are joined, the step is the
// one that they share. If they do not share one, it is [NextCheck] if that is the step of
// any of them or if only some of them are [NextNone], and otherwise [NextFixSetup] before
// [NextFixRequest] before [NextRetry]. For an error that does not come from this package,
// and for a nil pointer or a zero value of an error type, it is NextCheck.
func NextStepOf(err error) NextStep {
	if err == nil {
		return NextNone
	}
	if isNilPointer(err) {
		return NextCheck
	}
	switch e := err.(type) {
	case interface{ nextStep() NextStep }:
		return e.nextStep()
	case interface{ Unwrap() error }:
		return nextStepOfCause(e.Unwrap())
	case interface{ Unwrap() []error }:
		return nextStepOfAll(e.Unwrap())
	}
	return NextCheck
}

// nextStepOfCause returns the step of an error that wraps cause. An error that wraps
// nothing is not a success.
func nextStepOfCause(cause error) NextStep {
	if cause == nil {
		return NextCheck
	}
	return NextStepOf(cause)
}

// nextStepOfAll returns the step of an error that joins causes.
func nextStepOfAll(causes []error) NextStep {
	var found [NextFixSetup + 1]bool
	kinds := 0
	for _, cause := range causes {
		if step := nextStepOfCause(cause); !found[step] {
			found[step] = true
			kinds++
		}
	}
	switch {
	case found[NextCheck], kinds == 0, found[NextNone] && kinds > 1:
		return NextCheck
	case found[NextNone]:
		return NextNone
	case found[NextFixSetup]:
		return NextFixSetup
	case found[NextFixRequest]:
		return NextFixRequest
	default:
		return NextRetry
	}
}

// isNilPointer reports whether err is a nil pointer in an interface, whose methods could
// panic.
func isNilPointer(err error) bool {
	value := reflect.ValueOf(err)
	return value.Kind() == reflect.Pointer && value.IsNil()
}

// Retryable reports whether [NextStepOf] returns [NextRetry] for err: whether the same call
// can be made again without doing anything twice, and may then succeed.
func Retryable(err error) bool { return NextStepOf(err) == NextRetry }
