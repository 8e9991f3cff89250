// Package exit maps errors to the exit codes of the program.
package exit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/messaging-go/messaging"
)

// Code is an exit code. The codes are documented, and never change their meaning.
type Code int

// The exit codes.
const (
	Done        Code = 0
	Unexpected  Code = 1
	Usage       Code = 2 // or not confirmed
	Invalid     Code = 3
	Denied      Code = 4
	RateLimited Code = 5
	NotFound    Code = 6
	PartlyDone  Code = 7
	NotDone     Code = 8
	Unknown     Code = 9
	Drift       Code = 10
	TimeIsUp    Code = 11
	Interrupted Code = 130
)

var names = map[Code]string{
	Done: "done", Unexpected: "unexpected", Usage: "usage", Invalid: "invalid", Denied: "denied",
	RateLimited: "rate_limited", NotFound: "not_found", PartlyDone: "partly_done", NotDone: "not_done",
	Unknown: "unknown", Drift: "drift", TimeIsUp: "time_is_up", Interrupted: "interrupted",
}

// Meanings are the codes in words, in order.
var Meanings = []struct {
	Code Code
	Text string
}{
	{Done, "done; for sandbox, also after SIGINT and SIGTERM"},
	{Unexpected, "unexpected: a file or a port cannot be opened, a response cannot be read, or wait --count 0 found a request"},
	{Usage, "usage: an invalid flag or argument, not confirmed, or refused before anything was sent"},
	{Invalid, "invalid: the content, a seed or a file of definitions, or the service refused it (400, 409, 422)"},
	{Denied, "denied: there is no key, or the service refused it (401, 403)"},
	{RateLimited, "the service limits the rate"},
	{NotFound, "not found, or a wrong base URL; fault remove: there is no rule with this id"},
	{PartlyDone, "partly done, or done but not printed"},
	{NotDone, "not done, and safe to repeat: there is no connection or no sandbox, or the service refused it for another reason"},
	{Unknown, "unknown: it may have been carried out; look before you repeat it"},
	{Drift, "drift: event apply --check found a difference"},
	{TimeIsUp, "timed out: sandbox wait found no matching request"},
	{Interrupted, "interrupted; nothing was sent"},
}

// String returns the name of the code, which is the kind of an error in JSON.
func (c Code) String() string { return names[c] }

// Error is an error with the exit code for it.
type Error struct {
	Code Code
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// With returns an error with an exit code. It formats its text like [fmt.Errorf].
func With(code Code, format string, args ...any) error {
	return &Error{code, fmt.Errorf(format, args...)}
}

// urgency orders the codes of several errors: the first that occurred counts.
var urgency = []Code{Unknown, PartlyDone, Denied, Invalid, RateLimited, NotFound, NotDone, Usage, Drift, TimeIsUp, Interrupted, Unexpected}

// Worst returns the code that counts when a command came to several. It returns Done for
// none.
func Worst(codes ...Code) Code {
	for _, code := range urgency {
		if slices.Contains(codes, code) {
			return code
		}
	}
	return Done
}

// CodeOf returns the exit code for an error, and Done for nil. The code of an [Error]
// counts before that of an error of package messaging which it wraps.
func CodeOf(err error) Code {
	if err == nil {
		return Done
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var codes []Code
		for _, each := range joined.Unwrap() {
			codes = append(codes, CodeOf(each))
		}
		return Worst(codes...)
	}
	if own := new(Error); errors.As(err, &own) {
		return own.Code
	}
	return codeOfCall(err)
}

// codeOfCall returns the exit code for an error of a call. A read is never Unknown.
func codeOfCall(err error) Code {
	var call interface{ Delivery() messaging.Delivery }
	step := messaging.NextStepOf(err)
	switch {
	case errors.Is(err, context.Canceled) && (step != messaging.NextCheck || !errors.As(err, &call)):
		return Interrupted
	case isOf[*messaging.GuardError](err):
		return Usage
	case !errors.As(err, &call) && !isLookup(err):
		return Unexpected
	case step == messaging.NextCheck:
		return Unknown
	case step == messaging.NextNone:
		return Done
	}
	if code, ok := codeOfStatus(err); ok {
		return code
	}
	switch step {
	case messaging.NextFixRequest:
		return Invalid
	case messaging.NextFixSetup:
		return codeOfSetup(err)
	default:
		return NotDone
	}
}

// codeOfStatus returns the exit code for an error that a status explains.
func codeOfStatus(err error) (Code, bool) {
	switch {
	case errors.Is(err, messaging.ErrUnauthorized), errors.Is(err, messaging.ErrForbidden):
		return Denied, true
	case errors.Is(err, messaging.ErrRateLimited):
		return RateLimited, true
	case errors.Is(err, messaging.ErrNotFound):
		return NotFound, true
	case isRefusal(err):
		return Invalid, true
	}
	return 0, false
}

// isRefusal reports whether the service refuses the request as it stands (400, 409), so that
// the same request can only be refused again.
func isRefusal(err error) bool {
	response := new(messaging.APIError)
	return errors.As(err, &response) && (response.StatusCode == http.StatusBadRequest || response.StatusCode == http.StatusConflict)
}

// codeOfSetup returns the exit code for a request that nothing but another setup helps. A
// send that gets here was certainly not carried out.
func codeOfSetup(err error) Code {
	if isOf[*messaging.TransportError](err) || errors.Is(err, messaging.ErrServer) || messaging.DeliveryOf(err) == messaging.DeliveryRejected {
		return NotDone
	}
	return Unexpected
}

// isLookup reports whether err is the outcome of a lookup that found something else.
func isLookup(err error) bool {
	return errors.Is(err, messaging.ErrCustomerNotFound) || errors.Is(err, messaging.ErrEventNotFound) ||
		errors.Is(err, messaging.ErrEventAmbiguous) || errors.Is(err, messaging.ErrEventDiffers)
}

func isOf[T error](err error) bool {
	var found T
	return errors.As(err, &found)
}
