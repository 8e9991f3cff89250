package exchange

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/messaging-go/messaging/internal/wire"
)

// classify returns the outcome of the current attempt.
func (x *Exchange) classify(err error) Outcome {
	switch {
	case x.obstacle != nil:
		return x.without(x.obstacle)
	case x.attempt.response == nil:
		return x.classifyFailure(err)
	}
	resp := x.attempt.response
	if resp.Body == nil { // the caller's own transport may leave it out
		resp.Body = http.NoBody
	}
	defer closeBody(resp)
	if resp.StatusCode >= 200 && resp.StatusCode <= 299 {
		return x.classifySuccess(resp)
	}
	r := wire.NewReader()
	defer r.Free()
	if resp.StatusCode >= 200 { // below 200, the body is the connection
		// An incomplete body is kept. A key that crosses the limit must be read to its end.
		_, _ = r.Fetch(resp, int64(x.keys.Window(wire.MaxErrorBody)))
	}
	outcome := x.rejected(resp, r.Body())
	outcome.Delivery, outcome.failure = classifyStatus(resp.StatusCode, outcome.Problem.Form, x.Operation)
	if resp.StatusCode == http.StatusNotFound && strings.HasSuffix(x.Config.BaseURL, "/v1") { // which the path already has
		outcome.failure = badSetup
	}
	return outcome
}

// classifyFailure classifies an attempt that got no response.
func (x *Exchange) classifyFailure(err error) Outcome {
	proved, noConnection := x.attempt.provedNotSent(!x.Operation.Custom), x.attempt.foundNoConnection()
	cause := x.cause(err)
	delivery, failure := classifyCause(cause, proved, noConnection, x.attempt.got.Load() > 0)
	switch cause {
	case errLooping:
		failure = cutShort
	case ErrNotAfter:
		failure = badRequest
	}
	return Outcome{Stage: NoResponse, Err: cause, Delivery: delivery, failure: failure}
}

// classifySuccess reads a 2xx response, which is a success only if its body says so.
func (x *Exchange) classifySuccess(resp *http.Response) Outcome {
	if x.Operation.Method == http.MethodHead {
		return x.succeeded(resp, wire.Envelope{})
	}
	r := wire.NewReader()
	defer r.Free()
	switch tooLarge, err := r.Fetch(resp, x.Config.MaxResponseBytes); {
	case err != nil: // the response was cut short
		return Outcome{Stage: NoResponse, Err: x.cause(err), Delivery: DeliveryUnknown, StatusCode: resp.StatusCode, failure: cutShort}
	case tooLarge:
		err := wire.TooLarge("bytes (see WithMaxResponseBytes)", x.Config.MaxResponseBytes)
		return x.unreadable(resp, r.Body(), wire.At(wire.WholeResponse, err), DeliveryUnknown)
	}
	body := r.Body()
	envelope, err := r.Envelope(body, x.Rows)
	switch {
	case err != nil:
		return x.unreadable(resp, body, err, DeliveryUnknown)
	case !envelope.Success:
		return x.rejected(resp, body)
	case x.Operation.FalseRejects && string(envelope.Data) == "false":
		outcome := x.rejected(resp, body)
		outcome.DataFalse = true
		return outcome
	case envelope.DataErr != nil:
		return x.unreadable(resp, body, envelope.DataErr, DeliveryAccepted)
	}
	if x.Accept != nil {
		err := wire.ErrMissing
		if envelope.Data != nil {
			err = x.Accept(envelope.Data)
		}
		if err != nil {
			return x.unreadable(resp, body, wire.At("data", err), DeliveryAccepted)
		}
	}
	return x.succeeded(resp, envelope)
}

func (x *Exchange) succeeded(resp *http.Response, envelope wire.Envelope) Outcome {
	return Outcome{Stage: Succeeded, Delivery: DeliveryAccepted, StatusCode: resp.StatusCode, Header: x.keys.Header(resp.Header),
		Message: envelope.Message, Data: envelope.Data, Meta: envelope.Meta}
}

func (x *Exchange) unreadable(resp *http.Response, body []byte, err error, delivery Delivery) Outcome {
	if x.keys.AreIn(err.Error()) {
		err = x.keys.Foreign(err)
	}
	return Outcome{Stage: Unreadable, Delivery: delivery, StatusCode: resp.StatusCode, Header: x.keys.Header(resp.Header),
		Body: x.keys.Body(body, wire.MaxErrorBody), Err: err, failure: unexpected}
}

// rejected returns the outcome of a response that says that the request was refused.
func (x *Exchange) rejected(resp *http.Response, body []byte) Outcome {
	body = x.keys.Body(body, wire.MaxErrorBody)
	problem := wire.ReadErrorBody(body)
	problem.Rewrite(x.keys.Text)
	retryAfter, asked := parseRetryAfter(resp.Header, time.Now())
	return Outcome{Stage: Rejected, Delivery: DeliveryRejected, StatusCode: resp.StatusCode, Header: x.keys.Header(resp.Header),
		Body: body, Problem: &problem, RetryAfter: retryAfter, asksToWait: asked, failure: badRequest}
}

var errLooping = errors.New("net/http keeps repeating the request")

// cause returns why an attempt got no response, with a text that is safe to show. It checks
// each context once, so that a context that ends in the meantime changes nothing.
func (x *Exchange) cause(err error) error {
	switch {
	case x.attempt.body.isCutOff():
		return ErrNotAfter
	case x.attempt.looping.Load():
		return errLooping
	case x.attempt.base.Err() != nil:
		return contextError(x.attempt.base)
	case context.Cause(x.attempt.ctx) == ErrAttemptTimeout:
		return &timedOut{x.AttemptTimeout}
	default:
		return x.keys.Foreign(err)
	}
}

// contextError returns why ctx is done. The caller has the cause.
func contextError(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) { // a context of another package can return anything
		return context.DeadlineExceeded
	}
	return context.Canceled
}
