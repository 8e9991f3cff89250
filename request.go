package messaging

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"time"

	"github.com/messaging-go/messaging/internal/arguments"
	"github.com/messaging-go/messaging/internal/exchange"
	"github.com/messaging-go/messaging/internal/service"
	"github.com/messaging-go/messaging/internal/wire"
)

// Response is a successful response of the service.
type Response struct {
	StatusCode int
	// Header is the response header. An API key that it quotes is replaced.
	Header http.Header
	// Message is the human-readable message of the service.
	Message string
	// Data is the member "data" as received, or nil for a list.
	Data json.RawMessage
	// Attempts is the number of attempts that were made. Within one attempt, net/http can
	// repeat a read on its own.
	Attempts int
	// Duration is the time that the call took, including waits.
	Duration time.Duration
}

// resource is shared by the services of all resources.
type resource struct{ core *core }

// params are the arguments of a request with a body.
type params interface {
	// validate makes the checks that WithoutValidation skips.
	validate(*arguments.Problems)
	// wire makes the other checks, and returns the value that encoding/json writes.
	wire(*arguments.Problems) any
}

// broadcast is params with an audience and a schedule, which are checked even without
// validation. The recipients are written after the value that wire returns.
type broadcast interface{ target() (Audience, *Schedule) }

// call is one request, and the way to read its response.
type call struct {
	operation *service.Operation
	query     string
	params    params // nil for no body
	// rows reads the data of a list. If it is nil, the data is kept as JSON.
	rows wire.Rows
	// accept reads the data of a successful response.
	accept func(data json.RawMessage) error
}

// call makes a call to the service, from its options to its response.
func (c *core) call(ctx context.Context, call call, opts []RequestOption) (*Response, error) {
	r := c.newRequest(ctx, call, opts)
	defer r.end()
	r.exchange.Body = call.encode(r.settings.withoutValidation, &r.problems)
	return r.run()
}

// accepts reports whether the arguments of a call with opts are valid.
func (c *core) accepts(call call, opts []RequestOption) bool {
	var problems arguments.Problems
	settings := c.perRequest.with(opts, &problems)
	call.encode(settings.withoutValidation, &problems)
	return problems.None()
}

// prepare checks and encodes a send.
func prepare(op *service.Operation, params params) (*Prepared, error) {
	var problems arguments.Problems
	body := call{operation: op, params: params}.encode(false, &problems)
	if err := validationError(op.Name, &problems); err != nil {
		return nil, err
	}
	return newPrepared(op, body), nil
}

// encode returns the body, or nil if there is none.
func (c call) encode(withoutValidation bool, p *arguments.Problems) []byte {
	if c.params == nil {
		return nil
	}
	if !withoutValidation {
		c.params.validate(p)
	}
	value := c.params.wire(p)
	var to Audience
	if params, ok := c.params.(broadcast); ok {
		var at *Schedule
		to, at = params.target()
		to.check(p)
		at.check(p)
	}
	if !p.None() {
		return nil
	}
	w := wire.NewWriter()
	w.Value(value)
	to.write(w)
	body, err := w.Finish()
	if err != nil {
		p.Add("Body", "cannot be written as JSON") // a body of Client.Do
	}
	return body
}

// request is one call in progress: its arguments, its guards, the exchange with the
// service, and what its hooks see.
type request struct {
	core     *core
	settings requestSettings
	problems arguments.Problems
	start    time.Time
	exchange exchange.Exchange
	observer *observer // nil if there are no hooks

	outcome  *exchange.Outcome // nil if nothing was sent
	returned bool              // with err, without a panic
	err      error
}

// newRequest begins a call. [request.end] must be deferred, since the caller's own code can
// panic: a transport, a guard, or the MarshalJSON of a value.
func (c *core) newRequest(ctx context.Context, call call, opts []RequestOption) *request {
	r := &request{core: c, start: time.Now()}
	x := &r.exchange
	x.Config, x.Operation, x.Query, x.Rows, x.Accept = &c.exchange, call.operation, call.query, call.rows, call.accept
	x.Context = ctx
	if ctx == nil {
		r.problems.Add("ctx", "must not be nil")
	}
	r.settings = c.perRequest.with(opts, &r.problems)
	x.SetHeaders, x.RepeatableSend, x.WithoutRetries = r.settings.setHeaders, r.settings.repeatableSend, r.settings.withoutRetries
	x.NotAfter = r.settings.notAfter
	if c.hooks != nil {
		r.observer = newObserver(c.hooks, c.endpoint, call.operation)
		x.Observer, x.Context = r.observer, r.observer.callStart(ctx)
	}
	return r
}

// run sends the request, and keeps its outcome for the hooks.
func (r *request) run() (*Response, error) {
	response, err := r.send()
	r.returned, r.err = true, err
	return response, err
}

// send sends the request and returns its response, or an error.
func (r *request) send() (*Response, error) {
	if err := validationError(r.exchange.Operation.Name, &r.problems); err != nil {
		return nil, err
	}
	if err := r.askGuards(); err != nil {
		return nil, err
	}
	r.outcome = r.exchange.Send()
	if r.outcome.Stage != exchange.Succeeded {
		return nil, newError(r.exchange.Operation, r.outcome, r.core.exchange.BaseURL)
	}
	o := r.outcome
	return &Response{StatusCode: o.StatusCode, Header: o.Header, Message: o.Message, Data: o.Data,
		Attempts: o.Attempts, Duration: time.Since(r.start)}, nil
}

// askGuards calls the guards of the client with a send.
func (r *request) askGuards() error {
	op := r.exchange.Operation
	if len(r.core.guards) == 0 || op.IsRead() {
		return nil
	}
	for _, guard := range r.core.guards {
		p := newPrepared(op, r.exchange.Body) // one for each guard, which can change it
		if err := guard(r.exchange.Context, p); err != nil {
			return &GuardError{Op: op.Name, Err: err, Step: r.stepAfterRefusal(err)}
		}
	}
	return nil
}

// stepAfterRefusal returns the step after a guard has returned err.
func (r *request) stepAfterRefusal(err error) NextStep {
	switch {
	case r.hasEnded(err):
		return NextRetry
	case errors.As(err, new(patternError)):
		return NextFixSetup
	default:
		return NextFixRequest
	}
}

// hasEnded reports whether err is the error of the context, or its cause, which net/http
// returns in its place.
func (r *request) hasEnded(err error) bool {
	ctx := r.exchange.Context
	ended, cause := ctx.Err(), context.Cause(ctx)
	return ended != nil && (errors.Is(err, ended) || reflect.ValueOf(cause).Comparable() && errors.Is(err, cause))
}

// end ends the call, and calls the CallDone hooks.
func (r *request) end() {
	r.exchange.End()
	if r.observer == nil {
		return
	}
	result := CallResult{Delivery: DeliveryOf(r.err), ErrorType: r.errorType(), Duration: time.Since(r.start)}
	attempts, delivery := r.exchange.Progress()
	result.Attempts = attempts
	if !r.returned {
		result.Delivery = Delivery(delivery)
	}
	r.observer.callDone(result)
}

// errorType returns the ErrorType of the call for hooks.
func (r *request) errorType() string {
	if !r.returned { // but panicked
		return exchange.ReasonOther
	}
	switch err := r.err.(type) {
	case nil:
		return ""
	case *ValidationError:
		return exchange.ReasonValidation
	case *GuardError:
		if r.hasEnded(err) {
			return exchange.ContextReason(r.exchange.Context.Err())
		}
		return exchange.ReasonGuard
	case *DecodeError:
		if errors.Is(err, ErrBadCursor) {
			return exchange.ReasonBadCursor
		}
		return exchange.DecodeReason(err)
	default:
		return r.outcome.Reason
	}
}
