// Package exit maps errors to the exit codes of the program.
package exit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
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
	AlreadySent Code = 12
	Interrupted Code = 130
)

// Meanings are the codes in words, in order. The name is the kind of an error in JSON.
var Meanings = []struct {
	Code       Code
	Name, Text string
}{
	{Done, "done", "done; for sandbox, also after SIGINT and SIGTERM"},
	{Unexpected, "unexpected",
		"unexpected: a port cannot be opened, a file cannot be written, a response cannot be read, or wait --count 0 found a request"},
	{Usage, "usage",
		"usage: an invalid flag, argument, row or file; no confirmation; or a limit or a guard refused it"},
	{Invalid, "invalid",
		"invalid content, seed or file of definitions, or the service refused it (400, 409, 422, 404 of a trigger or a broadcast)"},
	{Denied, "denied", "denied: there is no key, or the service refused it (401, 403)"},
	{RateLimited, "rate_limited", "the service limits the rate"},
	{NotFound, "not_found", "no such customer or event; fault remove: there is no rule with this id"},
	{PartlyDone, "partly_done", "partly done, or done but not printed; the message says how to go on"},
	{NotDone, "not_done",
		"not done, and safe to repeat: there is no connection or no sandbox, or the service refused it for another reason"},
	{Unknown, "unknown", "unknown: it may have been carried out; look before you repeat it"},
	{Drift, "drift", "drift: event apply --check found a difference"},
	{TimeIsUp, "time_is_up", "timed out: sandbox wait found no matching request"},
	{AlreadySent, "already_sent", "already sent: everything that the command would send was accepted before"},
	{Interrupted, "interrupted", "interrupted; nothing was sent"},
}

// String returns the name of the code.
func (c Code) String() string {
	for _, m := range Meanings {
		if m.Code == c {
			return m.Name
		}
	}
	return ""
}

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

// Order is the order of the codes of several errors: the first that occurred counts.
var Order = []Code{Unknown, PartlyDone, Denied, Invalid, RateLimited, NotFound, NotDone, AlreadySent, Usage, Drift, TimeIsUp, Interrupted,
	Unexpected}

// Worst returns the code that counts when a command came to several. It returns Done for
// none.
func Worst(codes ...Code) Code {
	for _, code := range Order {
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
	if own, ok := errors.AsType[*Error](err); ok {
		return own.Code
	}
	return codeOfCall(err)
}

// codeOfCall returns the exit code for an error of a call. A read is never Unknown.
func codeOfCall(err error) Code {
	type call interface {
		error
		Delivery() messaging.Delivery
	}
	_, isCall := errors.AsType[call](err)
	_, isGuard := errors.AsType[*messaging.GuardError](err)
	step := messaging.NextStepOf(err)
	switch {
	case errors.Is(err, context.Canceled) && (step != messaging.NextCheck || !isCall):
		return Interrupted
	case isGuard:
		return Usage
	case !isCall:
		return Unexpected
	case step == messaging.NextCheck:
		return Unknown
	case step == messaging.NextNone:
		return Done
	case errors.Is(err, messaging.ErrUnauthorized), errors.Is(err, messaging.ErrForbidden):
		return Denied
	case errors.Is(err, messaging.ErrRateLimited):
		return RateLimited
	case errors.Is(err, messaging.ErrCustomerNotFound), errors.Is(err, messaging.ErrEventNotFound):
		return NotFound
	case step == messaging.NextFixRequest, isRefusal(err):
		return Invalid
	case step == messaging.NextFixSetup && !isNotDone(err):
		return Unexpected
	}
	return NotDone
}

// isRefusal reports whether the service refuses the request as it stands (400, 409), so that
// the same request can only be refused again.
func isRefusal(err error) bool {
	response, ok := errors.AsType[*messaging.APIError](err)
	return ok && (response.StatusCode == http.StatusBadRequest || response.StatusCode == http.StatusConflict)
}

// isNotDone reports whether a request that nothing but another setup helps was certainly not carried out.
func isNotDone(err error) bool {
	_, isTransport := errors.AsType[*messaging.TransportError](err)
	return isTransport || errors.Is(err, messaging.ErrServer) || messaging.DeliveryOf(err) == messaging.DeliveryRejected
}

// Object describes an error in JSON.
type Object struct {
	Message    string   `json:"message"`
	Operation  string   `json:"operation,omitempty"`
	ID         string   `json:"id,omitempty"` // of the send in the record
	Kind       string   `json:"kind"`
	Delivery   string   `json:"delivery,omitempty"`
	Status     int      `json:"status,omitempty"`
	Fields     []Field  `json:"fields,omitempty"`
	RetryAfter *float64 `json:"retry_after,omitempty"` // seconds
	Exit       Code     `json:"exit"`
}

// SendError is the error of a send in the record.
type SendError struct {
	ID  string
	Err error
}

func (e *SendError) Error() string { return e.Err.Error() }
func (e *SendError) Unwrap() error { return e.Err }

// Field describes the problems with one field in JSON.
type Field struct {
	Field    string   `json:"field"`
	Messages []string `json:"messages"`
}

// isUnansweredRead reports whether err is that of a read without a response. Since a read changes nothing, nobody has to
// find out what became of it, as "unknown" asks for.
func isUnansweredRead(err error) bool {
	return messaging.DeliveryOf(err) == messaging.DeliveryUnknown && messaging.NextStepOf(err) != messaging.NextCheck
}

// ObjectOf describes err.
func ObjectOf(err error) Object {
	code := CodeOf(err)
	o := Object{Message: err.Error(), Kind: code.String(), Exit: code}
	if call := (interface{ Delivery() messaging.Delivery })(nil); errors.As(err, &call) && !isUnansweredRead(err) {
		o.Delivery = words.Delivery(messaging.DeliveryOf(err))
	}
	if send, ok := errors.AsType[*SendError](err); ok {
		o.ID = send.ID
	}
	var fields []messaging.FieldProblem
	if invalid, ok := errors.AsType[*messaging.ValidationError](err); ok {
		o.Operation, fields = invalid.Operation, invalid.Fields
	} else if refused, ok := errors.AsType[*messaging.GuardError](err); ok {
		o.Operation = refused.Operation
	} else if lost, ok := errors.AsType[*messaging.TransportError](err); ok {
		o.Operation = lost.Operation
	} else if unreadable, ok := errors.AsType[*messaging.DecodeError](err); ok {
		o.Operation, o.Status = unreadable.Operation, unreadable.StatusCode
	} else if response, ok := errors.AsType[*messaging.APIError](err); ok {
		o.Operation, o.Status, fields = response.Operation, response.StatusCode, response.Fields
		if seconds := response.RetryAfter.Seconds(); seconds > 0 {
			o.RetryAfter = &seconds
		}
	}
	for _, f := range fields {
		o.Fields = append(o.Fields, Field(f))
	}
	return o
}
