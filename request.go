package messaging

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

// operation is one operation of the service.
type operation struct {
	name   string // what errors and logs call it
	method string
	path   string // below the base URL
	// subject and done tell what a send does: "the broadcast", "sent".
	subject, done string
	// custom marks an operation of the caller's, whose path is not a template
	// and may hold personal data.
	custom bool
}

// isRead reports whether the operation leaves the world as it is, so that it
// can be repeated at will.
func (o operation) isRead() bool { return o.method == http.MethodGet || o.method == http.MethodHead }

// params are arguments that become the body of a request.
type params interface {
	// validate finds what WithoutValidation lets pass.
	validate(*problems)
	// wire returns what encoding/json writes, and finds what can't be sent.
	wire(*problems) any
}

// call is one request, and what to make of the answer.
type call struct {
	operation
	query  string
	params params // nil for no body
	// refusable means that "data": false is a no.
	refusable bool
	// rows reads "data" while the answer is read, for lists. Without it, data is
	// kept as it came.
	rows rowReader
	// accept reads the data of an answer that said success.
	accept func(data json.RawMessage) error
}

// call does everything that a call to the service takes, from its options to
// its answer.
func (c *core) call(ctx context.Context, call call, opts []RequestOption) (*Response, error) {
	var problems problems
	settings := c.perRequest.with(opts, &problems)
	body := call.encode(settings, &problems)
	if err := problems.err(call.name); err != nil {
		return nil, err
	}
	return c.exchange(ctx, call, settings, body)
}

// exchange sends a call and returns its answer.
func (c *core) exchange(ctx context.Context, call call, settings requestSettings, body []byte) (*Response, error) {
	x := &exchange{core: c, call: call, settings: settings, ctx: ctx, start: time.Now(), worst: DeliveryNotSent}
	return x.run(body)
}

// encode writes the body, nil for none.
func (c *call) encode(settings requestSettings, p *problems) []byte {
	if c.params == nil {
		return nil
	}
	if !settings.withoutValidation {
		c.params.validate(p)
	}
	wire := c.params.wire(p)
	if len(p.found) > 0 {
		return nil
	}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false) // a message full of markup stays readable, and short
	if err := encoder.Encode(wire); err != nil {
		p.add("body", "can't be written as JSON")
	}
	return bytes.TrimSuffix(body.Bytes(), []byte("\n"))
}

// exchange is one call on its way. go-retryablehttp drives it: RoundTrip is one
// attempt, settle judges it, backoff says how long to wait for the next.
type exchange struct {
	core     *core
	call     call
	settings requestSettings
	ctx      context.Context // the caller's
	start    time.Time

	attempts int
	attempt  *attempt      // the current one
	worst    Delivery      // over all attempts
	waiting  bool          // between two attempts
	wait     time.Duration // for how long

	response *Response // of the attempt that went well
	failure  failure   // of the last one that did not

	http  http.Client
	retry retryablehttp.Client
}

// failure is an error that learns the outcome of the call when it is over.
type failure interface {
	error
	conclude(attempts int, worst Delivery)
}

func (x *exchange) run(body []byte) (*Response, error) {
	req, err := x.request(body)
	if err != nil {
		return nil, x.fail(&TransportError{Call: x.newCall(), Err: withoutURL(err)})
	}
	x.attempt = &attempt{ctx: x.ctx, cancel: func() {}}
	x.http = http.Client{Transport: x, CheckRedirect: x.core.http.CheckRedirect, Jar: x.core.http.Jar}
	x.retry = retryablehttp.Client{
		HTTPClient:   &x.http,
		RetryMax:     x.core.retry.MaxAttempts - 1,
		CheckRetry:   x.settle,
		Backoff:      x.backoff,
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
	// What it returns is known here already, and settle has closed the body.
	_, _ = x.retry.Do(req) //nolint:bodyclose
	switch {
	case x.waiting:
		x.failure.conclude(x.attempts, x.worst)
		return nil, x.fail(&TransportError{Call: x.newCall(), Err: &interruptedError{contextError(x.ctx), x.failure}})
	case x.response == nil:
		return nil, x.fail(x.failure)
	}
	x.response.Attempts, x.response.Duration = x.attempts, time.Since(x.start)
	return x.response, nil
}

func (x *exchange) fail(f failure) error {
	f.conclude(x.attempts, x.worst)
	return f
}

func (x *exchange) newCall() Call { return newCall(x.call.operation) }

func newCall(op operation) Call {
	return Call{Op: op.name, Method: op.method, Path: op.path, operation: op}
}

// request builds what every attempt sends, but for the API key.
func (x *exchange) request(body []byte) (*retryablehttp.Request, error) {
	target := x.core.baseURL + "/" + strings.TrimPrefix(x.call.path, "/")
	if x.call.query != "" {
		target += "?" + x.call.query
	}
	var content any
	switch {
	case body != nil:
		content = body
	case !x.call.isRead():
		// Over HTTP/2, net/http repeats a request without a body of its own accord.
		content = retryablehttp.ReaderFunc(func() (io.Reader, error) { return strings.NewReader(""), nil })
	}
	req, err := retryablehttp.NewRequestWithContext(x.ctx, x.call.method, target, content)
	if err != nil {
		return nil, err
	}
	if content != nil {
		req.GetBody = nil // with it, net/http sends a body again of its own accord
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", x.core.userAgent)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for key, values := range x.settings.header {
		req.Header[key] = values
	}
	return req, nil
}

// attempt is one try at a request, and what is proved about it.
type attempt struct {
	ctx     context.Context
	cancel  context.CancelFunc
	trace   httptrace.ClientTrace
	asked   atomic.Int32 // connections asked for
	got     atomic.Int32 // connections obtained
	looping atomic.Bool
	// held is why the attempt was not begun.
	held error
	// answer is kept because net/http drops one whose Location it can't parse.
	answer *http.Response
}

// maxConnections is how many connections one attempt may go through. More means
// that net/http is repeating the request on its own, which it does without end.
const maxConnections = 3

func newAttempt(ctx context.Context, limit time.Duration) *attempt {
	a := new(attempt)
	ctx, a.cancel = context.WithTimeoutCause(ctx, limit, ErrAttemptTimeout)
	a.trace = httptrace.ClientTrace{
		GetConn: func(string) { a.asked.Add(1) },
		GotConn: func(httptrace.GotConnInfo) {
			if a.got.Add(1) > maxConnections {
				a.looping.Store(true)
				a.cancel()
			}
		},
	}
	a.ctx = httptrace.WithClientTrace(ctx, &a.trace)
	return a
}

// provedNotSent reports the one sound proof that nothing was sent: a connection
// was asked for and never obtained. A transport that does not report to
// httptrace proves nothing.
func (a *attempt) provedNotSent() bool { return a.asked.Load() > 0 && a.got.Load() == 0 }

// RoundTrip makes one attempt. It hides CloseIdleConnections of the transport
// below, which go-retryablehttp would call after every failure.
func (x *exchange) RoundTrip(req *http.Request) (*http.Response, error) {
	x.waiting = false
	if err := x.admit(req); err != nil {
		x.attempt = &attempt{ctx: x.ctx, cancel: func() {}, held: err}
		return nil, err
	}
	x.attempts++
	a := newAttempt(x.ctx, x.core.timeout)
	x.attempt = a
	resp, err := x.core.http.Transport.RoundTrip(req.WithContext(a.ctx))
	if err != nil && resp != nil {
		closeBody(resp)
		resp = nil
	}
	a.answer = resp
	return resp, err
}

// admit lets an attempt begin: in time, at the pace of the limiter, with a key.
func (x *exchange) admit(req *http.Request) error {
	if x.ctx.Err() != nil {
		return contextError(x.ctx)
	}
	if x.core.limiter != nil {
		if err := x.core.limiter.Wait(x.ctx); err != nil {
			return withoutURL(err)
		}
	}
	key, err := x.core.key(x.ctx)
	if err != nil {
		return withoutURL(err)
	}
	if problem := keyProblem(key); problem != "" {
		return errors.New("API key " + problem)
	}
	if x.attempts > 0 {
		req.Header = req.Header.Clone() // an earlier attempt may still be writing it
	}
	req.Header.Set("X-Authorization", key)
	return nil
}

// settle judges an attempt: it reads the answer, notes what became of the
// request, and decides whether to try again.
func (x *exchange) settle(_ context.Context, resp *http.Response, err error) (bool, error) {
	defer x.attempt.cancel()
	if resp == nil {
		resp = x.attempt.answer
	}
	v := x.judge(resp, err)
	x.response, x.failure = v.response, v.failure
	x.log(resp, v)
	if v.failure == nil {
		return false, nil
	}
	x.worst = x.worst.worse(v.delivery)
	if x.attempts >= x.core.retry.MaxAttempts ||
		!v.repeat.allows(x.call.isRead(), x.settings.repeatableSend, x.core.retry.RetryRateLimitedSends) {
		return false, nil
	}
	retryAfter, asked := retryAfterOf(resp)
	x.wait, x.waiting = x.core.retry.pause(x.ctx, x.attempts, retryAfter, asked)
	return x.waiting, nil
}

func (x *exchange) backoff(_, _ time.Duration, _ int, _ *http.Response) time.Duration { return x.wait }

func retryAfterOf(resp *http.Response) (time.Duration, bool) {
	if resp == nil {
		return 0, false
	}
	return parseRetryAfter(resp.Header, time.Now())
}

// verdict is what one attempt came to: a response, or a failure, its delivery,
// and which calls may be repeated after it.
type verdict struct {
	response *Response
	failure  failure
	delivery Delivery
	repeat   repeatable
}

func (x *exchange) judge(resp *http.Response, err error) verdict {
	switch {
	case x.attempt.held != nil:
		return x.broken(x.attempt.held, DeliveryNotSent, repeatNever)
	case resp == nil:
		cause := x.cause(err)
		delivery, repeat := judgeFailure(cause, x.attempt.provedNotSent())
		return x.broken(cause, delivery, repeat)
	}
	if resp.Body == nil { // a transport of the caller's may leave it out
		resp.Body = http.NoBody
	}
	defer closeBody(resp)
	if resp.StatusCode >= 200 && resp.StatusCode <= 299 {
		return x.judgeSuccess(resp)
	}
	delivery, repeat := judgeStatus(resp.StatusCode)
	var body bytes.Buffer
	if resp.StatusCode >= 200 { // below, the body is the connection
		_, _ = body.ReadFrom(io.LimitReader(resp.Body, maxErrorBody)) // what came is kept
	}
	return verdict{failure: x.apiError(resp, body.Bytes()), delivery: delivery, repeat: repeat}
}

// broken is the verdict on an attempt without a usable answer. Nothing is
// repeated once the caller has given up.
func (x *exchange) broken(cause error, delivery Delivery, repeat repeatable) verdict {
	if x.ctx.Err() != nil || x.attempt.looping.Load() {
		repeat = repeatNever
	}
	return verdict{failure: &TransportError{Call: x.newCall(), Err: cause}, delivery: delivery, repeat: repeat}
}

// judgeSuccess reads a 2xx answer, which is a success only if it says so.
func (x *exchange) judgeSuccess(resp *http.Response) verdict {
	if x.call.method == http.MethodHead {
		return verdict{response: newResponse(resp, envelope{}), delivery: DeliveryAccepted}
	}
	r := newReader()
	defer r.free()
	switch tooLarge, err := r.fetch(resp, x.core.maxBytes); {
	case err != nil:
		return x.broken(x.cause(err), DeliveryUnknown, repeatReads)
	case tooLarge:
		return x.unusable(resp, r.body.Bytes(), &pathError{wholeAnswer, ErrTooLarge}, DeliveryUnknown)
	}
	body := r.body.Bytes()
	answer, err := r.envelope(body, x.call.rows)
	switch {
	case err != nil:
		return x.unusable(resp, body, err, DeliveryUnknown)
	case !answer.success, x.call.refusable && string(answer.data) == "false":
		return verdict{failure: x.apiError(resp, bytes.Clone(body[:min(len(body), maxErrorBody)])), delivery: DeliveryRejected}
	case answer.dataErr != nil:
		return x.unusable(resp, body, answer.dataErr, DeliveryAccepted)
	}
	if x.call.accept != nil {
		if err := x.call.accept(answer.data); err != nil {
			return x.unusable(resp, body, at("data", err), DeliveryAccepted)
		}
	}
	return verdict{response: newResponse(resp, answer), delivery: DeliveryAccepted}
}

func newResponse(resp *http.Response, answer envelope) *Response {
	return &Response{StatusCode: resp.StatusCode, Header: resp.Header, Message: answer.message, Data: answer.data}
}

func (x *exchange) unusable(resp *http.Response, body []byte, err error, d Delivery) verdict {
	return verdict{delivery: d, failure: &DecodeError{Call: x.newCall(), StatusCode: resp.StatusCode, Header: resp.Header,
		Body: bytes.Clone(body[:min(len(body), maxErrorBody)]), Err: err}}
}

func (x *exchange) apiError(resp *http.Response, body []byte) *APIError {
	c := readComplaint(body)
	retryAfter, _ := retryAfterOf(resp)
	return &APIError{Call: x.newCall(), StatusCode: resp.StatusCode, Code: c.code, Message: c.message, Fields: c.fields,
		RetryAfter: retryAfter, Header: resp.Header, Body: body}
}

var errLooping = errors.New("net/http keeps repeating the request")

// cause says why an attempt got no answer, in the order of who knows best.
func (x *exchange) cause(err error) error {
	switch {
	case x.attempt.looping.Load():
		return errLooping
	case x.ctx.Err() != nil:
		return contextError(x.ctx)
	case context.Cause(x.attempt.ctx) == ErrAttemptTimeout:
		return ErrAttemptTimeout
	default:
		return withoutURL(err)
	}
}

// contextError is why ctx is done: its error, and the cause that was given.
func contextError(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != ctx.Err() {
		return &interruptedError{ctx.Err(), withoutURL(cause)}
	}
	return ctx.Err()
}

// interruptedError is a context that ended, and what it kept from going on.
type interruptedError struct{ context, during error }

func (e *interruptedError) Error() string {
	if _, waiting := e.during.(failure); waiting {
		return e.context.Error() + " while waiting to try again"
	}
	return e.context.Error() + ": " + e.during.Error()
}

func (e *interruptedError) Unwrap() []error { return []error{e.context, e.during} }

// withoutURL takes errors of net/url out of err: they print the URL with its
// query, where the filters are, and so somebody's e-mail address.
func withoutURL(err error) error {
	var withURL *url.Error
	for errors.As(err, &withURL) {
		err = withURL.Err
	}
	return err
}

// log writes what is safe to write down about an attempt, and no more.
func (x *exchange) log(resp *http.Response, v verdict) {
	if x.core.logger == nil {
		return
	}
	level := slog.LevelDebug
	if v.failure != nil {
		level = slog.LevelWarn
	}
	attributes := []slog.Attr{
		slog.String("operation", x.call.name),
		slog.String("method", x.call.method),
		slog.Int("attempt", x.attempts),
		slog.Duration("duration", time.Since(x.start)),
		slog.String("delivery", v.delivery.String()),
	}
	if !x.call.custom {
		attributes = append(attributes, slog.String("path", x.call.path))
	}
	if resp != nil {
		attributes = append(attributes, slog.Int("status", resp.StatusCode))
	}
	x.core.logger.LogAttrs(x.ctx, level, "messaging attempt", attributes...)
}

func closeBody(resp *http.Response) {
	if resp.Body != nil {
		_ = resp.Body.Close()
	}
}

// maxFirstBuffer is how much memory an answer gets on its word alone.
const maxFirstBuffer = 1 << 20

// fetch reads the body of an answer, and tells one that is over the limit.
func (r *reader) fetch(resp *http.Response, limit int64) (tooLarge bool, err error) {
	if resp.ContentLength > 0 {
		r.body.Grow(int(min(resp.ContentLength, limit, maxFirstBuffer)) + bytes.MinRead)
	}
	n, err := r.body.ReadFrom(io.LimitReader(resp.Body, limit+1))
	return n > limit, err
}

// envelope is the answer of the service, less the rows of a list.
type envelope struct {
	success bool
	message string
	data    json.RawMessage
	// dataErr is set where the answer is sound but its data can't be read.
	dataErr error
}

// wholeAnswer stands for the path of what is wrong with the answer as a whole.
const wholeAnswer = "the answer"

// rowReader reads the rows of a list, and where its meta may be.
type rowReader interface {
	readData(*reader) error
	readMeta(*reader) error
	// finish holds what was read together when the document is at its end.
	finish() error
	// withoutRows is called before reading again a document whose rows failed: it
	// asks for the meta alone.
	withoutRows()
}

// envelope reads an answer in one pass, rows included. Only where the data can't
// be read is the document read again, for what the rest of it says.
func (r *reader) envelope(document []byte, rows rowReader) (envelope, error) {
	answer, err := r.readEnvelope(document, rows)
	if err == nil || rows == nil {
		return answer, err
	}
	rows.withoutRows()
	answer, again := r.readEnvelope(document, rows)
	if again != nil {
		return envelope{}, err
	}
	answer.dataErr = err
	return answer, nil
}

func (r *reader) readEnvelope(document []byte, rows rowReader) (envelope, error) {
	var answer envelope
	var hasSuccess, hasData bool
	r.reset(document)
	err := r.object(func(key []byte) (err error) {
		switch string(key) {
		case "success":
			if hasSuccess {
				return errTwice
			}
			hasSuccess = true
			answer.success, err = r.strictBoolean()
			return err
		case "message":
			answer.message, err = r.anyText()
			return err
		case "data":
			if hasData {
				return errTwice
			}
			hasData = true
			if rows != nil {
				return rows.readData(r)
			}
			data, err := r.raw()
			answer.data = bytes.Clone(data)
			return err
		case "meta":
			if rows != nil {
				return rows.readMeta(r)
			}
		}
		return r.skip()
	})
	switch {
	case err != nil:
	case !hasSuccess:
		err = at("success", errMissing)
	default:
		if err = r.end(); err == nil && rows != nil {
			err = rows.finish()
		}
	}
	if _, ok := err.(*pathError); err != nil && !ok {
		err = &pathError{wholeAnswer, err}
	}
	return answer, err
}

// newTransport is http.DefaultTransport with room for many calls at once.
func newTransport() *http.Transport {
	t, ok := http.DefaultTransport.(*http.Transport)
	if ok {
		t = t.Clone()
	} else { // the program has replaced it
		t = &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout: 10 * time.Second,
		}
	}
	t.ForceAttemptHTTP2 = true
	t.MaxIdleConns = 0
	t.MaxIdleConnsPerHost = 256
	// Shorter than servers keep connections: a POST on a connection that the
	// server is closing ends in an unknown delivery.
	t.IdleConnTimeout = 4 * time.Second
	t.MaxResponseHeaderBytes = 1 << 20
	return t
}
