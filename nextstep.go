package messaging

import (
	"fmt"
	"slices"
)

// NextStep is what to do after a call; see [NextStepOf].
type NextStep uint8

// The numbers of the constants are those of package exchange.

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

// stepNames are the steps as data has them.
var stepNames = [...]string{
	NextCheck: "check", NextNone: "none", NextRetry: "retry", NextFixRequest: "fix_request", NextFixSetup: "fix_setup"}

// MarshalText returns the step as JSON, logs and metrics have it: "none", "retry",
// "fix_request", "fix_setup" or "check".
func (s NextStep) MarshalText() ([]byte, error) {
	if int(s) >= len(stepNames) {
		s = NextCheck
	}
	return []byte(stepNames[s]), nil
}

// UnmarshalText reads what MarshalText returns. Any other text is an error.
func (s *NextStep) UnmarshalText(text []byte) error {
	known := slices.Index(stepNames[:], string(text))
	if known < 0 {
		return fmt.Errorf("messaging: unknown next step %q", text)
	}
	*s = NextStep(known)
	return nil
}

// NextStepOf returns what to do after a call that returned err. It takes all attempts into
// account, and no other function is needed to decide that. The package documentation has the
// code, and a table of what can go wrong.
//
// Wrapping an error does not change its step. Joined errors without a NextStep
// method, their own or wrapped, are ignored. If the others differ, the step is [NextCheck]
// before [NextFixSetup] before [NextFixRequest] before [NextRetry]. An error with [NextNone]
// joined with any other is NextCheck: for example, an accepted send and a failed rollback. For
// an error without a step, it is NextCheck.
func NextStepOf(err error) NextStep {
	if err == nil {
		return NextNone
	}
	step, _ := stepIn(err)
	return step
}

// stepIn returns the step of err, and whether it has one.
func stepIn(err error) (step NextStep, has bool) {
	switch e := err.(type) {
	case interface{ NextStep() NextStep }:
		return e.NextStep(), true
	case interface{ Unwrap() error }:
		return stepIn(e.Unwrap())
	case interface{ Unwrap() []error }:
		return stepOfAll(e.Unwrap())
	}
	return NextCheck, false
}

// urgency is the order of the steps of joined errors.
var urgency = [...]int{NextNone: 0, NextRetry: 1, NextFixRequest: 2, NextFixSetup: 3, NextCheck: 4}

// stepOfAll returns the step of an error that joins causes.
func stepOfAll(causes []error) (most NextStep, has bool) {
	done, other := false, false
	for _, cause := range causes {
		step, ok := stepIn(cause)
		isDone := ok && step == NextNone
		done, other = done || isDone, other || !isDone
		if ok && (!has || urgency[step] > urgency[most]) {
			most, has = step, true
		}
	}
	if done && other {
		return NextCheck, true
	}
	return most, has
}
