// Package hostile_test runs the client against servers, connections and callers
// that go wrong in every way that the matrix in this file lists.
//
// A row of the matrix is one way to go wrong, and a case is one server that does
// so. A case is built in one expression, such as
//
//	afterActing(faultserver.Reset).read(lost, 3, 3).send(lost, 1, 1)
//
// which says: the server reads each request, carries it out and resets the
// connection. A read then ends as lost, the server has received 3 requests and has
// carried out 3 of them; a send ends as lost after 1 request, which was carried out.
//
// Servers:
//
//	afterActing(steps)    reads each request, carries it out and plays the steps
//	withoutActing(steps)  reads each request and plays the steps
//	responds200(bodies)   one case per body: carries out, responds 200 with the body
//	onConnections(…)      plays one script per connection
//	custom(test)          a test of its own, in place of all the rest
//	join, forEach         several cases that are continued together
//
// Clients:
//
//	at, through, over     the base URL and the transport
//	withShortTimeout      a short attempt timeout, for servers that never finish
//	sending               another call than a broadcast
//
// Calls and what they must come to:
//
//	read(o, r, a)   a read has the outcome o, the server has received r requests
//	                and carried out a of them
//	send(o, r, a)   the same of a send
//	both(o, r, a)   the same of a read and of a send
//	check(…)        more conditions
//
// Outcomes, each an error type and a delivery:
//
//	succeeds              no error
//	unsent                TransportError, not sent: no request can have arrived
//	lost                  TransportError, unknown: a request may have arrived
//	rejected              APIError, rejected: the service refused
//	unclear               APIError, unknown: a response that proves nothing
//	unreadable            DecodeError, unknown: not a response of the service
//
// A read over a transport that is given to the client is lost rather than unsent:
// without a request body, nothing proves that it was not sent.
package hostile_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/faultserver"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

// TestMain fails the package when any test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hostileRow is one way in which a response, or the lack of one, can go wrong.
type hostileRow struct {
	name  string
	cases hostileCases
}

// hostileRows is the whole matrix.
func hostileRows() []hostileRow {
	return slices.Concat(hostileBodies(), hostileSizes(), hostileConnections())
}

func TestHostileResponses(t *testing.T) {
	usual := log.Writer()
	t.Cleanup(func() { log.SetOutput(usual) })
	log.SetOutput(io.Discard) // net/http logs there what a server says unasked
	for _, row := range hostileRows() {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			require.NotEmpty(t, row.cases)
			for i, c := range row.cases {
				require.True(t, c.test != nil || len(c.calls) > 0, "case %d asserts nothing", i)
				c.run(t, i)
			}
		})
	}
}

// outcome is how a call ends: an error of a type, or nil, and a delivery.
type outcome struct {
	failure  error
	delivery messaging.Delivery
}

// The comment of the package explains these.
var (
	succeeds   = outcome{nil, messaging.DeliveryAccepted}
	unsent     = outcome{new(messaging.TransportError), messaging.DeliveryNotSent}
	lost       = outcome{new(messaging.TransportError), messaging.DeliveryUnknown}
	rejected   = outcome{new(messaging.APIError), messaging.DeliveryRejected}
	unclear    = outcome{new(messaging.APIError), messaging.DeliveryUnknown}
	unreadable = outcome{new(messaging.DecodeError), messaging.DeliveryUnknown}
)

// hostileCall is one call and what it must come to.
type hostileCall struct {
	name    string
	perform callFunc
	want    outcome
	// requests is how many the server must have received in full, and acted how
	// many of them it must have carried out.
	requests, acted int
}

// callFunc makes one call and returns its result.
type callFunc func(context.Context, *messaging.Client) (any, error)

func listCustomers(ctx context.Context, client *messaging.Client) (any, error) {
	return client.Customers.List(ctx, messaging.CustomerListParams{})
}

func sendBroadcast(ctx context.Context, client *messaging.Client) (any, error) {
	return client.Broadcasts.SendEmail(ctx, scripted.BroadcastTo(scripted.PersonalEmail))
}

// sendNoBody makes the send that net/http itself would repeat.
func sendNoBody(ctx context.Context, client *messaging.Client) (any, error) {
	return client.Do(ctx, messaging.Request{Method: http.MethodPost, Path: "/v1/sync"})
}

// hostileCase is a server, a client, and the calls to make. Each call has a server
// of its own.
type hostileCase struct {
	test func(*testing.T) // in place of all that follows

	start     func(testing.TB) *faultserver.Server
	baseURL   string // "" for the server's own
	transport func(*testing.T, *faultserver.Server) http.RoundTripper
	timesOut  bool // with a shortTimeout, or a longer one
	send      callFunc
	calls     []hostileCall
	checks    []hostileCheck
}

// hostileCheck is a further condition on a call.
type hostileCheck func(*testing.T, callResult)

type callResult struct {
	value  any
	err    error
	server *faultserver.Server
}

func (c *hostileCase) run(t *testing.T, i int) {
	if c.test != nil {
		t.Run(strconv.Itoa(i), c.test)
	}
	for _, call := range c.calls {
		t.Run(strconv.Itoa(i)+" "+call.name, func(t *testing.T) { c.runCall(t, call) })
	}
}

// runCall makes one call and checks what it comes to.
func (c *hostileCase) runCall(t *testing.T, call hostileCall) {
	result := c.result(t, call)
	requireOutcome(t, call.want, result.err)
	if !errors.As(result.err, new(*messaging.PageError)) && result.err != nil {
		assert.Nil(t, result.value, "nothing half-filled is returned")
	}
	requireCounts(t, result.server, call.requests, call.acted)
	for _, check := range c.checks {
		check(t, result)
	}
}

// result makes one call. If a timeout was over before the server had all the requests, which
// happens on a slow machine, it makes the call again with a longer one.
func (c *hostileCase) result(t *testing.T, call hostileCall) callResult {
	if !c.timesOut {
		return c.perform(t, call)
	}
	for timeout := shortTimeout; ; timeout *= 4 {
		result := c.perform(t, call, messaging.WithAttemptTimeout(timeout))
		for waited := time.Duration(0); waited < timeout && !arrived(result.server, call.requests, call.acted); waited += time.Millisecond {
			time.Sleep(time.Millisecond)
		}
		if arrived(result.server, call.requests, call.acted) || timeout > longestTimeout {
			return result
		}
	}
}

func (c *hostileCase) perform(t *testing.T, call hostileCall, options ...messaging.Option) callResult {
	server := c.start(t)
	client := c.client(t, server, options...)
	value, err := call.perform(t.Context(), client)
	return callResult{value, err, server}
}

func (c *hostileCase) client(t *testing.T, server *faultserver.Server, more ...messaging.Option) *messaging.Client {
	t.Helper()
	options := append([]messaging.Option{scripted.WithQuickRetries()}, more...)
	if c.transport != nil {
		options = append(options, messaging.WithHTTPClient(&http.Client{Transport: c.transport(t, server)}))
	}
	baseURL := c.baseURL
	if baseURL == "" {
		baseURL = server.URL()
	}
	client, err := messaging.NewClient(baseURL, scripted.SecretKey, options...)
	require.NoError(t, err)
	return client
}

// requireOutcome also checks what all errors have in common: the text is one short
// line without the key, and the body is kept up to a limit.
func requireOutcome(t *testing.T, want outcome, err error) {
	t.Helper()
	require.IsType(t, want.failure, err, "%v", err)
	assert.Equal(t, want.delivery, messaging.DeliveryOf(err))
	if err == nil {
		return
	}
	scripted.RequireOneShortLine(t, err, "", "")
	assert.NotContains(t, fmt.Sprintf("%v %+v", err, err), scripted.SecretKey)
	var refusal *messaging.APIError
	if errors.As(err, &refusal) {
		requireKept(t, refusal.Body)
	}
	var unreadable *messaging.DecodeError
	if errors.As(err, &unreadable) {
		requireKept(t, unreadable.Body)
	}
}

// requireKept checks the body that an error keeps: its length is limited, and it
// does not hold the key, nor most of it.
func requireKept(t *testing.T, body []byte) {
	t.Helper()
	assert.LessOrEqual(t, len(body), scripted.MaxKeptBody)
	assert.False(t, strings.Contains(string(body), scripted.SecretKey[:len(scripted.SecretKey)-1]), "the key is kept")
}

// requireCounts checks how many requests a server has received and carried out. It
// waits for requests that the client did not wait for.
func requireCounts(t *testing.T, server *faultserver.Server, requests, acted int) {
	t.Helper()
	if !arrived(server, requests, acted) {
		assert.Eventually(t, func() bool { return arrived(server, requests, acted) }, 5*time.Minute, time.Millisecond)
	}
	assert.Len(t, server.Requests(), requests, "requests that the server has read")
	assert.Equal(t, acted, server.Acted(), "requests that the server has carried out")
}

// arrived reports whether a server has received and carried out as many requests.
func arrived(server *faultserver.Server, requests, acted int) bool {
	return len(server.Requests()) >= requests && server.Acted() >= acted
}

// hostileCases are cases that are built together.
type hostileCases []*hostileCase

func join(parts ...hostileCases) hostileCases { return slices.Concat(parts...) }

// custom is a case that is a test of its own.
func custom(test func(*testing.T)) hostileCases { return hostileCases{{test: test}} }

func servedBy(start func(testing.TB) *faultserver.Server) hostileCases {
	return hostileCases{{start: start, send: sendBroadcast}}
}

// onConnections plays one script per connection, and the last one on all
// connections that follow.
func onConnections(scripts ...faultserver.Script) hostileCases {
	return servedBy(func(tb testing.TB) *faultserver.Server { return faultserver.Start(tb, scripts...) })
}

// afterActing reads each request, carries it out, and plays the steps.
func afterActing(steps ...faultserver.Step) hostileCases {
	return onConnections(acting(steps...))
}

func acting(steps ...faultserver.Step) faultserver.Script {
	return faultserver.EachRequest(append(faultserver.Script{faultserver.Act}, steps...)...)
}

// withoutActing reads each request and plays the steps.
func withoutActing(steps ...faultserver.Step) hostileCases {
	return onConnections(faultserver.EachRequest(steps...))
}

// responds200 is a case for each body of a complete response, after acting.
func responds200(bodies ...string) hostileCases {
	return forEach(bodies, func(body string) hostileCases { return afterActing(faultserver.Respond(http.StatusOK, body)) })
}

// forEach joins the cases of several values.
func forEach[T any](values []T, cases func(T) hostileCases) hostileCases {
	var all hostileCases
	for _, value := range values {
		all = append(all, cases(value)...)
	}
	return all
}

func (cs hostileCases) change(change func(*hostileCase)) hostileCases {
	for _, c := range cs {
		change(c)
	}
	return cs
}

// sending replaces the send, which is an email broadcast by default.
func (cs hostileCases) sending(send callFunc) hostileCases {
	return cs.change(func(c *hostileCase) { c.send = send })
}

// read requires that a read has an outcome, that the server has received as many
// requests, and that it has carried out as many.
func (cs hostileCases) read(want outcome, requests, acted int) hostileCases {
	return cs.change(func(c *hostileCase) {
		c.calls = append(c.calls, hostileCall{"read", listCustomers, want, requests, acted})
	})
}

// send requires the same of a send.
func (cs hostileCases) send(want outcome, requests, acted int) hostileCases {
	return cs.change(func(c *hostileCase) { c.calls = append(c.calls, hostileCall{"send", c.send, want, requests, acted}) })
}

// both requires the same of a read and of a send.
func (cs hostileCases) both(want outcome, requests, acted int) hostileCases {
	return cs.read(want, requests, acted).send(want, requests, acted)
}

// check adds conditions to all calls.
func (cs hostileCases) check(checks ...hostileCheck) hostileCases {
	return cs.change(func(c *hostileCase) { c.checks = append(c.checks, checks...) })
}

// shortTimeout is the attempt timeout of a client whose server never finishes.
const (
	shortTimeout   = 300 * time.Millisecond
	longestTimeout = time.Minute
)

func (cs hostileCases) withShortTimeout() hostileCases {
	return cs.change(func(c *hostileCase) { c.timesOut = true })
}

// at replaces the base URL. The transport still dials the server.
func (cs hostileCases) at(baseURL string) hostileCases {
	return cs.change(func(c *hostileCase) { c.baseURL = baseURL }).through(func(*http.Transport) {})
}

// through sends over a transport that dials the server for any address and trusts
// its certificate.
func (cs hostileCases) through(change func(*http.Transport)) hostileCases {
	return cs.over(func(t *testing.T, server *faultserver.Server) http.RoundTripper {
		return newTransportTo(t, server, change)
	})
}

func (cs hostileCases) over(transport func(*testing.T, *faultserver.Server) http.RoundTripper) hostileCases {
	return cs.change(func(c *hostileCase) { c.transport = transport })
}

func newTransportTo(t *testing.T, server *faultserver.Server, change func(*http.Transport)) *http.Transport {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: faultserver.ClientTLS(), ForceAttemptHTTP2: true}
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, server.Address())
	}
	change(transport)
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

// errorIs requires that the error wraps a sentinel.
func errorIs(sentinel error) hostileCheck {
	return func(t *testing.T, o callResult) { assert.ErrorIs(t, o.err, sentinel) }
}

// errorContains requires that the text of the error contains words.
func errorContains(words string) hostileCheck {
	return func(t *testing.T, o callResult) { assert.ErrorContains(t, o.err, words) }
}

// tookAttempts requires a number of attempts.
func tookAttempts(want int) hostileCheck {
	return func(t *testing.T, o callResult) {
		var failed *messaging.TransportError
		require.ErrorAs(t, o.err, &failed)
		assert.Equal(t, want, failed.Attempts)
	}
}
