// Package exchange makes one call to the service: its attempts, the evidence of what
// happened to each of them, and the retries.
package exchange

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
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
	requests         map[*service.Operation]*http.Request // that calls copy; see [Config.PrepareRequests]
}

// PrepareRequests makes a request for each operation of the catalog, so that a call does not
// have to parse its URL.
func (c *Config) PrepareRequests() {
	c.requests = make(map[*service.Operation]*http.Request)
	for op := range service.All() {
		if req, err := http.NewRequest(op.Method, c.target(op), nil); err == nil {
			c.requests[op] = req
		}
	}
}

func (c *Config) target(op *service.Operation) string {
	return c.BaseURL + "/" + strings.TrimPrefix(op.Path, "/")
}

// Call is what is asked of the service. It does not change while it is made.
type Call struct {
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
	AttemptTimeout AttemptTimeout
	NotAfter       TimeLimit
	Observer       Observer // nil for none
	// Context is the caller's, or the one that a hook returned in its place.
	Context context.Context
}

// Exchange makes one call. go-retryablehttp is its loop: RoundTrip makes an attempt, which
// writes what it did into a [Result], and checkRetry does what Call.decide decides from that.
//
// Set the Call, defer [Exchange.End], and call [Exchange.Send] once. All state of the exchange
// is in this struct, so that it takes one allocation.
type Exchange struct {
	Call

	outcome Outcome     // of the attempts so far; its Attempts count the current one
	waiting bool        // for the next attempt
	keys    redact.Keys // that were sent
	attempt *attempt    // the current one
	refusal *Result     // why there is no current attempt
	first   attempt     // not allocated separately, since most calls make only one
	nextKey string      // for the retry of a 401, or ""
	rotated bool        // the key source was asked for one

	// These fields are shared by all attempts. Each attempt adds its own key and body.
	request retryablehttp.Request
	header  http.Header
	http    http.Client
	retry   retryablehttp.Client
}

// Send makes the call. The outcome belongs to x.
func (x *Exchange) Send() *Outcome {
	x.outcome.Delivery = DeliveryNotSent
	if err := x.prepare(); err != nil {
		x.outcome = x.conclude(&x.outcome, refuse(redact.WithoutURL(err), badRequest, ReasonOther))
		return &x.outcome
	}
	x.http = http.Client{Transport: x, CheckRedirect: x.Config.HTTP.CheckRedirect, Jar: x.Config.HTTP.Jar}
	x.retry = retryablehttp.Client{
		HTTPClient: &x.http,
		RetryMax:   math.MaxInt, // checkRetry knows when to end
		CheckRetry: x.checkRetry,
		// The wait is the one that was decided on.
		Backoff:      func(decided, _ time.Duration, _ int, _ *http.Response) time.Duration { return decided },
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
	// checkRetry has already recorded the outcome, and closed the body.
	_, _ = x.retry.Do(&x.request)
	if x.waiting {
		x.outcome = x.conclude(&x.outcome, x.ended())
	}
	return &x.outcome
}

// End ends the last attempt. It must be deferred, since the caller's own transport can
// panic.
func (x *Exchange) End() {
	if x.attempt == nil {
		return
	}
	x.attempt.stop()
	did := &Result{Duration: time.Since(x.attempt.start)}
	x.outcome = x.conclude(&x.outcome, did)
	x.observe(did, 0)
}

// Progress returns the number of attempts that were begun, and what is known about the
// delivery if Send did not return.
func (x *Exchange) Progress() (attempts int, delivery Delivery) {
	if x.outcome.Attempts == 0 {
		return 0, DeliveryNotSent
	}
	return x.outcome.Attempts, x.outcome.Delivery
}

// contentJSON is a header value that all requests share, so nothing may change it.
var contentJSON = []string{"application/json"}

// prepare builds the request that every attempt starts from. The request has no body yet,
// because go-retryablehttp would add a GetBody, which lets net/http send the body again.
func (x *Exchange) prepare() error {
	req, err := x.newRequest()
	if err != nil {
		return err
	}
	if x.Query != "" {
		req.URL.RawQuery = x.Query
		x.keys.UseQuery(x.Query)
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

// newRequest returns a request for the operation, without its query.
func (x *Exchange) newRequest() (*http.Request, error) {
	prepared := x.Config.requests[x.Operation]
	if prepared == nil {
		return http.NewRequestWithContext(x.Context, x.Operation.Method, x.Config.target(x.Operation), nil)
	}
	req, target := prepared.WithContext(x.Context), *prepared.URL
	req.URL, req.Header = &target, make(http.Header)
	return req, nil
}

// RoundTrip makes one attempt. Because x is the transport, go-retryablehttp does not find
// the CloseIdleConnections method of the real one, which it would call after every failure.
func (x *Exchange) RoundTrip(req *http.Request) (*http.Response, error) {
	var key string
	if key, x.refusal = x.admit(); x.refusal != nil {
		return nil, x.refusal.Err
	}
	return x.begin(req.Header, key).send(req)
}

// begin begins an attempt with the key.
func (x *Exchange) begin(header http.Header, key string) *attempt {
	x.keys.Use(key)
	x.outcome.Attempts++
	ctx := x.Context
	if x.Observer != nil {
		ctx = x.Observer.AttemptStart(x.outcome.Attempts, header)
	}
	x.attempt = &x.first
	if x.outcome.Attempts > 1 { // net/http may still be using the first
		x.attempt = new(attempt)
	}
	x.attempt.begin(ctx, &x.Call, &x.keys, key)
	return x.attempt
}

// admit waits until an attempt may begin, and returns its key.
func (x *Exchange) admit() (string, *Result) {
	if x.Context.Err() != nil {
		return "", x.ended()
	}
	if x.NotAfter.passed() {
		return "", late
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
			return "", refuse(errors.New("API key "+problem), badSetup, ReasonKeySource)
		}
	}
	if x.Context.Err() != nil { // in the meantime
		return "", x.ended()
	}
	if x.NotAfter.passed() {
		return "", late
	}
	return key, nil
}

// refuse returns the result if the transport is not given the request.
func refuse(err error, failure failure, reason string) *Result {
	return &Result{Stage: NoResponse, Delivery: DeliveryNotSent, Err: err, failure: failure, refused: true, reason: reason}
}

// late refuses a request whose time limit has passed.
var late = refuse(ErrNotAfter, badRequest, ReasonNotAfter)

// ended refuses a request whose context is done.
func (c *Call) ended() *Result { return refuse(contextError(c.Context), temporary, "") }

func (x *Exchange) failedBy(function, reason string, err error) *Result {
	if x.Context.Err() != nil {
		return x.ended()
	}
	return refuse(fmt.Errorf("%s: %w", function, x.keys.Foreign(err)), temporary, reason)
}

// checkRetry ends the current attempt, and decides whether there is another.
func (x *Exchange) checkRetry(_ context.Context, _ *http.Response, err error) (bool, error) {
	did := x.refusal
	switch {
	case x.attempt != nil:
		did = x.attempt.end(err)
	case did == nil: // net/http found the request to be invalid
		did = refuse(x.keys.Foreign(err), badRequest, ReasonOther)
	}
	x.log(did)
	var s situation
	if did.failed() { // after a success, there is nothing to decide
		x.nextKey = x.otherKey(did)
		s = x.situation()
	}
	d := x.decide(&x.outcome, did, s)
	x.outcome, x.waiting, x.retry.RetryWaitMin = d.Outcome, d.again, d.wait
	x.observe(did, d.wait)
	if x.waiting { // an earlier attempt may still be writing its header, and a cookie jar may have changed it
		x.request.Header = x.header.Clone()
	}
	return x.waiting, nil
}

// situation returns what the next decision depends on.
func (x *Exchange) situation() situation {
	s := situation{now: time.Now(), left: math.MaxInt64, otherKey: x.nextKey != "", random: rand.Float64()}
	if deadline, bounded := x.Context.Deadline(); bounded {
		s.left = deadline.Sub(s.now)
	}
	if x.Context.Err() != nil {
		s.left = 0
	}
	return s
}

// otherKey returns a key for the retry of a 401: another one than the one that was refused, if
// the key source has it. A call looks for one only once.
func (x *Exchange) otherKey(did *Result) string {
	if did.StatusCode != http.StatusUnauthorized || x.outcome.Attempts >= x.Retry.MaxAttempts ||
		!x.Config.KeyRotates || x.rotated || x.Context.Err() != nil {
		return ""
	}
	x.rotated = true
	key, err := x.Config.Key(x.Context)
	if err != nil || KeyProblem(key) != "" || key == x.attempt.key[0] {
		return ""
	}
	return key
}
