package messaging

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The sentinels to test errors for with [errors.Is].
var (
	// ErrValidation means that arguments are invalid, according to this package or to
	// the service (HTTP 422).
	ErrValidation = errors.New("invalid arguments")
	// ErrUnauthorized means HTTP 401: the API key is missing or wrong.
	ErrUnauthorized = errors.New("unauthorized")
	// ErrForbidden means HTTP 403: the API key does not allow the operation.
	ErrForbidden = errors.New("forbidden")
	// ErrNotFound means HTTP 404. A wrong base URL is often the reason.
	ErrNotFound = errors.New("not found")
	// ErrCustomerNotFound is an empty result of [CustomersService.Get] or
	// [CustomersService.GetByEmail]. It is ErrNotFound too, so test for it first.
	ErrCustomerNotFound error = notFound("no such customer")
	// ErrEventNotFound is the result of [EventsService.GetByName] where no event has the
	// name. It is ErrNotFound too, so test for it first.
	ErrEventNotFound error = notFound("no such event")
	// ErrEventAmbiguous means that several events have the name that one was looked up
	// by.
	ErrEventAmbiguous = errors.New("several events have that name")
	// ErrEventDiffers means that [EventsService.Ensure] found an event of that name with
	// other parameters.
	ErrEventDiffers = errors.New("the event is defined differently")
	// ErrRateLimited means HTTP 429. [APIError.RetryAfter] says how long to wait.
	ErrRateLimited = errors.New("rate limited")
	// ErrServer means an HTTP status of 500 or above.
	ErrServer = errors.New("server error")
	// ErrBadCursor is a page that would make iteration loop or stop early: a next
	// page without a cursor, a cursor seen before, or too many empty pages in a row.
	ErrBadCursor = errors.New("bad cursor")
	// ErrTooLarge is a response over the limit of [WithMaxResponseBytes], a page with
	// far more rows than requested, or too many elements of lists within rows.
	ErrTooLarge = errors.New("response too large")
	// ErrAttemptTimeout is the time limit of one attempt, see
	// [WithAttemptTimeout]. It is a [net.Error] whose Timeout is true. The
	// caller's own deadline is [context.DeadlineExceeded] instead.
	ErrAttemptTimeout error = attemptTimeout{}
)

// notFound is a sentinel that is ErrNotFound too.
type notFound string

func (e notFound) Error() string        { return string(e) }
func (e notFound) Is(target error) bool { return target == ErrNotFound }

// attemptTimeout is the type of ErrAttemptTimeout.
type attemptTimeout struct{}

func (attemptTimeout) Error() string   { return "attempt timed out" }
func (attemptTimeout) Timeout() bool   { return true }
func (attemptTimeout) Temporary() bool { return true }

var _ net.Error = attemptTimeout{}

// Delivery is what happened to a request.
type Delivery uint8

const (
	// DeliveryUnknown is the zero value: the request may have been carried out.
	// Find out before sending it again.
	DeliveryUnknown Delivery = iota
	// DeliveryNotSent means that the service certainly did not receive the request,
	// and will not. Whether to send it again is for [Retryable] to say.
	DeliveryNotSent
	// DeliveryRejected means that the service refused the request and did nothing.
	DeliveryRejected
	// DeliveryAccepted means that the request was carried out. With an error, only
	// the response could not be read: do not repeat the call.
	DeliveryAccepted
)

// String returns the delivery in words.
func (d Delivery) String() string {
	switch d {
	case DeliveryNotSent:
		return "not sent"
	case DeliveryRejected:
		return "rejected"
	case DeliveryAccepted:
		return "accepted"
	default:
		return "unknown"
	}
}

// rank orders deliveries by the risk of sending the request again.
func (d Delivery) rank() int {
	switch d {
	case DeliveryNotSent:
		return 0
	case DeliveryRejected:
		return 1
	case DeliveryAccepted:
		return 2
	default:
		return 3
	}
}

// worse returns the delivery with the higher risk of sending the request again.
func (d Delivery) worse(other Delivery) Delivery {
	if other.rank() > d.rank() {
		return other
	}
	return d
}

// after returns the delivery of a call, of which d is known so far, after one more
// attempt. An attempt that was accepted is certain, whatever went before.
func (d Delivery) after(attempt Delivery) Delivery {
	if attempt == DeliveryAccepted {
		return DeliveryAccepted
	}
	return d.worse(attempt)
}

// DeliveryOf returns what happened to the request behind err: accepted where err is
// nil, the worst where several errors are joined, unknown where err does not
// come from this package. It matters for sends. A read changes nothing and can
// be repeated whatever its delivery.
//
// To decide what to do next, ask in this order: is it accepted, is it [Retryable],
// is it unknown, is it [ErrValidation]. The package documentation has the code.
func DeliveryOf(err error) Delivery {
	if err == nil {
		return DeliveryAccepted
	}
	switch e := err.(type) {
	case interface{ Delivery() Delivery }:
		return e.Delivery()
	case interface{ Unwrap() error }:
		if cause := e.Unwrap(); cause != nil {
			return DeliveryOf(cause)
		}
	case interface{ Unwrap() []error }:
		worst, some := DeliveryNotSent, false
		for _, cause := range e.Unwrap() {
			worst, some = worst.worse(DeliveryOf(cause)), true
		}
		if some {
			return worst
		}
	}
	return DeliveryUnknown
}

// Retryable reports whether the call behind err can be made again without doing
// anything twice, and may then succeed. It is what decides whether to queue a
// request again: [DeliveryNotSent] alone does not, since invalid arguments are not
// sent either.
//
// It is true for a read, and for a send none of whose attempts may have been
// carried out, if the last failure is temporary: no connection, a name server that
// failed for the moment, 429, a context that ended, an error of the key source or
// the rate limiter; for a read also a timeout, a broken connection and a server
// error. For a call with [WithRepeatableSend], an unknown delivery counts as
// harmless.
//
// It is false for invalid arguments, the refusal of a guard, 401, 403, 404, 422 and most
// other 4xx, a host that does not exist, a bad certificate, a proxy that refuses, a
// malformed API key, a response that can't be read, a send whose transport returned an
// unrecognized error, nil, and an error of another package. Of a [*PageError] it reports
// on the cause, and of joined errors, whether each of them is retryable.
func Retryable(err error) bool {
	switch e := err.(type) {
	case nil:
		return false
	case interface{ isRetryable() bool }:
		return e.isRetryable()
	case interface{ Unwrap() error }:
		return Retryable(e.Unwrap())
	case interface{ Unwrap() []error }:
		causes := e.Unwrap()
		return len(causes) > 0 && !slices.ContainsFunc(causes, func(cause error) bool { return !Retryable(cause) })
	}
	return false
}

// Call describes the call that failed.
type Call struct {
	// Op names the operation, for example "send email broadcast".
	Op string
	// Method and Path are those of the HTTP request. Path is the template, with
	// no query; for [Client.Do] it is the path of the [Request].
	Method, Path string
	// Attempts is the number of attempts that were made.
	Attempts int

	operation operation
	delivery  Delivery
	retryable bool
}

// Delivery returns what happened to the request, over all its attempts.
func (c *Call) Delivery() Delivery { return c.delivery }

func (c *Call) isRetryable() bool { return c.retryable }

// complete fills in what is known only when the last attempt has ended.
func (c *Call) complete(attempts int, delivery Delivery, retryable bool) {
	c.Attempts, c.delivery, c.retryable = attempts, delivery, retryable
}

// ValidationError lists invalid arguments. Nothing was sent.
type ValidationError struct {
	// Op names the operation, or "new client".
	Op string
	// Fields lists every problem, under the path of the argument on the wire, or under
	// its Go name if it is not sent.
	Fields []FieldError
}

// Error lists the problems. It never quotes a value.
func (e *ValidationError) Error() string {
	return withFields(e.Op+": "+ErrValidation.Error(), e.Fields, []string{"nothing was sent"})
}

// Unwrap returns [ErrValidation].
func (e *ValidationError) Unwrap() error { return ErrValidation }

// Delivery is always [DeliveryNotSent].
func (e *ValidationError) Delivery() Delivery { return DeliveryNotSent }

// GuardError is a send that a guard refused; see [WithGuard]. Nothing was sent.
type GuardError struct {
	// Op names the operation.
	Op string
	// Err is the error of the guard.
	Err error
}

// Error quotes the error of the guard.
func (e *GuardError) Error() string {
	return oneLine(e.Op+": refused by a guard: "+fmt.Sprint(e.Err), "; nothing was sent")
}

// Unwrap returns Err.
func (e *GuardError) Unwrap() error { return e.Err }

// Delivery is always [DeliveryNotSent].
func (e *GuardError) Delivery() Delivery { return DeliveryNotSent }

func (e *GuardError) isRetryable() bool { return false }

// APIError is a refusal by the service: any status but 2xx, redirects included, or
// success false. [errors.Is] matches it with the sentinel of its status.
type APIError struct {
	Call
	StatusCode int
	// Code and Message are those of the body, "" if it has none.
	Code, Message string
	// Fields are the problems with single fields, in the order of the body.
	Fields []FieldError
	// RetryAfter is the wait that the service asked for, 0 for none.
	RetryAfter time.Duration
	// Header is that of the response; a quoted API key is replaced.
	Header http.Header
	// Body is the start of the response, at most 64 KiB.
	Body []byte

	dataFalse        bool // although success was true
	versionInBaseURL bool
}

// Error quotes the status, the message and the fields of the response.
func (e *APIError) Error() string {
	status := strconv.Itoa(e.StatusCode)
	switch text := http.StatusText(e.StatusCode); {
	case e.dataFalse:
		status += " with data false"
	case e.StatusCode >= 200 && e.StatusCode <= 299:
		status += " with success false"
	case text != "":
		status += " " + text
	}
	if e.Message != "" && e.Message != http.StatusText(e.StatusCode) {
		status += ": " + e.Message
	}
	notes := e.hints()
	if e.RetryAfter > 0 {
		notes = append(notes, "retry after "+e.RetryAfter.String())
	}
	return e.describe(status, e.Fields, notes...)
}

// hints says what is often the reason for the status.
func (e *APIError) hints() []string {
	switch {
	case e.StatusCode == http.StatusNotFound && e.versionInBaseURL:
		return []string{"the base URL ends in /v1, which the path already has"}
	case e.StatusCode == http.StatusNotFound:
		return []string{"check the base URL"}
	case e.StatusCode >= 300 && e.StatusCode <= 399 && e.StatusCode != http.StatusNotModified:
		return []string{"redirects are not followed, check the base URL"}
	}
	return nil
}

// Is matches the sentinel of the status code.
func (e *APIError) Is(target error) bool {
	switch e.StatusCode {
	case http.StatusUnprocessableEntity:
		return target == ErrValidation
	case http.StatusUnauthorized:
		return target == ErrUnauthorized
	case http.StatusForbidden:
		return target == ErrForbidden
	case http.StatusNotFound:
		return target == ErrNotFound
	case http.StatusTooManyRequests:
		return target == ErrRateLimited
	}
	return e.StatusCode >= 500 && target == ErrServer
}

// TransportError is a call that got no usable response.
type TransportError struct {
	Call
	// Err is the cause. Its text is that of an error of a known type, or a fixed
	// phrase of net/http; any other text is withheld, since it may quote the
	// request or the response. [errors.Is] and [errors.As] find every cause but a
	// *url.Error, which prints the URL with its query. context.DeadlineExceeded
	// and context.Canceled are found for the caller's own context alone.
	Err error
}

// Error says why there was no response, and what became of the request.
func (e *TransportError) Error() string { return e.describe(fmt.Sprint(e.Err), nil) }

// Unwrap returns Err.
func (e *TransportError) Unwrap() error { return e.Err }

// DecodeError is a 2xx response that can't be read. Nothing of it is returned.
// [DeliveryOf] says whether it still proves that the request was carried out.
type DecodeError struct {
	Call
	StatusCode int
	Header     http.Header
	// Body is the start of the response, at most 64 KiB.
	Body []byte
	// Err names the JSON path of what can't be read.
	Err error
}

// Error says what can't be read, and what became of the request.
func (e *DecodeError) Error() string {
	return e.describe(fmt.Sprintf("invalid response (%d): %v", e.StatusCode, e.Err), nil)
}

// Unwrap returns Err.
func (e *DecodeError) Unwrap() error { return e.Err }

// lookupError is a lookup that the service has answered, with nothing or with too much.
type lookupError struct {
	Call
	err error
}

func newLookupError(op operation, response *Response, err error) error {
	e := &lookupError{newCall(op), err}
	e.complete(response.Attempts, DeliveryAccepted, false)
	return e
}

func (e *lookupError) Error() string { return e.Op + ": " + e.err.Error() }
func (e *lookupError) Unwrap() error { return e.err }

// PageError is the error that ends a range.
type PageError struct {
	// Cursor is the cursor of the page that failed. Pass it back to resume there. If
	// Err is [ErrBadCursor], the items of that page have been yielded already.
	Cursor string
	// Next is the cursor of the page after it, if the response had one, to skip a page
	// that can't be read.
	Next string
	Err  error
}

// Error is the text of Err.
func (e *PageError) Error() string { return fmt.Sprint(e.Err) }

// Unwrap returns Err.
func (e *PageError) Unwrap() error { return e.Err }

// Delivery returns what became of the request for the page.
func (e *PageError) Delivery() Delivery {
	if e.Err == nil {
		return DeliveryUnknown
	}
	return DeliveryOf(e.Err)
}

// FieldError lists the problems with one field.
type FieldError struct {
	// Field is the path of the field as the service names it, such as
	// recipients.0.customers.1.email. A single recipient counts as recipients.0.
	Field    string
	Messages []string
}

// String returns the field with its messages.
func (f FieldError) String() string { return f.Field + " " + strings.Join(f.Messages, ", ") }
