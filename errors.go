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
	"unicode"
	"unicode/utf8"
)

// The sentinels to test errors for with [errors.Is].
var (
	// ErrValidation is wrong arguments: found here, or answered by the service as 422.
	ErrValidation = errors.New("invalid arguments")
	// ErrUnauthorized is HTTP 401: the API key is missing or wrong.
	ErrUnauthorized = errors.New("unauthorized")
	// ErrForbidden is HTTP 403: the API key does not allow the operation.
	ErrForbidden = errors.New("forbidden")
	// ErrNotFound is HTTP 404. Where the base URL is wrong, this is what one sees.
	ErrNotFound = errors.New("not found")
	// ErrCustomerNotFound is an empty result of [CustomersService.Get] or
	// [CustomersService.GetByEmail]. It is ErrNotFound too, so test for it first.
	ErrCustomerNotFound error = notFound("no such customer")
	// ErrRateLimited is HTTP 429. [APIError.RetryAfter] says how long to wait.
	ErrRateLimited = errors.New("rate limited")
	// ErrServer is any HTTP status from 500 on.
	ErrServer = errors.New("server error")
	// ErrBadCursor is an answer that would lead a range astray: a next page
	// without a cursor, a cursor seen before, or empty pages without end.
	ErrBadCursor = errors.New("bad cursor")
	// ErrTooLarge is an answer over the limit of [WithMaxResponseBytes], or a page
	// with far more rows than asked for.
	ErrTooLarge = errors.New("answer too large")
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

// Delivery says what became of a request.
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

// rank orders deliveries by how much is at stake in repeating the request.
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

// worse returns the delivery that leaves less room for repeating the request.
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

// DeliveryOf returns what became of the request behind err: accepted where err is
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
// carried out, when the last failure can pass: no connection, a name server that
// failed for the moment, 429, a context that ended, an error of the key source or
// the rate limiter; for a read also a timeout, a broken connection and a server
// error. For a call with [WithRepeatableSend], an unknown delivery counts as
// harmless.
//
// It is false for invalid arguments, 401, 403, 404, 422 and most other 4xx, a host
// that does not exist, a bad certificate, a proxy that refuses, a malformed API key, a
// response that can't be read, a send over a transport whose error is not known to
// pass, nil, and an error of another package. Of a [*PageError] it reports on the
// cause, and of joined errors, whether each of them is retryable.
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

// Call is what every error knows about the call that failed.
type Call struct {
	// Op names the operation, for example "send email broadcast".
	Op string
	// Method and Path are those of the HTTP request. Path is the template, with
	// no query; for [Client.Do] it is the path of the [Request].
	Method, Path string
	// Attempts is how many times the request was put on its way.
	Attempts int

	operation operation
	delivery  Delivery
	retryable bool
}

// Delivery says what became of the request, over all its attempts.
func (c *Call) Delivery() Delivery { return c.delivery }

func (c *Call) isRetryable() bool { return c.retryable }

// outcome is the delivery in words.
func (c *Call) outcome() string {
	op := c.operation
	if op.subject == "" {
		op.subject, op.done = "the request", "carried out"
	}
	switch {
	case c.delivery == DeliveryNotSent:
		return "nothing was sent"
	case c.delivery == DeliveryRejected:
		return "it was refused"
	case op.isRead():
		return "it is safe to ask again"
	case c.delivery == DeliveryAccepted:
		return op.subject + " was " + op.done + ", do not repeat it"
	default:
		return op.subject + " may have been " + op.done
	}
}

// complete fills in what is known only when the last attempt has ended.
func (c *Call) complete(attempts int, delivery Delivery, retryable bool) {
	c.Attempts, c.delivery, c.retryable = attempts, delivery, retryable
}

// describe writes the one line that is the text of an error.
func (c *Call) describe(problem string) string {
	return oneLine(c.Op+": "+problem, "; "+c.outcome())
}

// ValidationError is arguments that were refused here. Nothing was sent.
type ValidationError struct {
	// Op names the operation, or "new client".
	Op string
	// Fields lists every problem, under the path that the argument has on the
	// wire; an argument that is not sent goes by the name it has in Go.
	Fields []FieldError
}

// Error lists the problems. It never quotes a value.
func (e *ValidationError) Error() string {
	return oneLine(e.Op+": "+ErrValidation.Error()+describeFields(e.Fields), "; nothing was sent")
}

// Unwrap returns [ErrValidation].
func (e *ValidationError) Unwrap() error { return ErrValidation }

// Delivery is always [DeliveryNotSent].
func (e *ValidationError) Delivery() Delivery { return DeliveryNotSent }

// APIError is a no from the service: any status but 2xx, redirects included, or
// success false. It matches the sentinel of its status under [errors.Is].
type APIError struct {
	Call
	StatusCode int
	// Code and Message are those of the body, "" where it holds none.
	Code, Message string
	// Fields are the problems with single fields, in the order of the body.
	Fields []FieldError
	// RetryAfter is the wait that the service asked for, 0 where it asked for none.
	RetryAfter time.Duration
	// Header is that of the response; a quoted API key is replaced.
	Header http.Header
	// Body is the beginning of the answer, at most 64 KiB of it.
	Body []byte

	// dataFalse says that data was false, where success was true.
	dataFalse bool
}

// Error quotes the status, the message and the fields of the answer.
func (e *APIError) Error() string {
	status := strconv.Itoa(e.StatusCode)
	if e.dataFalse {
		status += " with data false"
	} else if e.StatusCode >= 200 && e.StatusCode <= 299 {
		status += " with success false"
	} else if text := http.StatusText(e.StatusCode); text != "" {
		status += " " + text
	}
	if e.Message != "" && e.Message != http.StatusText(e.StatusCode) {
		status += ": " + e.Message
	}
	status += describeFields(e.Fields)
	switch {
	case e.StatusCode >= 300 && e.StatusCode <= 399 && e.StatusCode != http.StatusNotModified:
		status += " (redirects are not followed: check the base URL)"
	case e.StatusCode == http.StatusNotFound && e.Message == "":
		status += " (check the base URL)"
	}
	return e.describe(status)
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

// Error tells the cause, and what became of the request.
func (e *TransportError) Error() string { return e.describe(fmt.Sprint(e.Err)) }

// Unwrap returns Err.
func (e *TransportError) Unwrap() error { return e.Err }

// DecodeError is a 2xx answer that can't be understood. Nothing of it is
// returned. [DeliveryOf] tells whether it still said that the request was
// carried out.
type DecodeError struct {
	Call
	StatusCode int
	Header     http.Header
	// Body is the beginning of the answer, at most 64 KiB of it.
	Body []byte
	// Err names the JSON path of what can't be understood.
	Err error
}

// Error tells what can't be understood, and what became of the request.
func (e *DecodeError) Error() string {
	return e.describe(fmt.Sprintf("can't understand the answer (%d): %v", e.StatusCode, e.Err))
}

// Unwrap returns Err.
func (e *DecodeError) Unwrap() error { return e.Err }

// PageError is what a range over pages ends with.
type PageError struct {
	// Cursor is that of the page that failed. Pass it back to resume there. Where
	// Err is [ErrBadCursor], the items of that page have been yielded already.
	Cursor string
	// Next is the cursor of the page after it, where the answer still told, to
	// skip a page that can't be read.
	Next string
	Err  error
}

// Error is the text of Err.
func (e *PageError) Error() string { return fmt.Sprint(e.Err) }

// Unwrap returns Err.
func (e *PageError) Unwrap() error { return e.Err }

// Delivery says what became of the request for the page.
func (e *PageError) Delivery() Delivery {
	if e.Err == nil {
		return DeliveryUnknown
	}
	return DeliveryOf(e.Err)
}

// FieldError is what is wrong with one field.
type FieldError struct {
	// Field is the path of the field as the service names it, such as
	// recipients.0.customers.1.email. A single recipient counts as recipients.0.
	Field    string
	Messages []string
}

// String is the field with its messages.
func (f FieldError) String() string { return f.Field + " " + strings.Join(f.Messages, ", ") }

// maxDescribed is how many fields an error text goes into.
const maxDescribed = 8

func describeFields(fields []FieldError) string {
	var text strings.Builder
	for i, f := range fields {
		if i == maxDescribed {
			fmt.Fprintf(&text, "; and %d more", len(fields)-maxDescribed)
			break
		}
		text.WriteString([]string{": ", "; "}[min(i, 1)])
		text.WriteString(f.String())
	}
	return text.String()
}

// maxErrorText is about how many characters the text of an error has.
const maxErrorText = 300

// oneLine shortens text so that it fits on a line together with ending, and
// escapes what does not print.
func oneLine(text, ending string) string {
	room := maxErrorText - utf8.RuneCountInString(ending)
	var line strings.Builder
	for i, r := range text {
		switch {
		case room <= 0:
			return line.String() + "…" + ending
		case r == utf8.RuneError || !unicode.IsPrint(r):
			_, size := utf8.DecodeRuneInString(text[i:])
			escaped := strconv.QuoteToASCII(text[i : i+size])
			line.WriteString(escaped[1 : len(escaped)-1])
			room -= len(escaped) - 2
		default:
			line.WriteRune(r)
			room--
		}
	}
	return line.String() + ending
}
