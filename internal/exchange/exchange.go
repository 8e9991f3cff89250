// Package exchange makes one call to the service: its attempts, the evidence of what
// happened to each of them, and the retries.
package exchange

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/messaging-go/messaging/internal/redact"
	"github.com/messaging-go/messaging/internal/service"
	"github.com/messaging-go/messaging/internal/wire"
)

// Config is what all calls of a client share. A call does not change it.
type Config struct {
	BaseURL string // no trailing slash
	HTTP    http.Client
	// OwnTransport means that NewClient built the transport of HTTP.
	OwnTransport     bool
	Key              func(context.Context) (string, error)
	KeyRotates       bool                                     // Key can return another key each time
	UserAgent        []string                                 // as a header holds it
	Limiter          interface{ Wait(context.Context) error } // nil for none
	Logger           *slog.Logger                             // nil for none
	MaxResponseBytes int64
}

// Exchange is one call. go-retryablehttp drives it: RoundTrip makes an attempt, and
// checkRetry classifies the attempt and decides whether to make another.
//
// Set the exported fields, defer [Exchange.End], and call [Exchange.Send] once. All
// state of the exchange is in this struct, so that it takes one allocation.
type Exchange struct {
	Config    *Config
	Operation *service.Operation
	Query     string
	Body      []byte // nil for none
	// Rows reads the data of a list. If it is nil, the data is kept as JSON.
	Rows wire.Rows
	// Accept checks the data of a successful response. It is nil if any data is valid.
	Accept         func(data json.RawMessage) error
	SetHeaders     func(http.Header) // nil for no further headers
	RepeatableSend bool              // an unknown delivery may be retried
	Retry          RetryPolicy
	WithoutRetries bool
	AttemptTimeout AttemptTimeout
	NotAfter       TimeLimit
	Observer       Observer // nil for none
	// Context is the caller's, or the one that a hook returned in its place.
	Context context.Context

	outcome  Outcome // of the last attempt
	delivery Delivery
	attempts int  // that were begun
	waiting  bool // between two attempts

	keys     redact.Keys // that were sent
	attempt  *attempt    // the current one
	obstacle *obstacle   // why there is no current attempt
	first    attempt     // not allocated separately, since most calls make only one
	nextKey  string      // for the retry of a 401, or ""
	rotated  bool        // a 401 was retried

	// These fields are shared by all attempts. Each attempt adds its own key and body.
	request retryablehttp.Request
	header  http.Header
	http    http.Client
	retry   retryablehttp.Client
}

// Send makes the call. The outcome belongs to x.
func (x *Exchange) Send() *Outcome {
	x.delivery = DeliveryNotSent
	if err := x.prepare(); err != nil {
		x.outcome = Outcome{Stage: NoResponse, Err: redact.WithoutURL(err), Reason: ReasonOther, failure: badRequest}
		return x.describe(&x.outcome)
	}
	x.http = http.Client{Transport: x, CheckRedirect: x.Config.HTTP.CheckRedirect, Jar: x.Config.HTTP.Jar}
	x.retry = retryablehttp.Client{
		HTTPClient: &x.http,
		RetryMax:   x.maxAttempts() - 1,
		CheckRetry: x.checkRetry,
		// The wait is the one that checkRetry decided on.
		Backoff:      func(decided, _ time.Duration, _ int, _ *http.Response) time.Duration { return decided },
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
	// checkRetry has already recorded the outcome, and closed the body.
	_, _ = x.retry.Do(&x.request)
	if x.waiting {
		err := contextError(x.Context)
		x.outcome = x.without(&obstacle{err, x.outcome.failure, ContextReason(err)})
	}
	return x.describe(&x.outcome)
}

// End ends the last attempt. It must be deferred, since the caller's own transport can
// panic.
func (x *Exchange) End() {
	if x.attempt == nil {
		return
	}
	x.attempt.stop()
	x.delivery = x.delivery.after(DeliveryUnknown)
	x.outcome = Outcome{Delivery: DeliveryUnknown, Reason: ReasonOther}
	x.observe()
}

// Progress returns the number of attempts that were begun, and what is known about the
// delivery if Send did not return.
func (x *Exchange) Progress() (attempts int, delivery Delivery) {
	if x.attempts == 0 {
		return 0, DeliveryNotSent
	}
	return x.attempts, x.delivery
}

// describe adds what is known about the whole call to an outcome.
func (x *Exchange) describe(o *Outcome) *Outcome {
	o.Attempts, o.Delivery, o.Step = x.attempts, x.delivery, stepAfterCall(o.failure, x.Operation.IsRead(), x.RepeatableSend, x.delivery)
	return o
}

// without returns the outcome of a call that an obstacle ended before its next attempt.
func (x *Exchange) without(o *obstacle) Outcome {
	outcome := Outcome{Stage: NoResponse, Err: o.err, Delivery: DeliveryNotSent, Reason: o.reason, failure: o.failure}
	if x.outcome.Stage != None { // the last attempt failed
		before := x.outcome
		outcome.Earlier = x.describe(&before)
	}
	return outcome
}

func (x *Exchange) maxAttempts() int {
	if x.WithoutRetries {
		return 1
	}
	return x.Retry.MaxAttempts
}

// contentJSON is a header value that all requests share, so nothing may change it.
var contentJSON = []string{"application/json"}

// prepare builds the request that every attempt starts from. The request has no body yet,
// because go-retryablehttp would add a GetBody, which lets net/http send the body again.
func (x *Exchange) prepare() error {
	target := x.Config.BaseURL + "/" + strings.TrimPrefix(x.Operation.Path, "/")
	if x.Query != "" {
		target += "?" + x.Query
		x.keys.UseQuery(x.Query)
	}
	req, err := http.NewRequestWithContext(x.Context, x.Operation.Method, target, nil)
	if err != nil {
		return err
	}
	req.Header["Accept"] = contentJSON
	req.Header["User-Agent"] = x.Config.UserAgent
	if x.Body != nil {
		req.Header["Content-Type"] = contentJSON
	}
	if x.SetHeaders != nil {
		x.SetHeaders(req.Header)
	}
	x.request.Request, x.header = req, req.Header
	if x.Config.HTTP.Jar != nil || !x.Config.OwnTransport || x.Observer != nil { // which may change the header of an attempt
		x.header = req.Header.Clone()
	}
	return nil
}

// RoundTrip makes one attempt. Because x is the transport, go-retryablehttp does not find
// the CloseIdleConnections method of the real one, which it would call after every failure.
func (x *Exchange) RoundTrip(req *http.Request) (*http.Response, error) {
	x.waiting = false
	var key string
	if key, x.obstacle = x.admit(); x.obstacle != nil {
		return nil, x.obstacle.err
	}
	a := x.begin(req, key)
	if x.NotAfter.passed() { // a hook can take long
		x.obstacle = errLate
		return nil, errLate.err
	}
	resp, err := x.Config.HTTP.Transport.RoundTrip(a.request(req, x.Operation.IsRead()))
	switch {
	case err != nil && resp != nil: // the service received the request
		a.responded = true
		closeBody(resp)
		return nil, err
	case err != nil:
		return nil, err
	case resp == nil:
		return nil, errNoResponse
	}
	a.response = resp
	if resp.StatusCode >= 300 && resp.StatusCode <= 399 {
		shown := *resp
		shown.Body = http.NoBody
		return &shown, nil
	}
	return resp, nil
}

// begin begins an attempt that sends req with the key.
func (x *Exchange) begin(req *http.Request, key string) *attempt {
	x.keys.Use(key)
	x.attempts++
	ctx := x.Context
	if x.Observer != nil {
		ctx = x.Observer.AttemptStart(x.attempts, req.Header)
	}
	x.attempt = &x.first
	if x.attempts > 1 { // net/http may still be using the first
		x.attempt = new(attempt)
	}
	if x.NotAfter != (TimeLimit{}) {
		x.attempt.body.notAfter = &x.NotAfter
	}
	x.attempt.begin(ctx, x.AttemptTimeout.Limit, key, x.Body, x.Config.OwnTransport)
	return x.attempt
}

var errNoResponse = errors.New("the transport returned neither a response nor an error")

// obstacle is why the transport is not given a request.
type obstacle struct {
	err     error
	failure failure
	reason  string
}

// admit waits until an attempt may begin, and returns its key.
func (x *Exchange) admit() (string, *obstacle) {
	if x.Context.Err() != nil {
		return "", x.ended()
	}
	if x.NotAfter.passed() {
		return "", errLate
	}
	if x.Config.Limiter != nil {
		if err := x.Config.Limiter.Wait(x.Context); err != nil {
			return "", x.failedBy("rate limiter", ReasonLimiter, err)
		}
	}
	key := x.nextKey
	if x.nextKey = ""; key == "" {
		var err error
		if key, err = x.Config.Key(x.Context); err != nil {
			return "", x.failedBy("key source", ReasonKeySource, err)
		}
		if problem := KeyProblem(key); problem != "" {
			return "", &obstacle{errors.New("API key " + problem), badSetup, ReasonKeySource}
		}
	}
	if x.Context.Err() != nil { // in the meantime
		return "", x.ended()
	}
	if x.NotAfter.passed() {
		return "", errLate
	}
	return key, nil
}

// errLate is the obstacle for a request whose time limit has passed.
var errLate = &obstacle{ErrNotAfter, badRequest, ReasonNotAfter}

// ended returns the obstacle for a context that is done.
func (x *Exchange) ended() *obstacle { return &obstacle{contextError(x.Context), temporary, ""} }

func (x *Exchange) failedBy(function, reason string, err error) *obstacle {
	if x.Context.Err() != nil {
		return x.ended()
	}
	return &obstacle{fmt.Errorf("%s: %w", function, x.keys.Foreign(err)), temporary, reason}
}

// checkRetry classifies an attempt: it reads the response, records what happened to the
// request, and decides whether to retry.
func (x *Exchange) checkRetry(_ context.Context, _ *http.Response, err error) (bool, error) {
	if x.attempt == nil && x.obstacle == nil { // net/http found the request to be invalid
		x.obstacle = &obstacle{x.keys.Foreign(err), badRequest, ReasonOther}
	}
	x.outcome = x.classify(err)
	if x.Config.Logger != nil || x.Observer != nil {
		x.outcome.Reason = x.reason()
	}
	x.delivery = x.delivery.after(x.outcome.Delivery)
	if x.attempt != nil {
		x.attempt.stop() // before the logger, which may take long
	}
	x.log()
	late := x.decide()
	x.observe()
	switch {
	case late:
		x.outcome = x.without(errLate)
	case x.waiting: // an earlier attempt may still be writing its header, and a cookie jar may have changed it
		x.request.Header = x.header.Clone()
	}
	return x.waiting, nil
}

// decide sets whether there is another attempt, and the wait before it. It reports whether
// there is none because it would begin after NotAfter.
func (x *Exchange) decide() (late bool) {
	if !x.outcome.failed() || x.obstacle != nil || x.attempts >= x.maxAttempts() {
		return false
	}
	switch {
	case stepAfterAttempt(x.outcome.failure, x.Operation.IsRead(), x.RepeatableSend) == StepRetry:
		x.retry.RetryWaitMin, x.waiting = x.Retry.pause(x.Context, x.attempts, &x.outcome)
	case x.outcome.StatusCode == http.StatusUnauthorized:
		x.retry.RetryWaitMin, x.waiting = 0, x.findsAnotherKey()
	}
	late = x.waiting && x.NotAfter.passedAfter(x.retry.RetryWaitMin)
	x.waiting = x.waiting && !late
	return late
}

// findsAnotherKey reports whether the key source returns another key than the one that was
// refused. The next attempt uses it. A call looks for one only once.
func (x *Exchange) findsAnotherKey() bool {
	if !x.Config.KeyRotates || x.rotated || x.Context.Err() != nil {
		return false
	}
	x.rotated = true
	key, err := x.Config.Key(x.Context)
	if err != nil || KeyProblem(key) != "" || key == x.attempt.key[0] {
		return false
	}
	x.nextKey = key
	return true
}

func closeBody(resp *http.Response) {
	if resp.Body != nil {
		_ = resp.Body.Close()
	}
}
