package messaging

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
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

// addressed is params with an audience, whose recipients join what wire returns.
type addressed interface{ audience() Audience }

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
	x := c.newExchange(ctx, call, opts)
	x.body = x.call.encode(x.settings, &x.problems)
	return x.run()
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

// exchange is one call on its way. go-retryablehttp drives it: RoundTrip is one
// attempt, and settle judges it and says how long to wait for the next.
type exchange struct {
	core     *core
	call     call
	settings requestSettings
	problems problems        // with the arguments
	body     []byte          // nil for none
	ctx      context.Context // the caller's
	start    time.Time

	key      string   // of the current attempt
	attempts int      // that were put on their way
	attempt  *attempt // the current one
	first    attempt  // in place, as most calls take no other
	worst    Delivery // over all attempts
	waiting  bool     // between two attempts

	response *Response // of the attempt that went well
	failure  failure   // of the last one that did not

	// What every attempt begins with; key and body are its own.
	request retryablehttp.Request
	header  http.Header
	http    http.Client
	retry   retryablehttp.Client
}

func (c *core) newExchange(ctx context.Context, call call, opts []RequestOption) *exchange {
	x := &exchange{core: c, call: call, ctx: ctx, start: time.Now(), worst: DeliveryNotSent}
	x.settings = c.perRequest.with(opts, &x.problems)
	return x
}

// failure is an error that learns the outcome of the call when it is over.
type failure interface {
	error
	conclude(attempts int, worst Delivery)
}

// run sends the call and returns its answer, unless something is wrong with it.
func (x *exchange) run() (*Response, error) {
	if err := x.problems.err(x.call.name); err != nil {
		return nil, err
	}
	if err := x.prepare(); err != nil {
		return nil, x.fail(&TransportError{Call: x.newCall(), Err: withoutURL(err)})
	}
	x.http = http.Client{Transport: x, CheckRedirect: x.core.http.CheckRedirect, Jar: x.core.http.Jar}
	x.retry = retryablehttp.Client{
		HTTPClient:   &x.http,
		RetryMax:     x.core.retry.MaxAttempts - 1,
		CheckRetry:   x.settle,
		Backoff:      waitExactly,
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
	// What it returns is known here already, and settle has closed the body.
	_, _ = x.retry.Do(&x.request)
	switch {
	case x.waiting:
		return nil, x.fail(&TransportError{Call: x.newCall(), Err: x.interrupted(contextError(x.ctx))})
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

// interrupted is why the call goes no further, together with the failure that
// it would have gone on from.
func (x *exchange) interrupted(why error) error {
	if x.failure == nil {
		return why
	}
	x.failure.conclude(x.attempts, x.worst)
	return &interruptedError{why, x.failure}
}

func (x *exchange) newCall() Call { return newCall(x.call.operation) }

func newCall(op operation) Call {
	return Call{Op: op.name, Method: op.method, Path: op.path, operation: op}
}

// contentJSON is a header value that all requests share, and nothing writes to.
var contentJSON = []string{"application/json"}

// prepare builds the request that every attempt is made from. It is given no
// body: go-retryablehttp would add a GetBody to it, with which net/http sends the
// body again of its own accord.
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
	if x.core.http.Jar != nil { // which adds to the header of every attempt
		x.header = req.Header.Clone()
	}
	return nil
}

// attempt is one try at a request, and what is proved about it.
type attempt struct {
	start   time.Time
	key     [1]string // the value of a header
	body    bytes.Reader
	ctx     context.Context
	cancel  context.CancelFunc
	trace   httptrace.ClientTrace
	asked   atomic.Int32 // connections asked for
	got     atomic.Int32 // connections obtained
	counted atomic.Int32 // those of them that count towards maxConnections
	looping atomic.Bool
	// held is why the attempt was not begun.
	held error
	// answer is what is judged. Of a redirect, net/http is not shown the body,
	// which it closes where it can't parse the Location.
	answer *http.Response
}

// maxConnections is how many connections one attempt may go through. More means
// that net/http is repeating the request on its own, which it does without end.
// Connections of HTTP/1 that were left idle and have died do not count: each is
// tried once, and there is an end to them.
const maxConnections = 3

func isLeftIdle(info httptrace.GotConnInfo) bool {
	if !info.Reused {
		return false
	}
	secure, ok := info.Conn.(*tls.Conn)
	return !ok || secure.ConnectionState().NegotiatedProtocol != "h2"
}

// begin puts an attempt on its way. What belongs to an earlier one is left
// alone: net/http may still be reading it.
func (x *exchange) begin(key string) *attempt {
	a := &x.first
	if x.attempts++; x.attempts > 1 {
		a = new(attempt)
	}
	a.start, a.key[0] = time.Now(), key
	a.body.Reset(x.body)
	ctx, cancel := context.WithTimeoutCause(x.ctx, x.core.timeout, ErrAttemptTimeout)
	a.cancel = cancel
	a.trace = httptrace.ClientTrace{
		GetConn: func(string) { a.asked.Add(1) },
		GotConn: func(info httptrace.GotConnInfo) {
			a.got.Add(1)
			if !isLeftIdle(info) && a.counted.Add(1) > maxConnections {
				a.looping.Store(true)
				cancel()
			}
		},
	}
	a.ctx = httptrace.WithClientTrace(ctx, &a.trace)
	return a
}

// request is what the attempt sends: req with a key and, unless it is a read, a
// body, were it an empty one. Without GetBody, that keeps net/http from sending
// it again of its own accord.
func (a *attempt) request(req *http.Request, isRead bool) *http.Request {
	req = req.WithContext(a.ctx)
	req.Header["X-Authorization"] = a.key[:]
	if !isRead {
		req.Body, req.ContentLength = io.NopCloser(&a.body), a.body.Size()
	}
	return req
}

// unbegun is an attempt that is held back.
func (x *exchange) unbegun(held error) *attempt {
	return &attempt{start: time.Now(), ctx: x.ctx, cancel: func() {}, held: held}
}

// provedNotSent reports the one sound proof that nothing was sent: a connection
// was asked for and never obtained. A transport that does not report to
// httptrace proves nothing.
func (a *attempt) provedNotSent() bool { return a.asked.Load() > 0 && a.got.Load() == 0 }

// RoundTrip makes one attempt. It hides CloseIdleConnections of the transport
// below, which go-retryablehttp would call after every failure.
func (x *exchange) RoundTrip(req *http.Request) (*http.Response, error) {
	x.waiting = false
	key, err := x.admit()
	if err != nil {
		x.attempt = x.unbegun(err)
		return nil, err
	}
	a := x.begin(key)
	x.attempt, x.key = a, key
	resp, err := x.core.http.Transport.RoundTrip(a.request(req, x.call.isRead()))
	if err != nil && resp != nil {
		closeBody(resp)
		resp = nil
	}
	a.answer = resp
	if resp != nil && resp.StatusCode >= 300 && resp.StatusCode <= 399 {
		shown := *resp
		shown.Body = http.NoBody
		return &shown, err
	}
	return resp, err
}

// admit lets an attempt begin, with a key: in time, and at the pace of the limiter.
func (x *exchange) admit() (key string, err error) {
	if x.ctx.Err() != nil {
		return "", contextError(x.ctx)
	}
	if x.core.limiter != nil {
		if err := x.core.limiter.Wait(x.ctx); err != nil {
			return "", x.heldBack("rate limiter", err)
		}
	}
	key, err = x.core.key(x.ctx)
	if err != nil {
		return "", x.heldBack("key source", err)
	}
	if problem := keyProblem(key); problem != "" {
		return "", errors.New("API key " + problem)
	}
	if x.ctx.Err() != nil { // meanwhile
		return "", contextError(x.ctx)
	}
	return key, nil
}

// heldBack is why a limiter or a key source let no attempt begin.
func (x *exchange) heldBack(by string, err error) error {
	if x.ctx.Err() != nil {
		return contextError(x.ctx)
	}
	return fmt.Errorf("%s: %w", by, withoutURL(err))
}

// settle judges an attempt: it reads the answer, notes what became of the
// request, and decides whether to try again.
func (x *exchange) settle(_ context.Context, resp *http.Response, err error) (bool, error) {
	if x.attempt == nil { // net/http refuses the request by itself
		x.attempt = x.unbegun(withoutURL(err))
	}
	defer x.attempt.cancel()
	if x.attempt.answer != nil {
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
	x.retry.RetryWaitMin, x.waiting = x.core.retry.pause(x.ctx, x.attempts, retryAfter, asked)
	if x.waiting { // an earlier attempt may still be writing its header, and a cookie jar has added to it
		x.request.Header = x.header.Clone()
	}
	return x.waiting, nil
}

// waitExactly is the backoff for a wait that settle has decided on.
func waitExactly(decided, _ time.Duration, _ int, _ *http.Response) time.Duration { return decided }

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
		return x.broken(x.interrupted(x.attempt.held), DeliveryNotSent, repeatNever)
	case resp == nil:
		cause := x.cause(err)
		delivery, repeat := judgeFailure(cause, x.attempt.provedNotSent())
		return x.broken(x.publicError(cause), delivery, repeat)
	}
	if resp.Body == nil { // a transport of the caller's may leave it out
		resp.Body = http.NoBody
	}
	defer closeBody(resp)
	if resp.StatusCode >= 200 && resp.StatusCode <= 299 {
		return x.judgeSuccess(resp)
	}
	delivery, repeat := judgeStatus(resp.StatusCode)
	r := newReader()
	defer r.free()
	if resp.StatusCode >= 200 { // below, the body is the connection
		// What came is kept; a key across the limit is to be found whole.
		_, _ = r.fetch(resp, int64(maxErrorBody+len(x.key)))
	}
	return verdict{failure: x.apiError(resp, r.body.Bytes()), delivery: delivery, repeat: repeat}
}

// broken is the verdict on an attempt without a usable answer.
func (x *exchange) broken(cause error, delivery Delivery, repeat repeatable) verdict {
	if x.attempt.looping.Load() {
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
	case err != nil: // which does not undo a 2xx
		return x.broken(x.publicError(x.cause(err)), DeliveryUnknown, repeatReads)
	case tooLarge:
		err := fmt.Errorf("is over the limit of %d bytes: %w", x.core.maxBytes, ErrTooLarge)
		return x.unusable(resp, r.body.Bytes(), at(wholeAnswer, err), DeliveryUnknown)
	}
	body := r.body.Bytes()
	answer, err := r.envelope(body, x.call.rows)
	switch {
	case err != nil:
		return x.unusable(resp, body, err, DeliveryUnknown)
	case !answer.success, x.call.refusable && string(answer.data) == "false":
		return verdict{failure: x.apiError(resp, body), delivery: DeliveryRejected}
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
	return verdict{response: newResponse(resp, answer), delivery: DeliveryAccepted}
}

func newResponse(resp *http.Response, answer envelope) *Response {
	return &Response{StatusCode: resp.StatusCode, Header: resp.Header, Message: answer.message, Data: answer.data}
}

func (x *exchange) unusable(resp *http.Response, body []byte, err error, d Delivery) verdict {
	if x.quotesKey(err.Error()) { // as the name of a member
		err = &withheldError{"the name of a member", err}
	}
	return verdict{delivery: d, failure: &DecodeError{Call: x.newCall(), StatusCode: resp.StatusCode,
		Header: x.keptHeader(resp.Header), Body: x.keptBody(body), Err: err}}
}

// shortestSecret is the shortest key that is looked for in a text: a shorter one
// would be found by chance.
const shortestSecret = 8

// keptBody is the beginning of body as an error keeps it. A service that quotes
// the API key does not get it into a log.
func (x *exchange) keptBody(body []byte) []byte {
	body = bytes.Clone(body[:min(len(body), maxErrorBody+len(x.key))])
	if key := []byte(x.key); len(key) >= shortestSecret && bytes.Contains(body, key) {
		body = bytes.ReplaceAll(body, key, []byte(hiddenKey))
	}
	return body[:min(len(body), maxErrorBody)]
}

// keptHeader is header as an error keeps it.
func (x *exchange) keptHeader(header http.Header) http.Header {
	kept := header.Clone()
	for _, values := range kept {
		for i, value := range values {
			values[i] = x.withoutKey(value)
		}
	}
	return kept
}

// hiddenKey stands for the API key where an answer quotes it.
const hiddenKey = "[API key]"

func (x *exchange) quotesKey(text string) bool {
	return len(x.key) >= shortestSecret && strings.Contains(text, x.key)
}

// withoutKey is text as it can be shown. JSON can spell the key in a way that is
// not found in the body.
func (x *exchange) withoutKey(text string) string {
	if !x.quotesKey(text) {
		return text
	}
	return strings.ReplaceAll(text, x.key, hiddenKey)
}

func (x *exchange) apiError(resp *http.Response, body []byte) *APIError {
	body = x.keptBody(body)
	c := readComplaint(body)
	c.rewrite(x.withoutKey)
	retryAfter, _ := retryAfterOf(resp)
	return &APIError{Call: x.newCall(), StatusCode: resp.StatusCode, Code: c.code, Message: c.message, Fields: c.fields,
		RetryAfter: retryAfter, Header: x.keptHeader(resp.Header), Body: body}
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

// publicError is err without what must not be shown. Where a server sends back
// what it was sent in place of an answer, net/http quotes that as malformed.
func (x *exchange) publicError(err error) error {
	if x.ctx.Err() != nil { // and the cause is the caller's
		return err
	}
	text := err.Error()
	query, _ := url.QueryUnescape(x.call.query)
	if x.quotesKey(text) || strings.Contains(text, "@") || strings.Contains(text, "%40") ||
		query != "" && (strings.Contains(text, x.call.query) || strings.Contains(text, query)) {
		return &withheldError{"the transport failed", err}
	}
	var network net.Error
	if x.attempt.got.Load() > 0 && !errors.As(err, &network) {
		var protocol textproto.ProtocolError
		if errors.As(err, &protocol) {
			return &withheldError{"a malformed header", err}
		}
		if shown, _, quotes := strings.Cut(text, `"`); quotes {
			return &withheldError{strings.TrimRight(shown, ": "), err}
		}
	}
	return err
}

// withheldError shows the part of a cause that quotes nobody. The rest can be
// recognised, and not unwrapped.
type withheldError struct {
	shown string
	err   error
}

func (e *withheldError) Error() string {
	return e.shown + " (the rest quotes the request or the answer, and is not shown)"
}

func (e *withheldError) Is(target error) bool { return errors.Is(e.err, target) }

// Format keeps %#v from printing what is withheld.
func (e *withheldError) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, e.Error()) }

// contextError is why ctx is done: its error, and the cause that was given.
func contextError(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != ctx.Err() {
		return fmt.Errorf("%w: %w", ctx.Err(), withoutURL(cause))
	}
	return ctx.Err()
}

// interruptedError is why a call ended between two attempts, and how the first
// of the two went.
type interruptedError struct{ why, earlier error }

func (e *interruptedError) Error() string { return e.why.Error() + " while waiting to try again" }

func (e *interruptedError) Unwrap() []error { return []error{e.why, e.earlier} }

// withoutURL takes errors of net/url out of err: they print the URL with its
// query, where the filters are, and so somebody's e-mail address.
func withoutURL(err error) error {
	var withURL *url.Error
	for errors.As(err, &withURL) && withURL.Err != nil {
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
		slog.Duration("duration", time.Since(x.attempt.start)),
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
