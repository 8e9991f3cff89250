package messaging

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

// operation is one operation of the service.
type operation struct {
	name   string // what errors and logs call it
	method string
	path   string // below the base URL
	// subject and done describe a send in error texts: "the broadcast", "sent".
	subject, done string
	// refusable means that "data": false in a response is a refusal.
	refusable bool
	// custom is true for Client.Do: the path is not a template, and may hold personal
	// data.
	custom bool
}

// isRead reports whether the operation changes nothing, so that it can be retried.
func (o operation) isRead() bool { return o.method == http.MethodGet || o.method == http.MethodHead }

// params are the arguments of a request with a body.
type params interface {
	// validate makes the checks that WithoutValidation skips.
	validate(*problems)
	// wire returns the value that encoding/json writes, and makes the other checks.
	wire(*problems) any
}

// addressed is params with an audience, whose recipients are added to what wire
// returns.
type addressed interface{ audience() Audience }

// call is one request, and how its response is read.
type call struct {
	operation
	query  string
	params params // nil for no body
	// rows reads the data of a list. Without it, data is kept as JSON.
	rows rowReader
	// accept reads the data of a successful response.
	accept func(data json.RawMessage) error
}

// call makes a call to the service, from its options to its response.
func (c *core) call(ctx context.Context, call call, opts []RequestOption) (*Response, error) {
	x := c.newExchange(ctx, call, opts)
	defer x.end()
	x.body = x.call.encode(x.settings.withoutValidation, &x.problems)
	return x.run()
}

// accepts reports whether a call with opts would be made, as far as the arguments go.
func (c *core) accepts(call call, opts []RequestOption) bool {
	var problems problems
	settings := c.perRequest.with(opts, &problems)
	call.encode(settings.withoutValidation, &problems)
	return problems.none()
}

// encode returns the body, nil for none.
func (c *call) encode(withoutValidation bool, p *problems) []byte {
	if c.params == nil {
		return nil
	}
	if !withoutValidation {
		c.params.validate(p)
	}
	wire := c.params.wire(p)
	if !p.none() {
		return nil
	}
	w := newBodyWriter()
	w.value(wire)
	if params, ok := c.params.(addressed); ok {
		params.audience().write(w)
	}
	body, err := w.finish()
	if err != nil {
		p.add("body", "can't be written as JSON")
	}
	return body
}

// exchange is one call in progress. go-retryablehttp drives it: RoundTrip makes an
// attempt, and checkRetry classifies it and decides on the next.
type exchange struct {
	core     *core
	call     call
	settings requestSettings
	problems problems        // with the arguments
	body     []byte          // nil for none
	ctx      context.Context // the caller's
	start    time.Time
	// values is ctx with the values that hooks have added. It is what functions of
	// the caller's are given.
	values   context.Context
	observer *observer // nil if there are no hooks

	redactor redactor // of the keys that were sent
	attempts int      // that were begun
	attempt  *attempt // the current one
	refusal  *refusal // why there is none
	first    attempt  // in place, as most calls make only one
	delivery Delivery // over all attempts
	waiting  bool     // between two attempts

	result   result // of the last attempt
	returned bool   // with err, not by a panic
	err      error

	// What every attempt begins with; key and body are its own.
	request retryablehttp.Request
	header  http.Header
	http    http.Client
	retry   retryablehttp.Client
}

// newExchange begins a call. [exchange.end] has to be deferred: a transport, a guard and
// a value that writes itself are the caller's, and can panic.
func (c *core) newExchange(ctx context.Context, call call, opts []RequestOption) *exchange {
	x := &exchange{core: c, call: call, ctx: ctx, values: ctx, start: time.Now(), delivery: DeliveryNotSent}
	if ctx == nil {
		x.problems.add("ctx", "must not be nil")
	}
	x.settings = c.perRequest.with(opts, &x.problems)
	if c.hooks != nil {
		x.observe()
	}
	return x
}

// failure is an error that is completed when the outcome of the call is known.
type failure interface {
	error
	complete(attempts int, delivery Delivery, retryable bool)
}

// run sends the call, and keeps its outcome for the hooks.
func (x *exchange) run() (*Response, error) {
	response, err := x.send()
	x.returned, x.err = true, err
	return response, err
}

// end ends the call, and tells the hooks.
func (x *exchange) end() {
	x.endAttempt()
	if x.observer != nil {
		x.observeEnd()
	}
}

// send sends the call and returns its response, or an error.
func (x *exchange) send() (*Response, error) {
	if err := x.problems.err(x.call.name); err != nil {
		return nil, err
	}
	if err := x.askGuards(); err != nil {
		return nil, err
	}
	if err := x.prepare(); err != nil {
		x.result.reason = reasonOther
		return nil, x.completed(&TransportError{Call: x.newCall(), Err: withoutURL(err)})
	}
	x.http = http.Client{Transport: x, CheckRedirect: x.core.http.CheckRedirect, Jar: x.core.http.Jar}
	x.retry = retryablehttp.Client{
		HTTPClient:   &x.http,
		RetryMax:     x.maxAttempts() - 1,
		CheckRetry:   x.checkRetry,
		Backoff:      exactWait,
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
	// Its results are known already, and checkRetry has closed the body.
	_, _ = x.retry.Do(&x.request)
	switch {
	case x.waiting:
		failure := &TransportError{Call: x.newCall(), Err: x.afterFailure(contextError(x.ctx))}
		x.result.reason = contextReason(failure)
		return nil, x.completed(failure)
	case x.result.failure != nil:
		return nil, x.completed(x.result.failure)
	}
	response := x.result.response
	response.Attempts, response.Duration = x.attempts, time.Since(x.start)
	return response, nil
}

// completed fills in what is known of the whole call.
func (x *exchange) completed(f failure) error {
	f.complete(x.attempts, x.delivery, x.isRetryable())
	return f
}

// isRetryable reports whether the same call, made again, does nothing twice and
// may succeed.
func (x *exchange) isRetryable() bool {
	harmless := x.delivery == DeliveryNotSent || x.delivery == DeliveryRejected ||
		x.call.isRead() || x.settings.repeatableSend
	return harmless && x.result.repeat.allows(x.call.isRead(), x.settings.repeatableSend)
}

// afterFailure is why the call ends, together with the failure of the attempt
// before, if there was one.
func (x *exchange) afterFailure(why error) error {
	if x.result.failure == nil {
		return why
	}
	return &interruptedError{why, x.completed(x.result.failure)}
}

func (x *exchange) maxAttempts() int {
	if x.settings.withoutRetries {
		return 1
	}
	return x.core.retry.MaxAttempts
}

func (x *exchange) endAttempt() {
	if x.attempt != nil {
		x.attempt.end()
	}
}

func (x *exchange) newCall() Call { return newCall(x.call.operation) }

func newCall(op operation) Call {
	return Call{Op: op.name, Method: op.method, Path: op.path, operation: op}
}

// authorizationHeader carries the API key.
const authorizationHeader = "X-Authorization"

// contentJSON is a header value that all requests share, and nothing writes to.
var contentJSON = []string{"application/json"}

// prepare builds the request that every attempt is made from. It is given no
// body: go-retryablehttp would add a GetBody, with which net/http sends a body again.
func (x *exchange) prepare() error {
	target := x.core.baseURL + "/" + strings.TrimPrefix(x.call.path, "/")
	if x.call.query != "" {
		target += "?" + x.call.query
	}
	req, err := http.NewRequestWithContext(x.ctx, x.call.method, target, nil)
	if err != nil {
		return err
	}
	req.Header["Accept"] = contentJSON
	req.Header["User-Agent"] = x.core.userAgent
	if x.body != nil {
		req.Header["Content-Type"] = contentJSON
	}
	if x.settings.setHeaders != nil {
		x.settings.setHeaders(req.Header)
	}
	x.request.Request, x.header = req, req.Header
	if x.core.http.Jar != nil || !x.core.ownTransport || x.observer != nil { // which may change the header of an attempt
		x.header = req.Header.Clone()
	}
	return nil
}

// RoundTrip makes one attempt. It hides CloseIdleConnections of the transport
// below, which go-retryablehttp would call after every failure.
func (x *exchange) RoundTrip(req *http.Request) (*http.Response, error) {
	x.waiting = false
	var key string
	if key, x.refusal = x.admit(); x.refusal != nil {
		return nil, x.refusal.err
	}
	x.redactor.use(key)
	x.attempts++
	ctx := x.values
	if x.observer != nil {
		ctx = x.observeAttempt(req.Header)
	}
	x.attempt = &x.first
	if x.attempts > 1 { // net/http may still be reading the first
		x.attempt = new(attempt)
	}
	a := x.attempt
	a.begin(ctx, x.core.timeout, key, x.body, x.core.ownTransport)
	resp, err := x.core.http.Transport.RoundTrip(a.request(req, x.call.isRead()))
	switch {
	case err != nil && resp != nil: // which proves that the service got the request
		a.answered = true
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

var errNoResponse = errors.New("the transport returned neither a response nor an error")

// refusal is why an attempt was not begun, and which calls may be made again
// although it was not.
type refusal struct {
	err    error
	repeat repeatable
	reason string
}

// admit waits until an attempt may begin, and returns its key.
func (x *exchange) admit() (string, *refusal) {
	if x.ctx.Err() != nil {
		return "", &refusal{contextError(x.ctx), repeatAll, ""}
	}
	if x.core.limiter != nil {
		if err := x.core.limiter.Wait(x.values); err != nil {
			return "", x.refusedBy("rate limiter", reasonLimiter, err)
		}
	}
	key, err := x.core.key(x.values)
	if err != nil {
		return "", x.refusedBy("key source", reasonKeySource, err)
	}
	if problem := keyProblem(key); problem != "" {
		return "", &refusal{errors.New("API key " + problem), repeatNever, reasonKeySource}
	}
	if x.ctx.Err() != nil { // meanwhile
		return "", &refusal{contextError(x.ctx), repeatAll, ""}
	}
	return key, nil
}

func (x *exchange) refusedBy(function, reason string, err error) *refusal {
	if x.ctx.Err() != nil {
		return &refusal{contextError(x.ctx), repeatAll, ""}
	}
	return &refusal{fmt.Errorf("%s: %w", function, redactedSourceError(err)), repeatAll, reason}
}

// checkRetry classifies an attempt: it reads the response, records what became of
// the request, and decides whether to try again.
func (x *exchange) checkRetry(_ context.Context, resp *http.Response, err error) (bool, error) {
	if x.attempt == nil && x.refusal == nil { // net/http refuses the request by itself
		x.refusal = &refusal{redactedTransportError(err), repeatNever, reasonOther}
	}
	if x.attempt != nil && x.attempt.response != nil {
		resp = x.attempt.response
	}
	x.result = x.classify(resp, err)
	x.result.reason = x.reason()
	x.delivery = x.delivery.after(x.result.delivery)
	x.endAttempt() // before a logger takes its time
	x.log(resp)
	duration := x.attempt.duration()
	x.attempt = nil
	x.decide(resp)
	if x.observer != nil {
		x.observeAttemptDone(resp, duration)
	}
	if x.waiting { // an earlier attempt may still be writing its header, and a cookie jar has added to it
		x.request.Header = x.header.Clone()
	}
	return x.waiting, nil
}

// decide sets whether there is another attempt, and after which wait.
func (x *exchange) decide(resp *http.Response) {
	if x.result.failure == nil || x.refusal != nil || x.attempts >= x.maxAttempts() ||
		!x.result.repeat.allows(x.call.isRead(), x.settings.repeatableSend) {
		return
	}
	retryAfter, asked := retryAfterOf(resp)
	x.retry.RetryWaitMin, x.waiting = x.core.retry.pause(x.ctx, x.attempts, retryAfter, asked)
}

// exactWait is the backoff for a wait that checkRetry has decided on.
func exactWait(decided, _ time.Duration, _ int, _ *http.Response) time.Duration { return decided }

func retryAfterOf(resp *http.Response) (time.Duration, bool) {
	if resp == nil {
		return 0, false
	}
	return parseRetryAfter(resp.Header, time.Now())
}

// result is what one attempt came to: a response, or a failure, with its delivery
// and which calls may be repeated after it.
type result struct {
	response *Response
	failure  failure
	delivery Delivery
	repeat   repeatable
	reason   string // of the failure; see reason.go
}

func (x *exchange) classify(resp *http.Response, err error) result {
	switch {
	case x.refusal != nil:
		return x.failed(x.afterFailure(x.refusal.err), DeliveryNotSent, x.refusal.repeat)
	case resp == nil:
		return x.classifyFailure(err)
	}
	if resp.Body == nil { // a transport of the caller's may leave it out
		resp.Body = http.NoBody
	}
	defer closeBody(resp)
	if resp.StatusCode >= 200 && resp.StatusCode <= 299 {
		return x.classifySuccess(resp)
	}
	delivery, repeat := classifyStatus(resp.StatusCode)
	r := newReader()
	defer r.free()
	if resp.StatusCode >= 200 { // below, the body is the connection
		// What came is kept; a key across the limit has to be found whole.
		_, _ = r.fetch(resp, int64(x.redactor.window(maxErrorBody)))
	}
	return result{failure: x.apiError(resp, r.body.Bytes()), delivery: delivery, repeat: repeat}
}

// failed is the result of an attempt without a usable response.
func (x *exchange) failed(cause error, delivery Delivery, repeat repeatable) result {
	return result{failure: &TransportError{Call: x.newCall(), Err: cause}, delivery: delivery, repeat: repeat}
}

// classifyFailure classifies an attempt that got no response.
func (x *exchange) classifyFailure(err error) result {
	proved, noConnection := x.attempt.provedNotSent(), x.attempt.foundNoConnection()
	cause := x.cause(err)
	delivery, repeat := classifyFailure(cause, proved, noConnection)
	if cause == errLooping {
		repeat = repeatReads
	}
	return x.failed(cause, delivery, repeat)
}

// classifySuccess reads a 2xx response, which is a success only if it says so.
func (x *exchange) classifySuccess(resp *http.Response) result {
	if x.call.method == http.MethodHead {
		return result{response: x.newResponse(resp, envelope{}), delivery: DeliveryAccepted}
	}
	r := newReader()
	defer r.free()
	switch tooLarge, err := r.fetch(resp, x.core.maxBytes); {
	case err != nil: // which does not undo a 2xx
		return x.failed(x.cause(err), DeliveryUnknown, repeatReads)
	case tooLarge:
		err := fmt.Errorf("exceeds the limit of %d bytes: %w", x.core.maxBytes, ErrTooLarge)
		return x.unusable(resp, r.body.Bytes(), at(wholeResponse, err), DeliveryUnknown)
	}
	body := r.body.Bytes()
	answer, err := r.envelope(body, x.call.rows)
	switch {
	case err != nil:
		return x.unusable(resp, body, err, DeliveryUnknown)
	case !answer.success:
		return result{failure: x.apiError(resp, body), delivery: DeliveryRejected}
	case x.call.refusable && answer.dataFalse && !answer.dataOther:
		failure := x.apiError(resp, body)
		failure.dataFalse = true
		return result{failure: failure, delivery: DeliveryRejected}
	case x.call.refusable && answer.dataFalse: // of duplicates that contradict each other
		return x.unusable(resp, body, answer.dataErr, DeliveryUnknown)
	case answer.dataErr != nil:
		return x.unusable(resp, body, answer.dataErr, DeliveryAccepted)
	}
	if x.call.accept != nil {
		err := errMissing
		if answer.data != nil {
			err = x.call.accept(answer.data)
		}
		if err != nil {
			return x.unusable(resp, body, at("data", err), DeliveryAccepted)
		}
	}
	return result{response: x.newResponse(resp, answer), delivery: DeliveryAccepted}
}

func (x *exchange) newResponse(resp *http.Response, answer envelope) *Response {
	return &Response{StatusCode: resp.StatusCode, Header: x.redactor.header(resp.Header), Message: answer.message, Data: answer.data}
}

func (x *exchange) unusable(resp *http.Response, body []byte, err error, d Delivery) result {
	if x.redactor.isQuotedIn(err.Error()) {
		err = &opaqueError{text: "can't be read (the reason quotes the API key, and is withheld)", err: err, sealed: true}
	}
	return result{delivery: d, failure: &DecodeError{Call: x.newCall(), StatusCode: resp.StatusCode,
		Header: x.redactor.header(resp.Header), Body: x.redactor.body(body, maxErrorBody), Err: err}}
}

func (x *exchange) apiError(resp *http.Response, body []byte) *APIError {
	body = x.redactor.body(body, maxErrorBody)
	c := readErrorBody(body)
	c.rewrite(x.redactor.text)
	retryAfter, _ := retryAfterOf(resp)
	return &APIError{Call: x.newCall(), StatusCode: resp.StatusCode, Code: c.code, Message: c.message, Fields: c.fields,
		RetryAfter: retryAfter, Header: x.redactor.header(resp.Header), Body: body,
		versionInBaseURL: strings.HasSuffix(x.core.baseURL, "/v1")}
}

var errLooping = errors.New("net/http keeps repeating the request")

// cause returns why an attempt got no response, with a text that is safe to show.
// It looks at each context once, so that one that ends meanwhile changes nothing.
func (x *exchange) cause(err error) error {
	switch {
	case x.attempt.looping.Load():
		return errLooping
	case x.ctx.Err() != nil:
		return contextError(x.ctx)
	case context.Cause(x.attempt.ctx) == ErrAttemptTimeout:
		return ErrAttemptTimeout
	default:
		return redactedTransportError(err)
	}
}

// contextError is why ctx is done: its error, and the cause that the caller gave.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if reflect.TypeOf(cause).Comparable() && cause != err {
		return fmt.Errorf("%w: %w", err, redactedSourceError(cause))
	}
	return err
}

// interruptedError is why a call ended between two attempts, and the failure of
// the first of them.
type interruptedError struct{ why, earlier error }

func (e *interruptedError) Error() string { return e.why.Error() + " while waiting to retry" }

func (e *interruptedError) Unwrap() []error { return []error{e.why, e.earlier} }

// log logs the current attempt. Its attributes are a fixed list without personal data.
func (x *exchange) log(resp *http.Response) {
	if x.core.logger == nil {
		return
	}
	level := slog.LevelDebug
	if x.result.failure != nil {
		level = slog.LevelWarn
	}
	attributes := []slog.Attr{
		slog.String("operation", x.call.name),
		slog.String("method", x.call.method),
		slog.Int("attempt", x.attempts),
		slog.Duration("duration", x.attempt.duration()),
		slog.String("delivery", x.result.delivery.String()),
	}
	if !x.call.custom {
		attributes = append(attributes, slog.String("path", x.call.path))
	}
	if resp != nil {
		attributes = append(attributes, slog.Int("status", resp.StatusCode))
	}
	if x.result.reason != "" {
		attributes = append(attributes, slog.String("reason", x.result.reason))
	}
	x.core.logger.LogAttrs(x.attemptValues(), level, "messaging attempt", attributes...)
}

func closeBody(resp *http.Response) {
	if resp.Body != nil {
		_ = resp.Body.Close()
	}
}
