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
	// Meta is the member "meta" as received, next to the data, or nil if there is none. With
	// it, a list that you read with [Client.Do] can be paged. It is nil for the lists of this
	// package; see [Page].
	Meta json.RawMessage
	// Attempts is the number of attempts that were made. Within one attempt, net/http can
	// repeat a read on its own.
	Attempts int
	Duration time.Duration // including waits
}

// resource is shared by the services of all resources.
type resource struct{ core *core }

// params are the arguments of a send.
type params interface {
	// validate makes the checks that WithoutValidation skips.
	validate(*arguments.Problems)
	// wire makes the other checks, and returns the body. encoding/json writes it, and after
	// that, it writes the rest of itself if it is partly.
	wire(*arguments.Problems) any
}

// partly is a body with a member that is too large for encoding/json.
type partly interface{ writeRest(*wire.Writer) }

// encode checks params and returns the body, or nil if there is a problem.
func encode(params params, validate bool, p *arguments.Problems) []byte {
	if validate {
		params.validate(p)
	}
	body := params.wire(p)
	if !p.None() {
		return nil
	}
	return write(body, p)
}

func write(body any, p *arguments.Problems) []byte {
	w := wire.NewWriter()
	w.Value(body)
	if body, ok := body.(partly); ok {
		body.writeRest(w)
	}
	written, err := w.Finish()
	if err != nil {
		p.Add("Body", "cannot be written as JSON") // a body of Client.Do
	}
	return written
}

// prepare checks and encodes a send.
func prepare(op *service.Operation, params params) (*Prepared, error) {
	var problems arguments.Problems
	body := encode(params, true, &problems)
	if err := validationError(op.Name, &problems, NextFixRequest); err != nil {
		return nil, err
	}
	return newPrepared(op, body), nil
}

// accepts reports whether the arguments of a send with opts are valid.
func (c *core) accepts(params params, opts []RequestOption) bool {
	var problems arguments.Problems
	settings := c.perRequest.with(opts, &problems)
	encode(params, !settings.withoutValidation, &problems)
	return problems.None()
}

// send makes a send, from its options to its response. accept checks the data of the
// response, and is nil for a send without data.
func (c *core) send(ctx context.Context, op *service.Operation, params params, accept func(json.RawMessage) error,
	opts []RequestOption) (*Response, error) {
	call := c.begin(ctx, op, opts)
	defer call.finish()
	call.exchange.Accept = accept
	call.exchange.Body = encode(params, !call.settings.withoutValidation, &call.problems)
	return call.perform()
}

// call is one call in progress: its arguments, its guards, the exchange with the service,
// and what its hooks see.
type call struct {
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

// begin begins a call. [call.finish] must be deferred, since the caller's own code can panic: a
// transport, a guard, or the MarshalJSON of a value.
func (c *core) begin(ctx context.Context, op *service.Operation, opts []RequestOption) *call {
	r := &call{core: c, start: time.Now()}
	checkContext(ctx, &r.problems)
	r.settings = c.perRequest.with(opts, &r.problems)
	x, s := &r.exchange, &r.settings
	x.Config, x.Operation, x.Context = &c.engine, op, ctx
	x.SetHeaders, x.RepeatableSend, x.NotAfter = s.setHeaders, s.repeatableSend, s.notAfter
	x.Retry, x.AttemptTimeout = s.retry, s.attemptTimeout
	if s.withoutRetries {
		x.Retry.MaxAttempts = 1
	}
	if c.hooks != nil {
		r.observer = newObserver(c.hooks, c.callInfo, op)
		x.Observer, x.Context = r.observer, r.observer.callStart(ctx)
	}
	return r
}

func checkContext(ctx context.Context, p *arguments.Problems) {
	if ctx == nil {
		p.Add("ctx", "must not be nil")
	}
}

// perform sends the request, unless an argument is invalid or a guard refuses it.
func (c *call) perform() (*Response, error) {
	op := c.exchange.Operation
	err := validationError(op.Name, &c.problems, NextFixRequest)
	if err == nil {
		err = c.core.askGuards(c.exchange.Context, op, c.exchange.Body)
	}
	if err == nil {
		c.outcome = c.exchange.Send()
		err = newError(op, c.outcome, c.core.engine.BaseURL)
	}
	c.returned, c.err = true, err
	if err != nil {
		return nil, err
	}
	o := c.outcome
	return &Response{StatusCode: o.StatusCode, Header: o.Header, Message: o.Message, Data: o.Data, Meta: o.Meta,
		Attempts: o.Attempts, Duration: time.Since(c.start)}, nil
}

// askGuards calls the guards with a send.
func (c *core) askGuards(ctx context.Context, op *service.Operation, body []byte) error {
	if len(c.guards) == 0 || op.IsRead() {
		return nil
	}
	request := &encodedSend{operation: op, body: body}
	for _, guard := range c.guards {
		// A guard can change the Prepared that it is given, but not the request.
		if err := guard(ctx, request.prepared()); err != nil {
			refused := &GuardError{Operation: op.Name, Err: err, Step: NextFixRequest}
			if own, ok := err.(*GuardError); ok && own != nil && own.Err != nil && (own.Step == NextRetry || own.Step == NextFixSetup) {
				refused.Err, refused.Step = own.Err, own.Step
			}
			if hasEnded(ctx, err) {
				refused.Step = NextRetry
			}
			return refused
		}
	}
	return nil
}

// hasEnded reports whether err is the error of the context, or its cause, which net/http
// returns in its place.
func hasEnded(ctx context.Context, err error) bool {
	ended, cause := ctx.Err(), context.Cause(ctx)
	return ended != nil && (errors.Is(err, ended) || reflect.ValueOf(cause).Comparable() && errors.Is(err, cause))
}

// finish ends the call, and calls the CallDone hooks.
func (c *call) finish() {
	c.exchange.End()
	if c.observer == nil {
		return
	}
	attempts, delivery := c.exchange.Progress()
	if c.returned {
		delivery = exchange.Delivery(DeliveryOf(c.err))
	}
	result := CallResult{Attempts: attempts, Delivery: Delivery(delivery), ErrorType: c.errorType(), Duration: time.Since(c.start)}
	c.observer.callDone(result)
}

// errorType returns the ErrorType of the call for hooks.
func (c *call) errorType() string {
	if !c.returned { // but panicked
		return exchange.ReasonOther
	}
	switch err := c.err.(type) {
	case nil:
		return ""
	case *ValidationError:
		return exchange.ReasonValidation
	case *GuardError:
		if hasEnded(c.exchange.Context, err) {
			return exchange.ContextReason(c.exchange.Context.Err())
		}
		return exchange.ReasonGuard
	case *DecodeError:
		if errors.Is(err, ErrBadCursor) {
			return exchange.ReasonBadCursor
		}
		return exchange.DecodeReason(err)
	default:
		return c.outcome.Reason()
	}
}
