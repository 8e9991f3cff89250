package messaging

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/messaging-go/messaging/internal/arguments"
	"github.com/messaging-go/messaging/internal/exchange"
	"github.com/messaging-go/messaging/internal/service"
	"github.com/messaging-go/messaging/internal/wire"
)

// Sentinel errors to test for with [errors.Is].
var (
	// ErrValidation is returned when arguments are invalid, according to this package or
	// to the service (HTTP 422).
	ErrValidation = errors.New("invalid arguments")
	// ErrUnauthorized is returned for HTTP 401: the API key is missing or wrong.
	ErrUnauthorized = errors.New("unauthorized")
	// ErrForbidden is returned for HTTP 403: the API key does not allow the operation.
	ErrForbidden = errors.New("forbidden")
	// ErrNotFound is returned for HTTP 404. The reason is often a wrong base URL or a proxy, so
	// it does not by itself mean that a customer or an event does not exist.
	ErrNotFound = errors.New("not found")
	// ErrCustomerNotFound is returned by [CustomersService.Get] and
	// [CustomersService.GetByEmail] when no customer matches.
	ErrCustomerNotFound = errors.New("no such customer")
	// ErrEventNotFound is returned by [EventsService.GetByName] when no event has the name.
	ErrEventNotFound = errors.New("no such event")
	// ErrEventAmbiguous is returned by [EventsService.GetByName] and [FindEvent] when several
	// events have the name and differ, and by [EventsService.Ensure] when only some of them
	// fit.
	ErrEventAmbiguous = errors.New("several events have that name, and they differ")
	// ErrEventDiffers is returned by [EventsService.Ensure] when no event with that name
	// fits, or when the event was created under another name.
	ErrEventDiffers = errors.New("the event is defined differently")
	// ErrRateLimited is returned for HTTP 429. [APIError.RetryAfter] is the time to wait.
	ErrRateLimited = errors.New("rate limited")
	// ErrServer is returned for an HTTP status of 500 or above.
	ErrServer = errors.New("server error")
	// ErrBadCursor is returned when following a page would repeat pages or end the list
	// early; see the package documentation.
	ErrBadCursor = errors.New("bad cursor")
	// ErrTooLarge is returned for a response over the limit of [WithMaxResponseBytes], for
	// a page with far more rows than requested, and for a page whose rows hold more than
	// 250,000 list elements and unknown members.
	ErrTooLarge = wire.ErrTooLarge
	// ErrAttemptTimeout is returned when an attempt exceeds its time limit; see
	// [WithAttemptTimeout]. It is a [net.Error] whose Timeout method returns true.
	ErrAttemptTimeout = exchange.ErrAttemptTimeout
	// ErrNotAfter is returned when a request, or the retry of one, would begin after the
	// time set by [WithNotAfter].
	ErrNotAfter = exchange.ErrNotAfter
)

// Delivery is what happened to a request.
type Delivery uint8

// The numbers of the constants are those of package exchange.

const (
	// DeliveryUnknown is the zero value: the request may have been carried out.
	// Find out before sending it again.
	DeliveryUnknown Delivery = iota
	// DeliveryNotSent means that the service certainly did not receive the request,
	// and will not. [NextStepOf] returns whether to send it again.
	DeliveryNotSent
	// DeliveryRejected means that the service refused the request and did nothing.
	DeliveryRejected
	// DeliveryAccepted means that the request was carried out. An error then concerns
	// only the response: do not repeat the call.
	DeliveryAccepted
)

// String returns the delivery in words, such as "not sent".
func (d Delivery) String() string { return strings.ReplaceAll(exchange.Delivery(d).Name(), "_", " ") }

// MarshalText returns the delivery as JSON, logs and metrics have it: "accepted", "rejected",
// "not_sent" or "unknown".
func (d Delivery) MarshalText() ([]byte, error) { return []byte(exchange.Delivery(d).Name()), nil }

// UnmarshalText reads what MarshalText returns. Any other text is an error.
func (d *Delivery) UnmarshalText(text []byte) error {
	for known := range DeliveryAccepted + 1 {
		if string(text) == exchange.Delivery(known).Name() {
			*d = known
			return nil
		}
	}
	return fmt.Errorf("messaging: unknown delivery %q", text)
}

// DeliveryOf returns what happened to the request behind err, for logs and metrics. To
// decide what to do next, use [NextStepOf] instead. DeliveryOf returns [DeliveryAccepted] if
// err is nil, and the worst delivery if several errors are joined. Joined errors without a
// Delivery method, their own or wrapped, are ignored. If none has one, it returns
// [DeliveryUnknown]. The delivery matters for sends. A read changes nothing.
func DeliveryOf(err error) Delivery {
	if err == nil {
		return DeliveryAccepted
	}
	delivery, _ := deliveryIn(err)
	return delivery
}

// deliveryIn returns the delivery of err, and whether it has one.
func deliveryIn(err error) (delivery Delivery, has bool) {
	switch e := err.(type) {
	case interface{ Delivery() Delivery }:
		return e.Delivery(), true
	case interface{ Unwrap() error }:
		return deliveryIn(e.Unwrap())
	case interface{ Unwrap() []error }:
		worst := exchange.DeliveryNotSent
		for _, cause := range e.Unwrap() {
			if of, ok := deliveryIn(cause); ok {
				worst, has = worst.Worse(exchange.Delivery(of)), true
			}
		}
		if has {
			return Delivery(worst), true
		}
	}
	return DeliveryUnknown, false
}

// Call describes the call that failed.
type Call struct {
	Operation string // such as "send email broadcast"
	// Method and Path are those of the HTTP request. Path is the template without a
	// query. For [Client.Do], it is the path of the [Request].
	Method, Path string
	// Attempts is the number of attempts that were made.
	Attempts int
	// Delivered is what happened to the request over all its attempts, and Step is what to
	// do next. A test can set them to make any error. [DeliveryOf] and [NextStepOf] return
	// them.
	Delivered Delivery
	Step      NextStep

	operation *service.Operation // nil for a Call that another package made
}

// Delivery returns Delivered.
func (c *Call) Delivery() Delivery { return c.Delivered }

// NextStep returns Step.
func (c *Call) NextStep() NextStep { return c.Step }

// failedCall describes a call for its error.
func failedCall(op *service.Operation, attempts int, delivery Delivery, next NextStep) Call {
	return Call{Operation: op.Name, Method: op.Method, Path: op.Path, Attempts: attempts,
		Delivered: delivery, Step: next, operation: op}
}

// newError returns the error for the outcome of a call.
func newError(op *service.Operation, o *exchange.Outcome, baseURL string) error {
	call := failedCall(op, o.Attempts, Delivery(o.Delivery), NextStep(o.Step))
	cause := o.Err
	if o.Earlier != nil {
		cause = &interruptedError{cause, newError(op, o.Earlier, baseURL)}
	}
	switch o.Stage {
	case exchange.NoResponse:
		return &TransportError{Call: call, Err: cause}
	case exchange.Unreadable:
		return &DecodeError{Call: call, StatusCode: o.StatusCode, Header: o.Header, Body: o.Body, Err: cause}
	case exchange.Rejected:
		var fields []FieldProblem
		for _, field := range o.Problem.Fields {
			fields = append(fields, FieldProblem(field))
		}
		return &APIError{Call: call, StatusCode: o.StatusCode, Code: o.Problem.Code, Message: o.Problem.Message,
			Fields: fields, RetryAfter: o.RetryAfter, Header: o.Header, Body: o.Body,
			form: o.Problem.Form, dataFalse: o.DataFalse, versionInBaseURL: strings.HasSuffix(baseURL, "/v1")}
	case exchange.Succeeded:
		return nil
	default: // a stage that this function does not know
		call.Delivered, call.Step = DeliveryUnknown, NextCheck
		return &TransportError{Call: call, Err: errUnknownStage}
	}
}

var errUnknownStage = errors.New("the outcome of the call is unknown")

// interruptedError reports why a call ended while it was waiting to retry, and the failure
// of the attempt before.
type interruptedError struct{ why, earlier error }

func (e *interruptedError) Error() string { return e.why.Error() + " while waiting to retry" }

func (e *interruptedError) Unwrap() []error { return []error{e.why, e.earlier} }

// newClientOp is the Operation of a ValidationError of NewClient.
const newClientOp = "new client"

// validationError returns the problems with the arguments of a call, or nil if there are
// none.
func validationError(op string, p *arguments.Problems, next NextStep) error {
	if p.None() {
		return nil
	}
	var fields []FieldProblem
	for path, message := range p.All() {
		if last := len(fields) - 1; last >= 0 && fields[last].Field == path {
			fields[last].Messages = append(fields[last].Messages, message)
		} else {
			fields = append(fields, FieldProblem{Field: path, Messages: []string{message}})
		}
	}
	return &ValidationError{Operation: op, Fields: fields, Step: next}
}

// ValidationError reports invalid arguments. Nothing was sent.
type ValidationError struct {
	// Operation names the operation, or "new client".
	Operation string
	// Fields lists every problem. A field of params has its path on the wire, and an
	// argument of a function has its Go name.
	Fields []FieldProblem
	// Step is what to do next. [NextStepOf] returns it, or NextFixRequest if it is zero.
	Step NextStep
}

// Error lists the problems. It quotes no value, except an invalid pattern of
// [WithAllowOnly].
func (e *ValidationError) Error() string {
	var notes []string
	if e.Operation != newClientOp {
		notes = []string{"nothing was sent"}
	}
	return withFields(e.Operation+": "+ErrValidation.Error(), e.Fields, notes)
}

// Unwrap returns [ErrValidation].
func (e *ValidationError) Unwrap() error {
	return ErrValidation
}

// Delivery returns [DeliveryNotSent].
func (e *ValidationError) Delivery() Delivery { return DeliveryNotSent }

// NextStep returns Step, or [NextFixRequest] if it is zero.
func (e *ValidationError) NextStep() NextStep { return cmp.Or(e.Step, NextFixRequest) }

// GuardError reports a send that a guard refused, or could not decide about; see [WithGuard].
// Nothing was sent.
type GuardError struct {
	Operation string
	// Err is the error that the guard returned, or the Err of the *GuardError that it returned.
	Err error
	// Step is what to do next. [NextStepOf] returns it, or NextFixRequest if it is zero.
	Step NextStep
}

// Error quotes the error of the guard.
func (e *GuardError) Error() string {
	return oneLine(e.Operation+": refused by a guard: "+fmt.Sprint(e.Err), "; nothing was sent")
}

// Unwrap returns Err.
func (e *GuardError) Unwrap() error {
	return e.Err
}

// Delivery returns [DeliveryNotSent].
func (e *GuardError) Delivery() Delivery { return DeliveryNotSent }

// NextStep returns Step, or [NextFixRequest] if it is zero.
func (e *GuardError) NextStep() NextStep { return cmp.Or(e.Step, NextFixRequest) }

// APIError reports a refusal by the service: any status except 2xx, including redirects, or
// success false. [errors.Is] matches it with the sentinel error for its status.
//
// For an APIError that you make, such as one of a mock, set at least StatusCode. If Delivered
// and Step are zero, [DeliveryOf] and [NextStepOf] return what that status means for a trigger.
// An empty Body counts as one from the service.
type APIError struct {
	Call
	StatusCode int
	// Code and Message come from the body. They are "" if the body has none.
	Code, Message string
	// Fields lists the problems with single fields, in the order of the body.
	Fields []FieldProblem
	// RetryAfter is the wait that the service asked for, or 0 if it asked for none.
	RetryAfter time.Duration
	// Header is the response header. An API key that it quotes is replaced.
	Header http.Header
	// Body is the start of the response, at most 64 KiB.
	Body []byte

	form             wire.Form
	dataFalse        bool // although success was true
	versionInBaseURL bool
}

// outcome returns the call with what happened to the request, and the form of the response. For
// an error that other code made, they follow from the status and the body.
func (e *APIError) outcome() (Call, wire.Form) {
	call, form := e.Call, e.form
	if call.operation == nil && call.Delivered == DeliveryUnknown && call.Step == NextCheck && e.StatusCode != 0 {
		form = wire.FromService
		if len(e.Body) > 0 {
			form = wire.ReadErrorBody(e.Body).Form
		}
		delivery, step := exchange.AfterRefusal(service.TriggerEvent, e.StatusCode, form)
		call.Delivered, call.Step = Delivery(delivery), NextStep(step)
	}
	return call, form
}

// Delivery returns what happened to the request.
func (e *APIError) Delivery() Delivery {
	call, _ := e.outcome()
	return call.Delivered
}

// NextStep returns what to do next.
func (e *APIError) NextStep() NextStep {
	call, _ := e.outcome()
	return call.Step
}

// Error quotes the status, the message and the fields of the response.
func (e *APIError) Error() string {
	call, form := e.outcome()
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
	notes := e.hints(call.Step, form)
	if e.RetryAfter > 0 {
		notes = append(notes, "retry after "+e.RetryAfter.String())
	}
	return call.describe(status, e.Fields, notes...)
}

// hints returns the likely reason for the status.
func (e *APIError) hints(step NextStep, form wire.Form) []string {
	switch isJSON := form == wire.JSON || form == wire.FromService; {
	case e.StatusCode == http.StatusUnauthorized:
		return []string{"check the API key"}
	case e.StatusCode == http.StatusNotFound && e.versionInBaseURL:
		return []string{"the base URL ends in /v1, which the path already has"}
	case e.StatusCode == http.StatusForbidden && form != wire.Markup:
		return []string{"check what the API key may do"}
	case e.StatusCode >= 300 && e.StatusCode <= 399 && e.StatusCode != http.StatusNotModified:
		return []string{"redirects are not followed, check the base URL"}
	case step == NextFixSetup && e.StatusCode <= 499 && !isJSON:
		return []string{"the response is " + formNames[form], checkURLOrProxy}
	case e.StatusCode == http.StatusNotFound && step == NextFixRequest:
		return []string{"check what the request names, or the base URL if every request gets this"}
	case e.StatusCode == http.StatusNotFound:
		return []string{"check the base URL"}
	}
	return nil
}

var formNames = map[wire.Form]string{wire.Empty: "empty", wire.Markup: "HTML or XML, not JSON", wire.Text: "not JSON"}

// checkURLOrProxy is the advice after a response that does not come from the service.
const checkURLOrProxy = "check the base URL, or a proxy in between"

// Is reports whether target is the sentinel error for the status.
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

// TransportError reports a call that got no usable response.
type TransportError struct {
	Call
	// Err is the cause. The text of an error of other code, such as your own transport, is
	// shown without the key and the queries of URLs, up to its first quotation mark.
	// [errors.Is] and [errors.As] find it, except for a *url.Error. They find
	// context.DeadlineExceeded and context.Canceled only if the context of the call ended;
	// [context.Cause] returns why.
	Err error
}

// Error describes why there was no usable response, and what happened to the request.
func (e *TransportError) Error() string {
	return e.describe(fmt.Sprint(e.Err), nil)
}

// Unwrap returns Err.
func (e *TransportError) Unwrap() error {
	return e.Err
}

// DecodeError reports a 2xx response that cannot be read. The call returns no part of it.
// [DeliveryOf] reports whether the response still proves that the request was carried out.
type DecodeError struct {
	Call
	StatusCode int
	Header     http.Header
	Body       []byte // like that of an [APIError]
	// Err names the JSON path of the value that cannot be read.
	Err error
}

// Error describes what cannot be read, and what happened to the request.
func (e *DecodeError) Error() string {
	var notes []string
	if wire.IsForeign(e.Err) {
		notes = []string{checkURLOrProxy}
	}
	return e.describe(fmt.Sprintf("invalid response (%d): %v", e.StatusCode, e.Err), nil, notes...)
}

// Unwrap returns Err.
func (e *DecodeError) Unwrap() error {
	return e.Err
}

// lookupError reports a lookup that succeeded but found no match, or several.
type lookupError struct {
	Call
	err error
}

func newLookupError(op *service.Operation, attempts int, err error) error {
	return &lookupError{failedCall(op, attempts, DeliveryAccepted, NextFixRequest), err}
}

func (e *lookupError) Error() string { return e.Operation + ": " + e.err.Error() }
func (e *lookupError) Unwrap() error { return e.err }

// PageError reports the failure that ended a range.
type PageError struct {
	// Cursor is the cursor of the page that failed. Pass it back to resume there. If
	// Err is [ErrBadCursor], the items of that page have already been yielded.
	Cursor string
	// Next is the cursor of the page after the one that failed, if the response had one.
	// Pass it back to skip a page that cannot be read.
	Next string
	Err  error
}

// Error returns the text of Err.
func (e *PageError) Error() string {
	return fmt.Sprint(e.Err)
}

// Unwrap returns Err.
func (e *PageError) Unwrap() error {
	return e.Err
}

// Delivery returns [DeliveryOf] Err.
func (e *PageError) Delivery() Delivery {
	delivery, _ := deliveryIn(e.Err)
	return delivery
}

// NextStep returns [NextStepOf] Err.
func (e *PageError) NextStep() NextStep {
	step, _ := stepIn(e.Err)
	return step
}

// FieldProblem is what is wrong with one field.
type FieldProblem struct {
	// Field is the path of the field as the service names it, such as
	// recipients.0.customers.1.email. A single recipient has the path recipients.0.
	Field    string
	Messages []string
}

// String returns the field followed by its messages.
func (f FieldProblem) String() string { return f.Field + " " + strings.Join(f.Messages, ", ") }

// describe returns the text of an error on one line: the operation, the problem with its
// fields, notes, the number of attempts, and what happened to the request.
func (c *Call) describe(problem string, fields []FieldProblem, notes ...string) string {
	if c.Attempts > 1 {
		notes = append(notes, fmt.Sprintf("after %d attempts", c.Attempts))
	}
	return withFields(c.title()+": "+problem, fields, append(notes, c.inWords()))
}

// title returns the operation with its method and path. It leaves out the path of
// [Client.Do], which can hold personal data.
func (c *Call) title() string {
	switch {
	case c.Method == "" || strings.HasPrefix(c.Operation, c.Method+" ") && c.isCustom():
		return c.Operation
	case c.isCustom() || c.Path == "":
		return c.Operation + ": " + c.Method
	default:
		return c.Operation + ": " + c.Method + " " + c.Path
	}
}

func (c *Call) isCustom() bool { return c.operation != nil && c.operation.Custom }

// inWords returns what happened to the request.
func (c *Call) inWords() string {
	subject, done, isRead := "the request", "carried out", false
	if op := c.operation; op != nil {
		subject, done, isRead = cmp.Or(op.Subject, subject), cmp.Or(op.Done, done), op.IsRead()
	}
	switch {
	case c.Delivered == DeliveryNotSent:
		return "nothing was sent"
	case c.Delivered == DeliveryRejected:
		return "the request was refused"
	case isRead && c.Step == NextRetry:
		return "it is safe to retry"
	case isRead:
		return "nothing was changed"
	case c.Delivered == DeliveryAccepted:
		return subject + " was " + done + ", do not repeat it"
	default:
		return subject + " may have been " + done
	}
}

// withFields returns text with as many fields as fit, and the notes.
func withFields(text string, fields []FieldProblem, notes []string) string {
	ending := ""
	for _, note := range notes {
		ending += separator + note
	}
	room := maxErrorText - utf8.RuneCountInString(text+ending)
	for i, field := range fields {
		part := separator + field.String()
		if i == 0 {
			part = ": " + field.String()
		}
		room -= utf8.RuneCountInString(part)
		more := fmt.Sprintf("%sand %d more", separator, len(fields)-i)
		switch {
		case i == maxFields || i > 0 && room < len(more):
			return oneLine(text, more+ending)
		case room < len(more) && len(fields) > 1:
			return oneLine(text+part, fmt.Sprintf("%sand %d more", separator, len(fields)-1)+ending)
		}
		text += part
	}
	return oneLine(text, ending)
}

// maxFields is the largest number of fields in the text of an error.
const maxFields = 8

// separator is between the problems and notes in the text of an error.
const separator = "; "

// maxErrorText is the approximate limit on the text of an error, in characters.
const maxErrorText = 300

// oneLine shortens text so that it fits on a line together with ending, and escapes
// what is not printable.
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
