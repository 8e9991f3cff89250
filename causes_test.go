package messaging_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

// The kinds of calls. A cause of another kind has nothing to do with a call.
const (
	aRead           = "read"
	aSend           = "send"
	aRepeatableSend = "repeatable send"
	noCall          = "no call"
)

// cause is a way for a call to fail.
type cause struct {
	name string
	// kinds are the kinds of calls that can fail in this way, all three if it is nil.
	kinds []string
	// scenes are what the transport does. There is one attempt for each of them.
	scenes []scripted.Scene
	opts   []messaging.Option
	// patience is how long the caller waits, or 0 for as long as it takes.
	patience time.Duration
	// read and send make the call. Their defaults list customers and trigger an event.
	read, send scripted.Call
	// err is an error that is not that of a call over the scenes.
	err func(testing.TB) error
}

// everyKind returns the kinds of calls that can fail in this way.
func (c cause) everyKind() []string {
	switch {
	case c.err != nil:
		return []string{noCall}
	case c.kinds != nil:
		return c.kinds
	default:
		return []string{aRead, aSend, aRepeatableSend}
	}
}

// fail makes a call of a kind, and returns its error.
func (c cause) fail(tb testing.TB, kind string) error {
	tb.Helper()
	_, err := c.failWithin(tb, max(1, len(c.scenes)), kind)
	return err
}

// failWithin makes a call of a kind, and returns how many requests it made of as many attempts, and its error.
func (c cause) failWithin(tb testing.TB, attempts int, kind string) (requests int, err error) {
	tb.Helper()
	if c.err != nil {
		return 0, c.err(tb)
	}
	scenes := c.scenes
	if scenes == nil {
		scenes = []scripted.Scene{scripted.Responds(200, scripted.Success)}
	}
	policy := messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: attempts})
	client, transport := scripted.NewClient(tb, scenes, append([]messaging.Option{policy}, c.opts...)...)
	ctx := tb.Context()
	if c.patience > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.patience)
		defer cancel()
	}
	perform, opts := c.callOf(kind)
	err = perform(ctx, client, opts...)
	return len(transport.Sent), err
}

func (c cause) callOf(kind string) (scripted.Call, []messaging.RequestOption) {
	read, send := c.read, c.send
	if read == nil {
		read = scripted.ReadCustomers
	}
	if send == nil {
		send = scripted.TriggerEvent
	}
	switch kind {
	case aRead:
		return read, nil
	case aRepeatableSend:
		return send, []messaging.RequestOption{messaging.WithRepeatableSend()}
	default:
		return send, nil
	}
}

// failIn makes the call in a bubble, where waits take no time.
func (c cause) failIn(t *testing.T, kind string) (err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { err = c.fail(t, kind) })
	return err
}

// The bodies of a response that is not a success.
const (
	serviceJSON = scripted.Failure
	otherJSON   = `{"message":"no Route matched with those values"}`
	htmlPage    = "<html><body>Not here</body></html>"
)

// causes are the ways for a call to fail.
func causes() []cause {
	var all []cause
	for _, some := range [][]cause{causesBeforeTheCall(), causesOfTheConnection(), causesOfTheWait(), causesOfStatuses(),
		causesOf2xx(), causesOfLookups(), causesOfOtherErrors(), causesOfJoins()} {
		all = append(all, some...)
	}
	return all
}

func causeNamed(t testing.TB, name string) cause {
	t.Helper()
	for _, c := range causes() {
		if c.name == name {
			return c
		}
	}
	require.Fail(t, "no cause is named "+name)
	return cause{}
}

var sends = []string{aSend, aRepeatableSend}

func causesBeforeTheCall() []cause {
	guarded := func(guard func(context.Context, *messaging.Prepared) error) []messaging.Option {
		return []messaging.Option{messaging.WithGuard(guard)}
	}
	waits := func(ctx context.Context, _ *messaging.Prepared) error { <-ctx.Done(); return ctx.Err() }
	waitsForCause := func(ctx context.Context, _ *messaging.Prepared) error { // as net/http does
		<-ctx.Done()
		return fmt.Errorf("consent: %w", context.Cause(ctx))
	}
	refuses := func(context.Context, *messaging.Prepared) error { return errors.New("not today") }
	return []cause{
		{name: "no failure"},
		{name: "invalid arguments",
			read: func(ctx context.Context, client *messaging.Client, _ ...messaging.RequestOption) error {
				_, err := client.Customers.List(ctx, messaging.CustomerListParams{PerPage: -1})
				return err
			},
			send: func(ctx context.Context, client *messaging.Client, _ ...messaging.RequestOption) error {
				_, err := client.Events.Trigger(ctx, messaging.EventTriggerParams{})
				return err
			}},
		{name: "refused by a guard", kinds: sends, opts: guarded(refuses)},
		{name: "refused by WithAllowOnly", kinds: sends, opts: []messaging.Option{messaging.WithAllowOnly("@acme.test")}},
		{name: "the context ended in a guard", kinds: sends, opts: guarded(waits), patience: time.Second},
		{name: "the context ended in a guard that returns its cause", kinds: sends, opts: guarded(waitsForCause),
			send: endedBy(errors.New("another order failed"), scripted.TriggerEvent)},
		{name: "invalid arguments of NewClient", err: func(testing.TB) error {
			_, err := messaging.NewClient("api.example.com", "")
			return err
		}},
		{name: "malformed API key of NewClient", err: func(testing.TB) error {
			_, err := messaging.NewClient("https://api.example.com", "a key")
			return err
		}},
		{name: "malformed API key of the key source",
			read: withKeySource("key\n", nil, scripted.ReadCustomers), send: withKeySource("key\n", nil, scripted.TriggerEvent)},
		{name: "the key source failed",
			read: withKeySource("", errors.New("sealed"), scripted.ReadCustomers),
			send: withKeySource("", errors.New("sealed"), scripted.TriggerEvent)},
		{name: "the rate limiter failed", opts: []messaging.Option{messaging.WithRateLimiter(failingLimiter{})}},
		{name: "WithNotAfter had passed",
			read: notAfter(-time.Second, scripted.ReadCustomers), send: notAfter(-time.Second, scripted.TriggerEvent)},
		{name: "WithNotAfter passed in a hook", opts: []messaging.Option{messaging.WithHooks(messaging.Hooks{AttemptStart: hookOfASecond})},
			read: notAfter(time.Millisecond, scripted.ReadCustomers), send: notAfter(time.Millisecond, scripted.TriggerEvent)},
		{name: "the context ended before the call", patience: time.Nanosecond,
			read: afterASecond(scripted.ReadCustomers), send: afterASecond(scripted.TriggerEvent)},
	}
}

// withKeySource returns a call of a client whose key source returns key and err. Its
// transport panics if a request reaches it.
func withKeySource(key string, err error, perform scripted.Call) scripted.Call {
	return func(ctx context.Context, _ *messaging.Client, opts ...messaging.RequestOption) error {
		client, invalid := messaging.NewClient("https://api.example.com", "",
			messaging.WithHTTPClient(&http.Client{Transport: new(scripted.Transport)}),
			messaging.WithKeySource(func(context.Context) (string, error) { return key, err }))
		if invalid != nil {
			return invalid
		}
		return perform(ctx, client, opts...)
	}
}

type failingLimiter struct{}

func (failingLimiter) Wait(context.Context) error { return errors.New("no lease") }

// notAfter returns a call that must begin within a duration.
func notAfter(within time.Duration, perform scripted.Call) scripted.Call {
	return func(ctx context.Context, client *messaging.Client, opts ...messaging.RequestOption) error {
		return perform(ctx, client, append(opts, messaging.WithNotAfter(time.Now().Add(within)))...)
	}
}

func hookOfASecond(context.Context, messaging.AttemptInfo) context.Context {
	time.Sleep(time.Second) // of the bubble
	return nil
}

func afterASecond(perform scripted.Call) scripted.Call {
	return func(ctx context.Context, client *messaging.Client, opts ...messaging.RequestOption) error {
		time.Sleep(time.Second) // of the bubble
		return perform(ctx, client, opts...)
	}
}

func causesOfTheConnection() []cause {
	over := func(name string, scene scripted.Scene) cause {
		return cause{name: name, scenes: []scripted.Scene{scene}}
	}
	handshakeTimeout := &net.OpError{Op: "dial", Net: "tcp", Err: timeoutError("net/http: TLS handshake timeout")}
	silently := func(err error) scripted.Scene {
		return func(*http.Request) (*http.Response, error) { return nil, err }
	}
	noSuchHost := scripted.ErrLookup(net.DNSError{IsNotFound: true, Err: "no such host", Name: "api.example.com"})
	noConnection := []cause{
		over("the context ended while connecting", scripted.NeverConnectsInTime),
		over("connection refused", scripted.NeverConnects(scripted.ErrRefused)),
		over("connection refused, by a transport that reports nothing", silently(scripted.ErrRefused)),
		over("the name server failed", scripted.NeverConnects(scripted.ErrLookup(net.DNSError{IsTemporary: true, Err: "server misbehaving"}))),
		over("connecting took too long", scripted.NeverConnects(scripted.ErrDialTimeout)),
		over("the name server did not answer", scripted.NeverConnects(scripted.ErrLookup(net.DNSError{IsTimeout: true, Err: "i/o timeout"}))),
		over("the handshake took too long", scripted.NeverConnects(handshakeTimeout)),
		over("the handshake was reset", scripted.NeverConnects(scripted.ErrReset)),
		over("the handshake broke off", scripted.NeverConnects(io.EOF)),
		over("the handshake broke off within a record", scripted.NeverConnects(io.ErrUnexpectedEOF)),
		over("the server closed the idle connection", scripted.NeverConnects(errors.New("http: server closed idle connection"))),
		over("the proxy cannot be reached", scripted.NeverConnects(&net.OpError{Op: "proxyconnect", Net: "tcp", Err: scripted.ErrRefused})),
		over("no such host", scripted.NeverConnects(noSuchHost)),
		over("no such host, by a transport that reports nothing", silently(noSuchHost)),
		over("bad certificate", scripted.NeverConnects(scripted.ErrUnknownCA)),
		over("bad certificate, by a transport that reports nothing", silently(scripted.ErrUnknownCA)),
		over("bad certificate, within a net.Error", scripted.NeverConnects(fmt.Errorf("tracing: %w", &url.Error{Err: scripted.ErrUnknownCA}))),
		over("bad certificate of the proxy", scripted.NeverConnects(&net.OpError{Op: "proxyconnect", Err: scripted.ErrUnknownCA})),
		over("the handshake was refused", scripted.NeverConnects(&net.OpError{Op: "remote error", Err: tls.AlertError(40)})),
		over("https to a port that speaks http", scripted.NeverConnects(http.ErrSchemeMismatch)),
		over("the proxy rejected CONNECT", scripted.NeverConnects(errors.New("Proxy Authentication Required"))),
		over("the proxy rejected SOCKS", scripted.NeverConnects(&net.OpError{Op: "socks connect", Err: errors.New("not allowed by ruleset")})),
		over("an unknown error of a custom transport", silently(errors.New("no mock matches"))),
		over("a custom transport without a response or an error", silently(nil)),
	}
	noConnection[0].patience = time.Second
	connected := []cause{
		{name: "the context ended once connected", scenes: []scripted.Scene{scripted.Connects(scripted.Hangs)}, patience: time.Second},
		over("EOF", scripted.Breaks(io.EOF)),
		over("connection reset", scripted.Breaks(scripted.ErrReset)),
		over("connection refused once connected", scripted.Breaks(scripted.ErrRefused)),
		over("attempt timeout", scripted.Connects(scripted.Hangs)),
		over("attempt timeout while connecting", scripted.NeverConnectsInTime),
		over("malformed HTTP", scripted.Breaks(errors.New("net/http: HTTP/1.x transport connection broken: malformed HTTP response"))),
		over("an unknown error once connected", scripted.Breaks(errors.New("no mock matches"))),
	}
	return append(noConnection, connected...)
}

// timeoutError is a net.Error.
type timeoutError string

func (e timeoutError) Error() string { return string(e) }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }

func causesOfTheWait() []cause {
	during := func(name string, kinds []string, scene scripted.Scene) cause {
		// The second scene is never played.
		return cause{name: "the context ended in the wait after " + name, kinds: kinds,
			scenes: []scripted.Scene{scene, scripted.Responds(200, scripted.Success)},
			read:   canceledSoon(scripted.ReadCustomers), send: canceledSoon(scripted.TriggerEvent)}
	}
	lost := []string{aRead, aRepeatableSend}
	late := func(name string, kinds []string, scene scripted.Scene) cause {
		// No retry is as early as that. The second scene is never played.
		return cause{name: "WithNotAfter ruled out a retry after " + name, kinds: kinds,
			scenes: []scripted.Scene{scene, scripted.Responds(200, scripted.Success)},
			read:   notAfter(time.Millisecond, scripted.ReadCustomers), send: notAfter(time.Millisecond, scripted.TriggerEvent)}
	}
	after := func(name string, kinds []string, scenes ...scripted.Scene) cause {
		return cause{name: name, kinds: kinds, scenes: scenes}
	}
	return []cause{
		during("connection refused", nil, scripted.NeverConnects(scripted.ErrRefused)),
		during("429", nil, scripted.Responds(429, serviceJSON)),
		during("EOF", lost, scripted.Breaks(io.EOF)),
		during("503", lost, scripted.Responds(503, serviceJSON)),
		late("connection refused", nil, scripted.NeverConnects(scripted.ErrRefused)),
		late("429", nil, scripted.Responds(429, serviceJSON)),
		late("EOF", lost, scripted.Breaks(io.EOF)),
		after("422 after EOF", lost, scripted.Breaks(io.EOF), scripted.Responds(422, serviceJSON)),
		after("401 after 503", lost, scripted.Responds(503, ""), scripted.Responds(401, serviceJSON)),
		after("bad certificate after EOF", lost, scripted.Breaks(io.EOF), scripted.NeverConnects(scripted.ErrUnknownCA)),
		after("connection refused after EOF", lost, scripted.Breaks(io.EOF), scripted.NeverConnects(scripted.ErrRefused)),
		after("429 after EOF", lost, scripted.Breaks(io.EOF), scripted.Responds(429, serviceJSON)),
		after("422 after connection refused", nil, scripted.NeverConnects(scripted.ErrRefused), scripted.Responds(422, serviceJSON)),
		after("connection refused after 429", nil, scripted.Responds(429, serviceJSON), scripted.NeverConnects(scripted.ErrRefused)),
		after("EOF after 429", nil, scripted.Responds(429, serviceJSON), scripted.Breaks(io.EOF)),
		after("EOF after connection refused", nil, scripted.NeverConnects(scripted.ErrRefused), scripted.Breaks(io.EOF)),
	}
}

// canceledSoon returns a call that is canceled during the wait after the first attempt. Its
// context has no deadline, since a wait that is longer than the time left is not begun.
func canceledSoon(perform scripted.Call) scripted.Call {
	return func(ctx context.Context, client *messaging.Client, opts ...messaging.RequestOption) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		timer := time.AfterFunc(100*time.Millisecond, cancel)
		defer timer.Stop()
		return perform(ctx, client, opts...)
	}
}

// endedBy returns a call whose context soon ends with a cause.
func endedBy(cause error, perform scripted.Call) scripted.Call {
	return func(ctx context.Context, client *messaging.Client, opts ...messaging.RequestOption) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		timer := time.AfterFunc(100*time.Millisecond, func() { cancel(cause) })
		defer timer.Stop()
		return perform(ctx, client, opts...)
	}
}

// customRead is a read with Client.Do.
var customRead = scripted.Do(messaging.Request{Operation: "get tag", Method: "GET", Path: "/v1/tags/7"})

func causesOfStatuses() []cause {
	var all []cause
	for _, group := range []struct {
		statuses []int
		bodies   map[string]string
	}{
		{[]int{400, 409, 415, 418, 422}, map[string]string{"JSON of the service": serviceJSON, "other JSON": otherJSON, "a JSON array": `["No."]`,
			"HTML": htmlPage, "text": "No.", "an empty body": ""}},
		{[]int{413, 414}, map[string]string{"JSON of the service": serviceJSON, "HTML": htmlPage, "an empty body": ""}},
		{[]int{401, 402, 403, 405, 406, 407, 410, 421, 423, 426, 428, 431, 451, 499},
			map[string]string{"JSON of the service": serviceJSON, "HTML": htmlPage}},
		{[]int{404}, map[string]string{"JSON of the service": serviceJSON, "other JSON": otherJSON, "HTML": htmlPage, "an empty body": ""}},
		{[]int{429, 408, 425, 500, 502, 503, 504, 520, 599, 501, 505, 101, 302, 304, 506, 511, 600},
			map[string]string{"JSON of the service": serviceJSON, "HTML": htmlPage}},
	} {
		for _, status := range group.statuses {
			for _, with := range []string{"JSON of the service", "other JSON", "a JSON array", "HTML", "text", "an empty body"} {
				if body, ok := group.bodies[with]; ok {
					all = append(all, cause{name: fmt.Sprintf("%d with %s", status, with), scenes: []scripted.Scene{scripted.Responds(status, body)}})
				}
			}
		}
	}
	return append(all,
		cause{name: "404 of a creation with JSON of the service", kinds: sends, send: scripted.CreateEvent,
			scenes: []scripted.Scene{scripted.Responds(404, serviceJSON)}},
		cause{name: "404 of Client.Do with JSON of the service", kinds: []string{aRead}, read: customRead,
			scenes: []scripted.Scene{scripted.Responds(404, serviceJSON)}},
		cause{name: "422 with JSON that is cut off", scenes: []scripted.Scene{
			scripted.Responds(422, `{"errors":["`+strings.Repeat("x", scripted.MaxKeptBody)+`"]}`)}},
		cause{name: "429 with a long Retry-After", scenes: []scripted.Scene{scripted.Responds(429, serviceJSON, "Retry-After", "3600")}})
}

func causesOf2xx() []cause {
	over := func(name, body string) cause {
		return cause{name: "2xx " + name, scenes: []scripted.Scene{scripted.Responds(200, body)}}
	}
	createsEvent := func(c cause) cause { c.send = scripted.CreateEvent; return c }
	const rows = `{"success":true,"data":[{"customer_id":"c-1"}],"meta":{"has_next_page":true,"next_page_cursor":"c1"}}`
	tooLarge := over("that is too large", `{"success":true,"message":"`+strings.Repeat("x", 100)+`"}`)
	tooLarge.opts = []messaging.Option{messaging.WithMaxResponseBytes(100)}
	falseData := over("with success true and data false", `{"success":true,"data":false}`)
	falseData.kinds = sends
	return []cause{
		{name: "2xx cut short", scenes: []scripted.Scene{scripted.RespondsFrom(200, &scripted.CutShort{})}},
		over("with HTML", htmlPage),
		over("with text", "OK"),
		over("with an empty body", ""),
		{name: "204", scenes: []scripted.Scene{scripted.Responds(204, "")}},
		over("without success", `{"message":"Done"}`),
		over("with success as a string", `{"success":"true"}`),
		over("with success twice", `{"success":true,"success":true}`),
		createsEvent(over("with data twice", `{"success":true,"data":{"id":"e-1"},"data":{"id":"e-1"}}`)),
		tooLarge,
		over("with success false", serviceJSON),
		falseData,
		createsEvent(over("with success true and unreadable data", `{"success":true,"data":7}`)),
		{name: "2xx with unreadable data after EOF", kinds: []string{aRepeatableSend}, send: scripted.CreateEvent,
			scenes: []scripted.Scene{scripted.Breaks(io.EOF), scripted.Responds(200, `{"success":true,"data":7}`)}},
		{name: "a cursor that leads back", kinds: []string{aRead}, read: rangeFrom(""),
			opts:   []messaging.Option{messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 1})},
			scenes: []scripted.Scene{scripted.Responds(200, rows)}},
	}
}

func causesOfLookups() []cause {
	const (
		noRows   = `{"success":true,"data":[]}`
		oneEvent = `{"success":true,"data":[{"id":"e-1","name":"order paid","parameters":[]}]}`
		two      = `{"success":true,"data":[{"id":"e-1","name":"order paid","parameters":[{"name":"order","type":"text"}]},` +
			`{"id":"e-2","name":"order paid","parameters":[]}]}`
		another = `{"success":true,"data":{"data":[{"customer_id":"c-2"}]}}`
	)
	get := func(ctx context.Context, client *messaging.Client, _ ...messaging.RequestOption) error {
		_, err := client.Customers.Get(ctx, "c-1")
		return err
	}
	find := func(ctx context.Context, client *messaging.Client, _ ...messaging.RequestOption) error {
		_, err := client.Events.GetByName(ctx, "order paid")
		return err
	}
	ensure := func(ctx context.Context, client *messaging.Client, opts ...messaging.RequestOption) error {
		_, err := client.Events.Ensure(ctx, messaging.EventCreateParams{Name: "order paid", Description: "An order was paid",
			Parameters: []messaging.EventParameter{{Name: "order", Type: messaging.ParameterText}}}, opts...)
		return err
	}
	reading := func(name string, read scripted.Call, scene scripted.Scene) cause {
		return cause{name: name, kinds: []string{aRead}, read: read, scenes: []scripted.Scene{scene}}
	}
	ensuring := func(name string, scene scripted.Scene) cause {
		return cause{name: name, kinds: sends, send: ensure, scenes: []scripted.Scene{scene}}
	}
	return []cause{
		reading("no such customer", get, scripted.Responds(200, noRows)),
		reading("another customer", get, scripted.Responds(200, another)),
		reading("no such event", find, scripted.Responds(200, noRows)),
		reading("several events of that name", find, scripted.Responds(200, two)),
		reading("503 of a page", rangeFrom("c7"), scripted.Responds(503, "")),
		reading("422 of a page", rangeFrom("c7"), scripted.Responds(422, serviceJSON)),
		reading("503 of a lookup", find, scripted.Responds(503, "")),
		ensuring("an event that differs", scripted.Responds(200, oneEvent)),
		ensuring("several events of that name in Ensure", scripted.Responds(200, two)),
		{name: "an event that was created under another name", kinds: sends, send: ensure,
			scenes: []scripted.Scene{scripted.Responds(200, noRows), scripted.Responds(200, `{"success":true,"data":{"id":"e-1","name":"paid"}}`)}},
		{name: "an event that was created when another program created one that differs", kinds: sends, send: ensure,
			scenes: []scripted.Scene{scripted.Responds(200, noRows),
				scripted.Responds(200, `{"success":true,"data":{"id":"e-1","name":"order paid"}}`), scripted.Responds(200, two)}},
		ensuring("429 of the lookup in Ensure", scripted.Responds(429, serviceJSON)),
		ensuring("503 of the lookup in Ensure", scripted.Responds(503, "")),
		ensuring("401 of the lookup in Ensure", scripted.Responds(401, "")),
		{name: "EOF of the creation in Ensure", kinds: sends, send: ensure,
			opts:   []messaging.Option{messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 1})},
			scenes: []scripted.Scene{scripted.Responds(200, noRows), scripted.Breaks(io.EOF)}},
	}
}

// ownStep is an error type of a program, with a step.
type ownStep struct{}

func (ownStep) Error() string                { return "out of stock" }
func (ownStep) NextStep() messaging.NextStep { return messaging.NextRetry }

// is returns a cause that is an error.
func is(name string, err error) cause {
	return cause{name: name, err: func(testing.TB) error { return err }}
}

func causesOfOtherErrors() []cause {
	return []cause{
		is("a foreign error", io.EOF),
		is("a foreign error that wraps a foreign error", fmt.Errorf("monday: %w", io.EOF)),
		is("a foreign error that wraps nothing", emptyWrapper{io.EOF}),
		is("a foreign error that joins nothing", emptyList{io.EOF}),
		is("an error with a step of another package", ownStep{}),
		is("a zero ValidationError", new(messaging.ValidationError)),
		is("a zero GuardError", new(messaging.GuardError)),
		is("a zero APIError", new(messaging.APIError)),
		is("a zero TransportError", new(messaging.TransportError)),
		is("a zero DecodeError", new(messaging.DecodeError)),
		is("a zero PageError", new(messaging.PageError)),
		is("a sentinel of a status", messaging.ErrRateLimited),
		is("the sentinel of a lookup", messaging.ErrEventDiffers),
	}
}

// joins are joined causes of sends. The causes are separated by plus signs.
var joins = []string{
	"422 with HTML + 422 with HTML", "EOF + 429 with HTML", "2xx with success true and unreadable data + 429 with HTML",
	"2xx with success true and unreadable data + 2xx with success true and unreadable data",
	"429 with HTML + 422 with JSON of the service + 401 with HTML", "422 with JSON of the service + 429 with HTML",
	"429 with HTML + connection refused", "422 with JSON of the service + a foreign error",
	"2xx with success true and unreadable data + a foreign error",
}

func causesOfJoins() []cause {
	var all []cause
	for _, join := range joins {
		all = append(all, cause{name: join, err: func(tb testing.TB) error {
			var joined []error
			for name := range strings.SplitSeq(join, " + ") {
				joined = append(joined, causeNamed(tb, name).fail(tb, aSend))
			}
			return errors.Join(joined...)
		}})
	}
	return all
}
