package hostile_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/faultserver"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

// elsewhere is a host that only the transports of these tests resolve.
const elsewhere = "https://api.messaging.example"

// hostileConnections are connections that are never established, break, or carry
// the response to another request, and contexts that end.
func hostileConnections() []hostileRow {
	yes := faultserver.Respond(http.StatusOK, scripted.Success)
	return []hostileRow{
		{"a connection that never comes about", join(
			afterActing(yes).over(toClosedPort).check(errorIs(syscall.ECONNREFUSED), tookAttempts(3)),
			afterActing(yes).over(dialHanging).withShortTimeout().check(errorIs(messaging.ErrAttemptTimeout), tookAttempts(3)),
			onConnections(faultserver.Script{faultserver.ReadBytes(1), faultserver.Reset}).at(elsewhere).check(tookAttempts(3)),
			onConnections(faultserver.Script{faultserver.Hang}).at(elsewhere).withShortTimeout().check(errorIs(messaging.ErrAttemptTimeout),
				tookAttempts(3)),
		).read(lost, 0, 0).send(unsent, 0, 0)},
		{"a certificate that is unknown, for another host, or expired", join(
			servedOverTLS(yes).through(func(t *http.Transport) { t.TLSClientConfig = nil }).check(errorContains("unknown authority")),
			servedOverTLS(yes).at(elsewhere).check(errorContains("not api.messaging.example")),
			servedOverTLS(yes).through(func(t *http.Transport) { t.TLSClientConfig.Time = inAThousandYears }).check(errorContains("expired")),
		).read(lost, 0, 0).send(unsent, 0, 0).check(tookAttempts(1))},
		{"a connection that ends before the request is read", join(
			closedEarly().read(lost, 0, 0).check(tookConnections(3)),
			closedEarly().send(lost, 0, 0).check(tookConnections(1)),
			onConnections(faultserver.Script{faultserver.ReadBytes(64 << 10), faultserver.Reset}).sending(sendLongBroadcast).send(lost, 0,
				0).check(tookConnections(1)),
		)},
		{"an answer that is lost after the service has acted", join(
			afterActing(faultserver.Close),
			afterActing(faultserver.Reset),
			afterActing(faultserver.Hang).withShortTimeout().check(errorIs(messaging.ErrAttemptTimeout)),
			afterActing(faultserver.Write("SSH-2.0-OpenSSH_9.6\r\n\r\n")),
		).read(lost, 3, 3).send(lost, 1, 1)},
		{"a connection that was idle, and is closed by the server", custom(testRequestOnAClosingConnection)},
		{"HTTP/2 resets that net/http answers with the same request, without end", join(
			forEach(http2RetryableErrors(), func(invitation faultserver.Step) hostileCases {
				return custom(func(t *testing.T) { testReadIsCutOff(t, invitation) })
			}),
			forEach(http2RetryableErrors(), func(invitation faultserver.Step) hostileCases {
				return servedOverHTTP2(faultserver.Act, invitation).send(lost, 1, 1)
			}),
			servedOverHTTP2(faultserver.Act, faultserver.ResetStream(http2.ErrCodeRefusedStream)).send(lost, 1, 1),
			servedOverHTTP2(faultserver.Act, faultserver.ResetStream(http2.ErrCodeProtocol)).sending(sendNoBody).send(lost, 1, 1),
			// net/http repeats once without a wait, and then waits longer than the timeout.
			custom(func(t *testing.T) {
				testReadIsCutOff(t, faultserver.ResetStream(http2.ErrCodeRefusedStream), messaging.WithAttemptTimeout(shortTimeout))
			}),
		)},
		{"HTTP/2 that goes away after acting, and a host that is dead thereafter", join(
			goingAwayAndClosed().read(lost, 1, 1).check(errorIs(syscall.ECONNREFUSED), tookAttempts(3)),
			goingAwayAndClosed().send(lost, 1, 1).check(tookAttempts(1)),
		)},
		{"an answer to somebody else's question",
			custom(testLeftoverBytesAreIgnored(fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", okLine, len(scripted.Failure), scripted.Failure)))},
		{"headers that ask a browser to remember", custom(testNothingIsRemembered)},
		{"a proxy that refuses", forEach([]int{407, 502}, func(status int) hostileCases {
			return withoutActing(faultserver.Respond(status, ""))
		}).at(elsewhere).over(asProxy).read(lost, 1, 0).send(unsent, 1, 0).check(tookAttempts(1), receivesNoKey)},
		{"a transport with its own ideas", join(
			afterActing(yes).over(untracedToClosedPort).read(lost, 0, 0).check(errorIs(syscall.ECONNREFUSED), tookAttempts(3)),
			afterActing(yes).over(untracedToClosedPort).send(unsent, 0, 0).check(errorIs(syscall.ECONNREFUSED), tookAttempts(3)),
			afterActing(yes).over(responseBesideError).read(lost, 3, 3).send(lost, 1, 1).check(errorIs(errTransport)),
			afterActing(yes).over(neitherResponseNorError).read(lost, 0, 0).send(unsent, 0, 0),
		)},
		{"an end to everything while calls run", join(
			custom(testAllCallsEnd(func(cancel context.CancelFunc, _ *faultserver.Server) { cancel() })),
			custom(testAllCallsEnd(func(_ context.CancelFunc, server *faultserver.Server) { server.Stop() })),
		)},
	}
}

func servedOverTLS(steps ...faultserver.Step) hostileCases {
	return servedBy(func(tb testing.TB) *faultserver.Server { return faultserver.StartTLS(tb, acting(steps...)) })
}

func inAThousandYears() time.Time { return time.Now().AddDate(1000, 0, 0) }

// closedEarly are connections that end before a request has arrived.
func closedEarly() hostileCases {
	return join(
		onConnections(faultserver.Script{faultserver.ReadBytes(1), faultserver.Reset}),
		onConnections(faultserver.Script{faultserver.ReadHead, faultserver.Reset}),
	)
}

func sendLongBroadcast(ctx context.Context, client *messaging.Client) (any, error) {
	params := scripted.BroadcastTo(scripted.PersonalEmail)
	params.Message = strings.Repeat("x", 8<<20)
	return client.Broadcasts.SendEmail(ctx, params)
}

func toClosedPort(t *testing.T, _ *faultserver.Server) http.RoundTripper {
	address := faultserver.ClosedAddress(t)
	return &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, address)
	}}
}

// dialHanging dials, and never returns. It does not end with the request, because net/http keeps a dial for the next one.
func dialHanging(t *testing.T, _ *faultserver.Server) http.RoundTripper {
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	return &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		<-over
		return nil, scripted.ErrRefused
	}}
}

// refusingLaterDials refuses all connections but the first.
func refusingLaterDials(transport *http.Transport) {
	dial, dials := transport.DialContext, 0
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if dials++; dials > 1 {
			return nil, scripted.ErrRefused
		}
		return dial(ctx, network, address)
	}
}

func asProxy(_ *testing.T, server *faultserver.Server) http.RoundTripper {
	proxy := &url.URL{Scheme: "http", Host: server.Address()}
	return &http.Transport{Proxy: http.ProxyURL(proxy)}
}

// http2RetryableErrors are the frames with which HTTP/2 claims that a request was
// not handled. net/http sends the request again after each of them; as of Go 1.27,
// only after the second.
func http2RetryableErrors() []faultserver.Step {
	return []faultserver.Step{faultserver.ResetStream(http2.ErrCodeProtocol), faultserver.GoAway(http2.ErrCodeNo, true)}
}

// startHTTP2 starts a server that reads each request and plays the steps.
func startHTTP2(tb testing.TB, steps ...faultserver.Step) *faultserver.Server {
	return faultserver.StartHTTP2(tb,
		faultserver.Script{faultserver.Streams(append([]faultserver.Step{faultserver.ReadRequest}, steps...)...)})
}

func servedOverHTTP2(steps ...faultserver.Step) hostileCases {
	return servedBy(func(tb testing.TB) *faultserver.Server { return startHTTP2(tb, steps...) }).through(func(*http.Transport) {})
}

func goingAwayAndClosed() hostileCases {
	return servedOverHTTP2(faultserver.Act, faultserver.GoAway(http2.ErrCodeNo, true), faultserver.Close).through(refusingLaterDials)
}

// testReadIsCutOff allows for the fourth request of an attempt, which may be sent
// before the attempt is cancelled. There is no fifth.
func testReadIsCutOff(t *testing.T, invitation faultserver.Step, options ...messaging.Option) {
	server := startHTTP2(t, faultserver.Act, invitation)
	transport := newTransportTo(t, server, func(*http.Transport) {})
	client := scripted.NewClientOver(t, server.URL(), &http.Client{Transport: transport},
		append(options, scripted.WithQuickRetries())...)
	_, err := listCustomers(t.Context(), client)
	requireOutcome(t, lost, err)
	// As of Go 1.27, net/http no longer repeats after PROTOCOL_ERROR.
	if len(server.Requests()) > 3 && !errors.Is(err, messaging.ErrAttemptTimeout) {
		assert.ErrorContains(t, err, "net/http keeps repeating the request")
	}
	assert.LessOrEqual(t, len(server.Requests()), 3*4)
	assert.LessOrEqual(t, server.Acted(), 3*4)
}

// testRequestOnAClosingConnection is a request that a server carries out without a
// response, on a connection that was used before. net/http itself repeats a read
// there.
func testRequestOnAClosingConnection(t *testing.T) {
	for _, call := range []hostileCall{{"read", listCustomers, succeeds, 3, 3}, {"send", sendBroadcast, lost, 2, 2}} {
		t.Run(call.name, func(t *testing.T) {
			yes := faultserver.Respond(http.StatusOK, scripted.Success)
			server := faultserver.Start(t, faultserver.Script{
				faultserver.ReadRequest, faultserver.Act, yes,
				faultserver.ReadRequest, faultserver.Act, faultserver.Close,
			}, acting(yes))
			client := newHostileClient(t, server)
			_, err := call.perform(t.Context(), client)
			requireOutcome(t, succeeds, err)
			_, err = call.perform(t.Context(), client)
			requireOutcome(t, call.want, err)
			requireCounts(t, server, call.requests, call.acted)
		})
	}
}

func newHostileClient(t *testing.T, server *faultserver.Server) *messaging.Client {
	t.Helper()
	client, err := messaging.NewClient(server.URL(), scripted.SecretKey, scripted.WithQuickRetries())
	require.NoError(t, err)
	return client
}

func testNothingIsRemembered(t *testing.T) {
	for name, call := range map[string]callFunc{"read": listCustomers, "send": sendBroadcast} {
		t.Run(name, func(t *testing.T) {
			server := faultserver.Start(t, acting(faultserver.Respond(http.StatusOK, scripted.Success, "Set-Cookie: visitor=1",
				"Strict-Transport-Security: max-age=31536000", `Alt-Svc: h2="127.0.0.1:1"`, "Link: </elsewhere>; rel=preload", "Clear-Site-Data: *")))
			client := newHostileClient(t, server)
			for range 2 {
				_, err := call(t.Context(), client)
				requireOutcome(t, succeeds, err)
			}
			requireCounts(t, server, 2, 2)
			first, second := server.Requests()[0], server.Requests()[1]
			assert.Equal(t, first, second)
			assert.NotContains(t, second.Header, "Cookie")
		})
	}
}

var errTransport = errors.New("odd")

// valueless is a context without the trace of httptrace.
type valueless struct{ context.Context }

func (valueless) Value(any) any { return nil }

func untracedToClosedPort(t *testing.T, server *faultserver.Server) http.RoundTripper {
	transport := toClosedPort(t, server)
	return scripted.RoundTripper(func(req *http.Request) (*http.Response, error) {
		return transport.RoundTrip(req.WithContext(valueless{req.Context()}))
	})
}

// responseBesideError returns a response and an error. The response must be closed.
func responseBesideError(t *testing.T, server *faultserver.Server) http.RoundTripper {
	transport := newTransportTo(t, server, func(*http.Transport) {})
	return scripted.RoundTripper(func(req *http.Request) (*http.Response, error) {
		resp, err := transport.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		body := &closingBody{ReadCloser: resp.Body}
		t.Cleanup(func() { assert.True(t, body.closed.Load(), "the response is closed") })
		resp.Body = body
		return resp, errTransport
	})
}

type closingBody struct {
	io.ReadCloser
	closed atomic.Bool
}

func (b *closingBody) Close() error {
	b.closed.Store(true)
	return b.ReadCloser.Close()
}

func neitherResponseNorError(*testing.T, *faultserver.Server) http.RoundTripper {
	return scripted.RoundTripper(func(*http.Request) (*http.Response, error) { return nil, nil })
}

// testAllCallsEnd ends everything while all calls are in flight.
func testAllCallsEnd(end func(context.CancelFunc, *faultserver.Server)) func(*testing.T) {
	return func(t *testing.T) {
		const calls = 32
		underWay := make(chan struct{}, calls)
		server := faultserver.Start(t, acting(func(*faultserver.Connection) error {
			underWay <- struct{}{}
			return nil
		}, faultserver.Hang))
		client := newHostileClient(t, server)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		failures := make(chan error, calls)
		for i := range calls {
			call := []callFunc{listCustomers, sendBroadcast}[i%2]
			go func() {
				_, err := call(ctx, client)
				failures <- err
			}()
		}
		for range calls {
			<-underWay
		}
		end(cancel, server)
		for range calls {
			requireOutcome(t, lost, <-failures)
		}
		requireCounts(t, server, calls, calls)
	}
}

// receivesNoKey requires that the server has not received the key.
func receivesNoKey(t *testing.T, o callResult) {
	for _, request := range o.server.Requests() {
		assert.NotContains(t, request.Header, "X-Authorization")
	}
}

func tookConnections(want int) hostileCheck {
	return func(t *testing.T, o callResult) { assert.Equal(t, want, o.server.Connections()) }
}
