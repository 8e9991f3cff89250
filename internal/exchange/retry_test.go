package exchange_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/faultserver"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

// requestCounts is how many requests are made when every attempt ends alike: by
// a read, by a send, and by a send with WithRepeatableSend.
type requestCounts struct{ read, send, repeatable int }

var (
	repeatsEverything    = requestCounts{3, 3, 3}
	repeatsNothing       = requestCounts{1, 1, 1}
	repeatsReads         = requestCounts{3, 1, 1}
	repeatsUnlessHarmful = requestCounts{3, 1, 3}
)

var (
	errProxy = &net.OpError{Op: "proxyconnect", Net: "tcp", Err: scripted.ErrRefused}
	errAlert = &net.OpError{Op: "remote error", Err: tls.AlertError(40)}
)

// outcome is what an attempt can come to, and what the client makes of it.
type outcome struct {
	name     string
	attempts []scriptedAttempt
	failure  error // an error of the type that is due, nil for success
	delivery messaging.Delivery
	requests requestCounts
	row      string // of the table in the documentation
}

// scenario is an outcome, and what it takes in addition to a scene.
type scenario struct {
	outcome
	opts   []messaging.Option
	within func(context.Context) (context.Context, context.CancelFunc) // nil for any time
	read   scripted.Call                                               // nil for a list of customers
	send   scripted.Call                                               // nil for a broadcast
}

// scenarios are all outcomes, beginning with those that take more than a scene.
func scenarios() []scenario {
	transport, api, decode := new(messaging.TransportError), new(messaging.APIError), new(messaging.DecodeError)
	soon := func(ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithTimeout(ctx, 100*time.Millisecond)
	}
	over := func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		return ctx, cancel
	}
	failing := []messaging.Option{messaging.WithRateLimiter(&countingLimiter{failFrom: 1, err: errors.New("no lease")})}
	refusing := []messaging.Option{messaging.WithGuard(func(context.Context, *messaging.Prepared) error { return errors.New("no") })}
	success, none := when(scripted.Responds(200, scripted.Success)), requestCounts{}
	notSent := messaging.DeliveryNotSent
	all := []scenario{
		{outcome: outcome{"invalid arguments", success, new(messaging.ValidationError), notSent, none, rowInvalid},
			read: scripted.Do(messaging.Request{Method: "GET"}),
			send: scripted.Do(messaging.Request{Method: "POST", Path: "/v1/tags", Body: newEndless()})},
		{outcome: outcome{"a guard that refuses", success, new(messaging.GuardError), notSent, none, rowInvalid},
			opts: refusing, read: scripted.TriggerEvent},
		{outcome: outcome{"a malformed key", success, transport, notSent, none, rowBadKey},
			read: withMalformedKey(scripted.ReadCustomers), send: withMalformedKey(scripted.SendBroadcast)},
		{outcome: outcome{"a limiter that fails", success, transport, notSent, none, rowNotBegun}, opts: failing},
		{outcome: outcome{"a context that is over", success, transport, notSent, none, rowNotBegun}, within: over},
		{outcome: outcome{"a context that ends", when(scripted.Connects(scripted.Hangs)), transport, messaging.DeliveryUnknown,
			repeatsNothing, rowContextEnded}, within: soon},
		{outcome: outcome{"a trigger whose data is false", when(scripted.Responds(200, `{"success":true,"data":false}`)), api,
			messaging.DeliveryRejected, repeatsNothing, rowSuccessFalse}, read: scripted.TriggerEvent, send: scripted.TriggerEvent},
		{outcome: outcome{"data that cannot be read", when(scripted.Responds(200, `{"success":true,"data":7}`)), decode,
			messaging.DeliveryAccepted, repeatsNothing, rowDataUnreadable}, send: scripted.CreateEvent},
		{outcome: outcome{"404 of the service", answered(scripted.Failure, 404), api, messaging.DeliveryRejected, repeatsNothing, row404}},
	}
	for _, o := range outcomes() {
		all = append(all, scenario{outcome: o})
	}
	return all
}

// newEndless returns a value that holds itself.
func newEndless() map[string]any {
	endless := map[string]any{}
	endless["self"] = endless
	return endless
}

// withMalformedKey returns a call of a client whose key source returns a malformed key.
func withMalformedKey(call scripted.Call) scripted.Call {
	return func(ctx context.Context, _ *messaging.Client, opts ...messaging.RequestOption) error {
		client, err := messaging.NewClient("https://api.example.com", "",
			messaging.WithKeySource(func(context.Context) (string, error) { return "key\n", nil }))
		if err != nil {
			return err
		}
		return call(ctx, client, opts...)
	}
}

type scriptedAttempt struct {
	status int // -1 where it does not matter
	play   scripted.Scene
}

func when(play scripted.Scene) []scriptedAttempt { return []scriptedAttempt{{-1, play}} }

// answered gives the same answer under each of the statuses.
func answered(body string, statuses ...int) []scriptedAttempt {
	var attempts []scriptedAttempt
	for _, status := range statuses {
		attempts = append(attempts, scriptedAttempt{status, scripted.Responds(status, body)})
	}
	return attempts
}

// The rows of the table in the documentation.
const (
	rowInvalid         = firstRow
	rowNotBegun        = "not begun: key source, limiter, context"
	rowBadKey          = "not begun: malformed API key"
	rowNoConnectionNow = "no connection (temporary)"
	rowNoConnection    = "no connection: host, certificate or proxy"
	rowUnrecognized    = "an unknown error from your transport"
	rowNoResponse      = "connected, no response"
	rowContextEnded    = "connected, and the caller's context ended"
	row429             = "429"
	rowServerError     = "408, 425, 500, 502, 503, 504, 520 to 599"
	rowBadRequest      = "422 with JSON, 413, 414, most other 4xx (2)"
	row404             = "404 (2)"
	rowRefused         = "any other 4xx, 501, 505"
	rowOtherStatus     = "3xx, 101, 511, any other status"
	rowSuccessFalse    = "2xx with success false; a trigger with data false"
	rowCutShort        = "2xx with a truncated body"
	rowUnreadable      = "2xx that is not from the service, such as HTML"
	rowDataUnreadable  = lastRow
)

// outcomes is what the package documentation says about retries, row by row.
func outcomes() []outcome {
	transport, api, decode := new(messaging.TransportError), new(messaging.APIError), new(messaging.DecodeError)
	notSent, rejected := messaging.DeliveryNotSent, messaging.DeliveryRejected
	unknown, accepted := messaging.DeliveryUnknown, messaging.DeliveryAccepted
	neverConnects, breaks, responds := scripted.NeverConnects, scripted.Breaks, scripted.Responds
	says := func(body string) []scriptedAttempt { return when(responds(200, body)) }
	return []outcome{
		{"a connection that is refused", when(neverConnects(scripted.ErrRefused)), transport, notSent, repeatsEverything, rowNoConnectionNow},
		{"a name server that fails", when(neverConnects(scripted.ErrLookup(net.DNSError{IsTemporary: true}))), transport, notSent,
			repeatsEverything, rowNoConnectionNow},
		{"a name server that does not answer", when(neverConnects(scripted.ErrLookup(net.DNSError{IsTimeout: true}))), transport, notSent,
			repeatsEverything, rowNoConnectionNow},
		{"a connection or handshake that takes too long", when(neverConnects(os.ErrDeadlineExceeded)), transport, notSent, repeatsEverything,
			rowNoConnectionNow},
		{"an attempt that times out before it has a connection", when(scripted.NeverConnectsInTime), transport, notSent, repeatsEverything,
			rowNoConnectionNow},
		{"a handshake that is reset", when(neverConnects(scripted.ErrReset)), transport, notSent, repeatsEverything, rowNoConnectionNow},
		{"a handshake that breaks off", when(neverConnects(io.EOF)), transport, notSent, repeatsEverything, rowNoConnectionNow},
		{"a handshake that breaks off within a record", when(neverConnects(io.ErrUnexpectedEOF)), transport, notSent, repeatsEverything,
			rowNoConnectionNow},
		{"a proxy that cannot be reached", when(neverConnects(errProxy)), transport, notSent, repeatsEverything, rowNoConnectionNow},

		{"a host that does not exist", when(neverConnects(scripted.ErrLookup(net.DNSError{IsNotFound: true}))), transport, notSent,
			repeatsNothing, rowNoConnection},
		{"a certificate that cannot be trusted", when(neverConnects(scripted.ErrUnknownCA)), transport, notSent, repeatsNothing, rowNoConnection},
		{"a handshake that the other side refuses", when(neverConnects(errAlert)), transport, notSent, repeatsNothing, rowNoConnection},
		{"https to a port that speaks http", when(neverConnects(errors.New("server gave HTTP response to HTTPS client"))), transport, notSent,
			repeatsNothing, rowNoConnection},
		{"a proxy whose certificate cannot be trusted", when(scripted.NeverConnects(&net.OpError{Op: "proxyconnect",
			Err: scripted.ErrUnknownCA})), transport, notSent, repeatsNothing, rowNoConnection},
		{"a proxy that refuses over SOCKS", when(scripted.NeverConnects(&net.OpError{Op: "socks connect",
			Err: errors.New("not allowed by ruleset")})), transport, notSent, repeatsNothing, rowNoConnection},
		{"a certificate that cannot be trusted, within an error that is a net.Error",
			when(scripted.NeverConnects(fmt.Errorf("tracing: %w", &url.Error{Err: scripted.ErrUnknownCA}))), transport, notSent,
			repeatsNothing, rowNoConnection},
		{"a connection that the server closed while it was idle",
			when(scripted.NeverConnects(errors.New("http: server closed idle connection"))), transport, notSent,
			repeatsEverything, rowNoConnectionNow},
		{"a proxy that refuses", when(neverConnects(errors.New("Proxy Authentication Required"))), transport, notSent, repeatsNothing,
			rowNoConnection},

		{"an answer that is lost", when(breaks(io.EOF)), transport, unknown, repeatsUnlessHarmful, rowNoResponse},
		{"a connection that is reset", when(breaks(scripted.ErrReset)), transport, unknown, repeatsUnlessHarmful, rowNoResponse},
		{"a dial that fails after a connection was there", when(breaks(scripted.ErrRefused)), transport, unknown, repeatsUnlessHarmful,
			rowNoResponse},
		{"an attempt that times out", when(scripted.Connects(scripted.Hangs)), transport, unknown, repeatsUnlessHarmful, rowNoResponse},
		{"a malformed answer", when(breaks(errors.New("malformed HTTP response"))), transport, unknown, repeatsUnlessHarmful, rowNoResponse},
		{"an unknown error of a transport that reports nothing", when(failsUntraced(errors.New("no mock matches"))), transport, notSent,
			repeatsUnlessHarmful, rowUnrecognized},
		{"an error that does not tell how far it got", when(failsUntraced(scripted.ErrRefused)), transport, notSent, repeatsEverything,
			rowNoConnectionNow},

		{"429", answered(scripted.Failure, 429), api, rejected, repeatsEverything, row429},
		{"408 and 425", answered(scripted.Failure, 408, 425), api, unknown, repeatsUnlessHarmful, rowServerError},
		{"any other 4xx", answered("", statuses(400, 499, 408, 413, 414, 425, 429)...), api, rejected, repeatsNothing, rowRefused},
		{"413 and 414", answered("", 413, 414), api, rejected, repeatsNothing, rowBadRequest},
		{"501 and 505", answered(scripted.Failure, 501, 505), api, rejected, repeatsNothing, rowRefused},
		{"500, 502, 503 and 504", answered(scripted.Failure, 500, 502, 503, 504), api, unknown, repeatsUnlessHarmful, rowServerError},
		{"520 to 599", answered(scripted.Failure, statuses(520, 599)...), api, unknown, repeatsUnlessHarmful, rowServerError},
		{"511 and its neighbours", answered(scripted.Failure, statuses(506, 519)...), api, unknown, repeatsNothing, rowOtherStatus},
		{"3xx", answered(scripted.Failure, statuses(300, 399)...), api, unknown, repeatsNothing, rowOtherStatus},
		{"1xx, 101 included", answered(scripted.Failure, statuses(100, 199)...), api, unknown, repeatsNothing, rowOtherStatus},
		{"statuses below every class", answered(scripted.Failure, statuses(0, 99)...), api, unknown, repeatsNothing, rowOtherStatus},
		{"statuses above every class", answered(scripted.Failure, statuses(600, 999)...), api, unknown, repeatsNothing, rowOtherStatus},
		{"400 and 409 of the service", when(responds(400, scripted.Failure)), api, rejected, repeatsNothing, rowBadRequest},
		{"422 with JSON", when(responds(422, `["No."]`)), api, rejected, repeatsNothing, rowBadRequest},
		{"a status that the body contradicts", when(responds(400, scripted.Success)), api, rejected, repeatsNothing, rowBadRequest},

		{"2xx that says success", answered(scripted.Success, statuses(200, 299)...), nil, accepted, repeatsNothing, ""},
		{"2xx that says success, last, and as HTML",
			when(responds(200, `{"message":"x","data":null,"success":true}`, "Content-Type", "text/html")),
			nil, accepted, repeatsNothing, ""},
		{"2xx that says no success", says(scripted.Failure), api, rejected, repeatsNothing, rowSuccessFalse},
		{"2xx that is cut short", when(scripted.RespondsFrom(200, &scripted.CutShort{})), transport, unknown, repeatsReads, rowCutShort},
		{"2xx with nothing in it", says(""), decode, unknown, repeatsNothing, rowUnreadable},
		{"2xx that is HTML", says("<html>Welcome</html>"), decode, unknown, repeatsNothing, rowUnreadable},
		{"2xx that came whole and breaks off", says(`{"success":true,"data":`), decode, unknown, repeatsNothing, rowUnreadable},
		{"2xx that is a list", says(`[{"success":true}]`), decode, unknown, repeatsNothing, rowUnreadable},
		{"2xx that is null", says(`null`), decode, unknown, repeatsNothing, rowUnreadable},
		{"2xx that is too large", says(`{"success":true,"message":"` + strings.Repeat("x", maxResponse) + `"}`), decode, unknown, repeatsNothing,
			rowUnreadable},
		{"2xx that does not tell whether it is a success", says(`{"message":"Done"}`), decode, unknown, repeatsNothing, rowUnreadable},
		{"2xx whose success is a text", says(`{"success":"true"}`), decode, unknown, repeatsNothing, rowUnreadable},
		{"2xx whose success is a number", says(`{"success":1}`), decode, unknown, repeatsNothing, rowUnreadable},
		{"2xx whose success is null", says(`{"success":null}`), decode, unknown, repeatsNothing, rowUnreadable},
		{"2xx that says both", says(`{"success":false,"success":true}`), decode, unknown, repeatsNothing, rowUnreadable},
		{"2xx that says it in capitals", says(`{"SUCCESS":true}`), decode, unknown, repeatsNothing, rowUnreadable},
		{"2xx with more after its end", says(scripted.Success + "{}"), decode, unknown, repeatsNothing, rowUnreadable},
	}
}

// maxResponse is the limit of the answers in these tests.
const maxResponse = 1000

// statuses are those from first to last, less the exceptions.
func statuses(first, last int, except ...int) []int {
	var all []int
	for status := first; status <= last; status++ {
		if !slices.Contains(except, status) {
			all = append(all, status)
		}
	}
	return all
}

// failsUntraced fails without a word to httptrace.
func failsUntraced(err error) scripted.Scene {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

func TestRetryByOutcome(t *testing.T) {
	for _, row := range scenarios() {
		scripted.RunInBubble(t, row.name, func(t *testing.T) {
			for _, attempt := range row.attempts {
				row.check(t, attempt)
			}
		})
	}
}

type outcomeCall struct {
	name    string
	perform scripted.Call
	opts    []messaging.RequestOption
	want    int
}

func (s scenario) calls() []outcomeCall {
	read, send := s.read, s.send
	if read == nil {
		read = scripted.ReadCustomers
	}
	if send == nil {
		send = scripted.SendBroadcast
	}
	return []outcomeCall{
		{"read", read, nil, s.requests.read},
		{"send", send, nil, s.requests.send},
		{"send with WithRepeatableSend", send, []messaging.RequestOption{messaging.WithRepeatableSend()}, s.requests.repeatable},
	}
}

func (s scenario) check(t *testing.T, attempt scriptedAttempt) {
	t.Helper()
	for _, call := range s.calls() {
		transport, err := s.make(t, attempt, call)
		which := fmt.Sprintf("%s, status %d", call.name, attempt.status)
		delivery := s.delivery
		if call.name == "read" && delivery == messaging.DeliveryNotSent && call.want > 0 {
			delivery = messaging.DeliveryUnknown // without a body, a given transport proves nothing
		}
		assert.IsType(t, s.failure, err, which)
		assert.Equal(t, delivery, messaging.DeliveryOf(err), which)
		assert.Equal(t, call.want, len(transport.Sent), which)
		if call.want > 0 && s.within == nil { // what is repeated within a call can be repeated after it
			assert.Equal(t, call.want > 1, messaging.NextStepOf(err) == messaging.NextRetry, which)
		}
	}
}

// make makes a call over a transport that plays an attempt.
func (s scenario) make(t *testing.T, attempt scriptedAttempt, call outcomeCall) (*scripted.Transport, error) {
	t.Helper()
	client, transport := scripted.NewClient(t, []scripted.Scene{attempt.play},
		append(s.opts, messaging.WithMaxResponseBytes(maxResponse))...)
	ctx, cancel := t.Context(), context.CancelFunc(func() {})
	if s.within != nil {
		ctx, cancel = s.within(ctx)
	}
	defer cancel()
	return transport, call.perform(ctx, client, call.opts...)
}

func TestRetryOutcomesCoverEveryStatus(t *testing.T) {
	var all []int
	for _, row := range outcomes() {
		for _, attempt := range row.attempts {
			if attempt.status >= 0 {
				all = append(all, attempt.status)
			}
		}
	}
	slices.Sort(all)
	assert.Equal(t, statuses(0, 999), all, "each status that HTTP can carry belongs to one row")
}

func TestDeliveryOfOperationsThatReadTheirData(t *testing.T) {
	tests := []struct {
		name     string
		perform  scripted.Call
		body     string
		failure  error
		delivery messaging.Delivery
	}{
		{"another send answered false says what it says", scripted.Do(messaging.Request{Method: "PUT", Path: "/v1/tags"}),
			`{"success":true,"data":false}`, nil, messaging.DeliveryAccepted},
		{"a created event without an id is there", scripted.CreateEvent, `{"success":true,"data":{"name":"order_paid"}}`,
			new(messaging.DecodeError), messaging.DeliveryAccepted},
		{"what Into cannot take was carried out", scripted.Do(messaging.Request{Method: "PUT", Path: "/v1/tags", Into: new(int)}),
			`{"success":true,"data":"x"}`, new(messaging.DecodeError), messaging.DeliveryAccepted},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, test.body)})
			err := test.perform(t.Context(), client, messaging.WithRepeatableSend())
			assert.IsType(t, test.failure, err)
			assert.Equal(t, test.delivery, messaging.DeliveryOf(err))
			assert.Len(t, transport.Sent, 1)
		})
	}
}

func TestDeliveryIsTheLeastCertainOfAllAttempts(t *testing.T) {
	tests := []struct {
		name     string
		scenes   []scripted.Scene
		attempts int
		delivery messaging.Delivery
	}{
		{"not sent, then refused by the service, is rejected",
			[]scripted.Scene{scripted.NeverConnects(scripted.ErrRefused), scripted.Responds(400, "")}, 2, messaging.DeliveryRejected},
		{"a lost answer, then a refusal, is unknown", []scripted.Scene{scripted.Breaks(io.EOF), scripted.Responds(400, "")}, 2,
			messaging.DeliveryUnknown},
		{"a server error, then no connection, is unknown",
			[]scripted.Scene{scripted.Responds(503, ""), scripted.NeverConnects(scripted.ErrUnknownCA)}, 2, messaging.DeliveryUnknown},
		{"never sent at all is not sent", []scripted.Scene{scripted.NeverConnects(scripted.ErrRefused)}, 3, messaging.DeliveryNotSent},
		{"a lost answer, then an answer that cannot be read, is unknown", []scripted.Scene{scripted.Breaks(io.EOF), scripted.Responds(200, "x")},
			2, messaging.DeliveryUnknown},
	}
	for _, test := range tests {
		scripted.RunInBubble(t, test.name, func(t *testing.T) {
			client, transport := scripted.NewClient(t, test.scenes)
			err := scripted.SendBroadcast(t.Context(), client, messaging.WithRepeatableSend())
			require.Error(t, err)
			assert.Equal(t, test.delivery, messaging.DeliveryOf(err))
			assert.Len(t, transport.Sent, test.attempts)
		})
	}
	scripted.RunInBubble(t, "accepted is certain, whatever went before", func(t *testing.T) {
		client, _ := scripted.NewClient(t, []scripted.Scene{scripted.Responds(503, ""), scripted.Responds(200, `{"success":true,"data":{}}`)})
		err := scripted.CreateEvent(t.Context(), client, messaging.WithRepeatableSend())
		require.ErrorAs(t, err, new(*messaging.DecodeError))
		assert.Equal(t, messaging.DeliveryAccepted, messaging.DeliveryOf(err))
		assert.NotEqual(t, messaging.NextRetry, messaging.NextStepOf(err))
	})
	scripted.RunInBubble(t, "success makes up for all that went before", func(t *testing.T) {
		client, _ := scripted.NewClient(t,
			[]scripted.Scene{scripted.NeverConnects(scripted.ErrRefused), scripted.Responds(429, ""), scripted.Responds(200, scripted.Success)},
			messaging.WithRetryPolicy(messaging.RetryPolicy{}))
		response, err := client.Broadcasts.SendEmail(t.Context(), scripted.BroadcastTo(scripted.PersonalEmail))
		require.NoError(t, err)
		assert.Equal(t, 3, response.Attempts)
	})
}

func pageWithNext(cursor string) string {
	return fmt.Sprintf(`{"success":true,"data":[{"customer_id":"c-1"}],"meta":{"has_next_page":true,"next_page_cursor":%q}}`, cursor)
}

var errShutdown = errors.New("the worker shuts down")

// blockingLimiter waits until the caller gives up.
type blockingLimiter struct{}

func (blockingLimiter) Wait(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestContextEndsACall(t *testing.T) {
	const patience = 100 * time.Millisecond
	endings := []struct {
		name string
		end  func(context.Context) (context.Context, context.CancelFunc)
		is   error
	}{
		{"cancelled", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(ctx)
			timer := time.AfterFunc(patience, func() { cancel(errShutdown) })
			return ctx, func() { timer.Stop(); cancel(nil) }
		}, context.Canceled},
		{"past the deadline", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeoutCause(ctx, patience, errShutdown)
		}, context.DeadlineExceeded},
	}
	stages := []struct {
		name     string
		play     scripted.Scene
		opts     []messaging.Option
		attempts int
		delivery messaging.Delivery
	}{
		{"while the limiter holds the call", scripted.Responds(200, scripted.Success),
			[]messaging.Option{messaging.WithRateLimiter(blockingLimiter{})}, 0, messaging.DeliveryNotSent},
		{"while connecting", scripted.NeverConnectsInTime, nil, 1, messaging.DeliveryNotSent},
		{"while waiting for the answer", scripted.Connects(scripted.Hangs), nil, 1, messaging.DeliveryUnknown},
		{"while reading the answer", scripted.BeginsToRespond, nil, 1, messaging.DeliveryUnknown},
	}
	for _, ending := range endings {
		for _, stage := range stages {
			scripted.RunInBubble(t, ending.name+" "+stage.name, func(t *testing.T) {
				client, transport := scripted.NewClient(t, []scripted.Scene{stage.play}, stage.opts...)
				ctx, cancel := ending.end(t.Context())
				defer cancel()
				start := time.Now()
				err := scripted.SendBroadcast(ctx, client, messaging.WithRepeatableSend())
				var failed *messaging.TransportError
				require.ErrorAs(t, err, &failed)
				assert.ErrorIs(t, err, ending.is)
				assert.NotErrorIs(t, err, messaging.ErrAttemptTimeout)
				assert.Equal(t, stage.delivery, messaging.DeliveryOf(err))
				assert.Equal(t, stage.attempts, failed.Attempts)
				assert.Len(t, transport.Sent, stage.attempts)
				assert.Equal(t, patience, time.Since(start))
			})
		}
	}
}

func TestContextThatHasEndedSendsNothing(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errShutdown)
	for name, perform := range map[string]scripted.Call{"read": scripted.ReadCustomers, "send": scripted.SendBroadcast} {
		t.Run(name, func(t *testing.T) {
			limiter := new(countingLimiter)
			client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, scripted.Success)},
				messaging.WithRateLimiter(limiter))
			err := perform(ctx, client)
			var failed *messaging.TransportError
			require.ErrorAs(t, err, &failed)
			require.ErrorIs(t, err, context.Canceled)
			assert.NotErrorIs(t, err, errShutdown, "the cause is the caller's")
			assert.ErrorContains(t, err, ": context canceled; nothing was sent")
			assert.Equal(t, messaging.DeliveryNotSent, messaging.DeliveryOf(err))
			assert.Zero(t, failed.Attempts)
			assert.Zero(t, limiter.asked)
			assert.Empty(t, transport.Sent)
		})
	}
}

func TestContextThatEndsDuringAWaitKeepsTheLastError(t *testing.T) {
	tests := []struct {
		name     string
		play     scripted.Scene
		delivery messaging.Delivery
		before   error
	}{
		{"a server error stays unknown", scripted.Responds(503, scripted.Failure), messaging.DeliveryUnknown, messaging.ErrServer},
		{"a lost answer stays unknown", scripted.Breaks(io.EOF), messaging.DeliveryUnknown, io.EOF},
		{"what was not sent stays not sent", scripted.NeverConnects(scripted.ErrRefused), messaging.DeliveryNotSent, syscall.ECONNREFUSED},
	}
	for _, test := range tests {
		scripted.RunInBubble(t, test.name, func(t *testing.T) {
			client, transport := scripted.NewClient(t, []scripted.Scene{test.play})
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(100*time.Millisecond, func() { cancel(errShutdown) })
			start := time.Now()
			err := scripted.SendBroadcast(ctx, client, messaging.WithRepeatableSend())
			require.ErrorIs(t, err, context.Canceled)
			assert.ErrorIs(t, err, test.before)
			assert.Equal(t, test.delivery, messaging.DeliveryOf(err))
			assert.Equal(t, 100*time.Millisecond, time.Since(start))
			assert.Len(t, transport.Sent, 1)
			assert.Contains(t, err.Error(), "while waiting to retry")
		})
	}
	scripted.RunInBubble(t, "the error of the last attempt is whole", func(t *testing.T) {
		client, _ := scripted.NewClient(t, []scripted.Scene{scripted.Responds(503, scripted.Failure)})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		var answer *messaging.APIError
		require.ErrorAs(t, scripted.SendBroadcast(ctx, client, messaging.WithRepeatableSend()), &answer)
		assert.Equal(t, "No.", answer.Message)
		assert.Equal(t, 1, answer.Attempts)
		assert.EqualError(t, answer, "send email broadcast: POST /v1/broadcast/send/email: 503 Service Unavailable: No.; "+
			"the broadcast may have been sent")
	})
}

func TestAttemptTimeout(t *testing.T) {
	tests := []struct {
		name  string
		given time.Duration // Timeout of the http.Client
		opts  []messaging.Option
		limit time.Duration
		set   string // what set the limit
	}{
		{"it is 30 seconds by default", 0, nil, 30 * time.Second, "WithAttemptTimeout"},
		{"it can be set", 0, []messaging.Option{messaging.WithAttemptTimeout(3 * time.Second)}, 3 * time.Second, "WithAttemptTimeout"},
		{"it is the Timeout of the http.Client", 2 * time.Second, nil, 2 * time.Second, "Timeout of the http.Client"},
		{"the shorter of both counts", 2 * time.Second, []messaging.Option{messaging.WithAttemptTimeout(3 * time.Second)}, 2 * time.Second,
			"Timeout of the http.Client"},
		{"a longer Timeout of the http.Client does not count", time.Hour, []messaging.Option{messaging.WithAttemptTimeout(time.Second)},
			time.Second, "WithAttemptTimeout"},
	}
	stages := map[string]scripted.Scene{"before the answer": scripted.Connects(scripted.Hangs), "within the answer": scripted.BeginsToRespond,
		"before the connection": scripted.NeverConnectsInTime}
	for _, test := range tests {
		for stage, play := range stages {
			scripted.RunInBubble(t, test.name+", "+stage, func(t *testing.T) {
				opts := append(test.opts, messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 1}))
				client := scripted.NewClientOver(t, "https://api.example.com",
					&http.Client{Transport: &scripted.Transport{Scenes: []scripted.Scene{play}}, Timeout: test.given}, opts...)
				start := time.Now()
				err := scripted.SendBroadcast(t.Context(), client)
				assert.ErrorIs(t, err, messaging.ErrAttemptTimeout)
				assert.ErrorContains(t, err, fmt.Sprintf("attempt timed out after %v (see %s)", test.limit, test.set))
				assert.NotErrorIs(t, err, context.DeadlineExceeded, "that is the caller's own")
				assert.NotErrorIs(t, err, context.Canceled)
				assert.Equal(t, test.limit, time.Since(start))
			})
		}
	}
	scripted.RunInBubble(t, "nobody waits for the body of another protocol", func(t *testing.T) {
		client, _ := scripted.NewClient(t, []scripted.Scene{func(req *http.Request) (*http.Response, error) {
			return scripted.RespondsFrom(101, scripted.HangingReader(req.Context()))(req)
		}})
		start := time.Now()
		var answer *messaging.APIError
		require.ErrorAs(t, scripted.SendBroadcast(t.Context(), client), &answer)
		assert.Zero(t, time.Since(start))
	})
	scripted.RunInBubble(t, "an error that never ends is judged by its status", func(t *testing.T) {
		endless := func(req *http.Request) (*http.Response, error) {
			return scripted.RespondsFrom(503, io.MultiReader(strings.NewReader("busy"), scripted.HangingReader(req.Context())))(req)
		}
		client, _ := scripted.NewClient(t, []scripted.Scene{endless}, messaging.WithAttemptTimeout(time.Second))
		var answer *messaging.APIError
		require.ErrorAs(t, scripted.SendBroadcast(t.Context(), client), &answer)
		assert.Equal(t, 503, answer.StatusCode)
		assert.Equal(t, "busy", string(answer.Body))
	})
}

func TestRetryWaitsGrowAtRandomWithinBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policy := messaging.RetryPolicy{MaxAttempts: 6, MinWait: time.Second, MaxWait: 6 * time.Second}
		client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(503, "")}, messaging.WithRetryPolicy(policy))
		longest := []time.Duration{2 * time.Second, 4 * time.Second, 6 * time.Second, 6 * time.Second, 6 * time.Second}
		first := make(map[time.Duration]bool)
		for range 100 {
			transport.Sent = nil
			require.Error(t, scripted.ReadCustomers(t.Context(), client))
			waits := transport.Waits()
			require.Len(t, waits, len(longest))
			for i, wait := range waits {
				assert.GreaterOrEqual(t, wait, time.Second)
				assert.LessOrEqual(t, wait, longest[i])
			}
			first[waits[0]] = true
		}
		assert.Greater(t, len(first), 50, "clients that failed together must not come back together")
	})
}

func TestRetryAfter(t *testing.T) {
	const minWait, maxWait = time.Second, 2 * time.Second
	const longest = math.MaxInt64 / time.Second * time.Second
	tests := []struct {
		name       string
		header     []string
		waits      []time.Duration // at least and at most; none where the call ends
		retryAfter time.Duration
	}{
		{"seconds", []string{"Retry-After", "5"}, []time.Duration{5 * time.Second, 5 * time.Second}, 5 * time.Second},
		{"seconds up to the limit", []string{"Retry-After", "30"}, []time.Duration{30 * time.Second, 30 * time.Second}, 30 * time.Second},
		{"0 is not a hot loop", []string{"Retry-After", "0"}, []time.Duration{minWait, minWait}, 0},
		{"a date is held against the answer's own",
			[]string{"Retry-After", "Sun, 06 Nov 1994 08:49:41 GMT", "Date", "Sun, 06 Nov 1994 08:49:37 GMT"},
			[]time.Duration{4 * time.Second, 4 * time.Second}, 4 * time.Second},
		{"a date without another to hold it against is held against the clock", []string{"Retry-After", "Sat, 01 Jan 2000 00:00:09 GMT"},
			[]time.Duration{9 * time.Second, 9 * time.Second}, 9 * time.Second},
		{"a date in the form of RFC 850", []string{"Retry-After", "Sunday, 06-Nov-94 08:49:40 GMT", "Date", "Sun, 06 Nov 1994 08:49:37 GMT"},
			[]time.Duration{3 * time.Second, 3 * time.Second}, 3 * time.Second},
		{"a date that is past is not a hot loop",
			[]string{"Retry-After", "Sun, 06 Nov 1994 08:49:30 GMT", "Date", "Sun, 06 Nov 1994 08:49:37 GMT"},
			[]time.Duration{minWait, minWait}, 0},
		{"the first of two counts", []string{"Retry-After", "5", "Retry-After", "7"}, []time.Duration{5 * time.Second, 5 * time.Second},
			5 * time.Second},

		{"none at all", nil, []time.Duration{minWait, maxWait}, 0},
		{"a negative number is none", []string{"Retry-After", "-5"}, []time.Duration{minWait, maxWait}, 0},
		{"a fraction of a second counts", []string{"Retry-After", "1.5"},
			[]time.Duration{1500 * time.Millisecond, 1500 * time.Millisecond}, 1500 * time.Millisecond},
		{"an exponent is none", []string{"Retry-After", "1e99"}, []time.Duration{minWait, maxWait}, 0},
		{"no number is none", []string{"Retry-After", "NaN"}, []time.Duration{minWait, maxWait}, 0},
		{"a word is none", []string{"Retry-After", "abc"}, []time.Duration{minWait, maxWait}, 0},
		{"an empty one is none", []string{"Retry-After", ""}, []time.Duration{minWait, maxWait}, 0},

		{"seconds over the limit end the call", []string{"Retry-After", "31"}, nil, 31 * time.Second},
		{"a date over the limit ends the call", []string{"Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT"}, nil, math.MaxInt64},
		{"more seconds than a Duration holds end the call", []string{"Retry-After", "9999999999"}, nil, longest},
		{"more digits than a number holds end the call", []string{"Retry-After", strings.Repeat("9", 30)}, nil, longest},
	}
	for _, test := range tests {
		scripted.RunInBubble(t, test.name, func(t *testing.T) {
			policy := messaging.RetryPolicy{MaxAttempts: 2, MinWait: minWait, MaxWait: maxWait}
			once, _ := scripted.NewClient(t, []scripted.Scene{scripted.Responds(429, "", test.header...)},
				messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 1}))
			var answer *messaging.APIError
			require.ErrorAs(t, scripted.SendBroadcast(t.Context(), once), &answer)
			assert.Equal(t, test.retryAfter, answer.RetryAfter, "the error says how long to wait")

			client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(429, "", test.header...)},
				messaging.WithRetryPolicy(policy))
			start := time.Now()
			require.ErrorIs(t, scripted.SendBroadcast(t.Context(), client), messaging.ErrRateLimited)
			if test.waits == nil {
				assert.Len(t, transport.Sent, 1)
				assert.Zero(t, time.Since(start))
				return
			}
			require.Len(t, transport.Sent, 2)
			wait := transport.Waits()[0]
			assert.GreaterOrEqual(t, wait, test.waits[0])
			assert.LessOrEqual(t, wait, test.waits[1])
		})
	}
}

func TestRetryAfterLimitCanBeSet(t *testing.T) {
	for seconds, attempts := range map[string]int{"5": 3, "6": 1} {
		scripted.RunInBubble(t, seconds+" seconds", func(t *testing.T) {
			client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(429, "", "Retry-After", seconds)},
				messaging.WithRetryPolicy(messaging.RetryPolicy{MaxRetryAfter: 5 * time.Second}))
			require.ErrorIs(t, scripted.ReadCustomers(t.Context(), client), messaging.ErrRateLimited)
			assert.Len(t, transport.Sent, attempts)
		})
	}
}

func TestRetryIsNotAwaitedBeyondTheDeadline(t *testing.T) {
	const patience = 2 * time.Second
	tests := []struct {
		name       string
		wait       time.Duration
		header     []string
		retryAfter time.Duration
	}{
		{"a wait of the policy beyond the deadline ends the call", 3 * time.Second, nil, 0},
		{"a wait of the policy up to the deadline ends the call", patience, nil, 0},
		{"a wait of the service beyond the deadline ends the call", time.Second, []string{"Retry-After", "20"}, 20 * time.Second},
		{"a wait of the service up to the deadline ends the call", time.Second, []string{"Retry-After", "2"}, patience},
	}
	for _, test := range tests {
		scripted.RunInBubble(t, test.name, func(t *testing.T) {
			policy := messaging.RetryPolicy{MinWait: test.wait, MaxWait: test.wait}
			client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(503, scripted.Failure, test.header...)},
				messaging.WithRetryPolicy(policy))
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			start := time.Now()
			err := scripted.ReadCustomers(ctx, client)
			var answer *messaging.APIError
			require.ErrorAs(t, err, &answer)
			assert.NotErrorIs(t, err, context.DeadlineExceeded, "the real error is told instead")
			assert.Equal(t, test.retryAfter, answer.RetryAfter)
			assert.Len(t, transport.Sent, 1)
			assert.Zero(t, time.Since(start))
		})
	}
}

func TestRetryMaxAttempts(t *testing.T) {
	for _, attempts := range []int{1, 2, 7} {
		scripted.RunInBubble(t, fmt.Sprint(attempts), func(t *testing.T) {
			client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(503, "")},
				messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: attempts}))
			var answer *messaging.APIError
			require.ErrorAs(t, scripted.ReadCustomers(t.Context(), client), &answer)
			assert.Len(t, transport.Sent, attempts)
			assert.Equal(t, attempts, answer.Attempts)
		})
	}
}

// realCall is a read, a send or a repeatable send, and how many requests it makes.
type realCall struct {
	name    string
	perform scripted.Call
	want    int
}

func (r requestCounts) calls() []realCall {
	repeatable := func(ctx context.Context, client *messaging.Client, _ ...messaging.RequestOption) error {
		return scripted.SendBroadcast(ctx, client, messaging.WithRepeatableSend())
	}
	return []realCall{{"read", scripted.ReadCustomers, r.read}, {"send", scripted.SendBroadcast, r.send},
		{"repeatable send", repeatable, r.repeatable}}
}

func TestRetryByFailedConnection(t *testing.T) {
	tests := []struct {
		name     string
		target   func(*testing.T) (string, *http.Client)
		requests requestCounts
	}{
		{"nobody listens", func(t *testing.T) (string, *http.Client) {
			return "http://" + faultserver.ClosedAddress(t), &http.Client{Transport: &http.Transport{}}
		}, repeatsEverything},
		{"the handshake breaks off", func(t *testing.T) (string, *http.Client) {
			server := faultserver.Start(t, faultserver.Script{faultserver.ReadBytes(1)})
			return "https://" + server.Address(), server.Client()
		}, repeatsEverything},
		{"the proxy is not there", func(t *testing.T) (string, *http.Client) {
			return "https://api.example.com", overProxy(t, "http://"+faultserver.ClosedAddress(t))
		}, repeatsEverything},
		{"the certificate is signed by nobody known", func(t *testing.T) (string, *http.Client) {
			server := faultserver.StartTLS(t, faultserver.EachRequest(faultserver.Close))
			return server.URL(), &http.Client{Transport: &http.Transport{}}
		}, repeatsNothing},
		{"https meets http", func(t *testing.T) (string, *http.Client) {
			server := faultserver.Start(t, faultserver.Script{faultserver.ReadBytes(1), faultserver.Respond(400, ""), faultserver.Hang})
			return "https://" + server.Address(), server.Client()
		}, repeatsNothing},
		{"the proxy refuses", func(t *testing.T) (string, *http.Client) {
			proxy := faultserver.Start(t, faultserver.EachRequest(faultserver.Respond(http.StatusProxyAuthRequired, "")))
			return "https://api.example.com", overProxy(t, proxy.URL())
		}, repeatsNothing},
	}
	for _, test := range tests {
		for _, call := range test.requests.calls() {
			for _, own := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, own transport %t", test.name, call.name, own), func(t *testing.T) {
					baseURL, over := test.target(t)
					client := scripted.NewClientOver(t, baseURL, over, scripted.WithQuickRetries())
					if own {
						client = scripted.NewClientOnOwnTransport(t, baseURL, over.Transport.(*http.Transport), scripted.WithQuickRetries())
					}
					err := call.perform(t.Context(), client)
					var failed *messaging.TransportError
					require.ErrorAs(t, err, &failed)
					want := messaging.DeliveryNotSent
					if call.name == "read" && !own {
						want = messaging.DeliveryUnknown // it has no body that could prove anything
					}
					assert.Equal(t, want, messaging.DeliveryOf(err))
					assert.Equal(t, call.want, failed.Attempts)
					assert.Equal(t, call.want > 1, messaging.NextStepOf(err) == messaging.NextRetry)
					assert.Equal(t, call.want == 1, messaging.NextStepOf(err) == messaging.NextFixSetup)
				})
			}
		}
	}
}

func overProxy(t *testing.T, address string) *http.Client {
	t.Helper()
	proxy, err := url.Parse(address)
	require.NoError(t, err)
	return &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy)}}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	elsewhere := faultserver.Start(t, faultserver.EachRequest(faultserver.Respond(200, scripted.Success)))
	targets := map[string]string{"to another host": elsewhere.URL() + "/v1/customers", "on the same host": "/elsewhere"}
	for _, status := range []int{301, 302, 303, 307, 308} {
		for where, target := range targets {
			for _, call := range repeatsNothing.calls() {
				t.Run(fmt.Sprintf("%d %s, %s", status, where, call.name), func(t *testing.T) {
					server := faultserver.Start(t, faultserver.EachRequest(faultserver.Respond(status, "", "Location: "+target)))
					err := call.perform(t.Context(), scripted.NewClientOver(t, server.URL(), server.Client(), scripted.WithQuickRetries()))
					var answer *messaging.APIError
					require.ErrorAs(t, err, &answer)
					assert.Equal(t, status, answer.StatusCode)
					assert.Equal(t, target, answer.Header.Get("Location"))
					assert.Equal(t, messaging.DeliveryUnknown, messaging.DeliveryOf(err))
					assert.Contains(t, err.Error(), "check the base URL")
					assert.Len(t, server.Requests(), 1)
				})
			}
		}
	}
	assert.Zero(t, elsewhere.Connections(), "nothing, and above all no key, may reach the other host")
}

// documentedRow is a row of the table of failures in the documentation.
type documentedRow struct{ what, delivery, read, send string }

const firstRow, lastRow = "invalid arguments, a guard's refusal", "2xx with success true and unreadable data"

// documentedTable reads the table of the package documentation.
func documentedTable(t *testing.T) []documentedRow {
	t.Helper()
	const path, prefix = "../../doc.go", "//\t"
	source, err := os.ReadFile(path)
	require.NoError(t, err)
	_, text, found := strings.Cut(string(source), prefix+firstRow)
	require.True(t, found, "the table in %s", path)
	var rows []documentedRow
	for line := range strings.Lines(firstRow + text) {
		cells := regexp.MustCompile(` {2,}`).Split(strings.TrimSpace(strings.TrimPrefix(line, prefix)), -1)
		require.Len(t, cells, 4, line)
		rows = append(rows, documentedRow{cells[0], cells[1], cells[2], cells[3]})
		if cells[0] == lastRow {
			break
		}
	}
	return rows
}

func TestTableOfTheDocumentationIsTrue(t *testing.T) {
	documented := documentedTable(t)
	seen := map[string]bool{}
	for _, o := range scenarios() {
		if o.failure == nil {
			continue
		}
		seen[o.row] = true
		scripted.RunInBubble(t, o.name, func(t *testing.T) {
			for _, attempt := range o.attempts {
				assert.Contains(t, documented, o.documented(t, attempt), "status %d", attempt.status)
			}
		})
	}
	for _, row := range documented {
		assert.True(t, seen[row.what], "nothing shows that this is true: %s", row.what)
	}
}

// documented returns the row that the documentation should have.
func (s scenario) documented(t *testing.T, attempt scriptedAttempt) documentedRow {
	t.Helper()
	var steps []string
	for _, call := range s.calls() {
		_, err := s.make(t, attempt, call)
		step := messaging.NextStepOf(err)
		steps = append(steps, []string{"Check", "None", "Retry", "FixRequest", "FixSetup"}[step])
	}
	row := documentedRow{s.row, s.delivery.String(), steps[0], steps[1]}
	switch repeatable := steps[2]; {
	case repeatable == steps[1]:
	case repeatable == "Retry":
		row.send += " (1)"
	default:
		row.send += ", and not " + repeatable
	}
	return row
}
