package upstream_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-retryablehttp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"github.com/messaging-go/messaging/internal/kit/faultserver"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

// The tests in this file do not test package messaging. They pin the behaviour of
// net/http and go-retryablehttp that it guards against. If one fails after an upgrade,
// a guard may no longer be needed, or may no longer work: read the comment of the
// test before changing it.

// newBareClient returns a client of net/http with connections of its own, which trusts
// every certificate.
func newBareClient(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// newBarePost returns a POST that net/http can send again.
func newBarePost(t *testing.T, ctx context.Context, address string) *http.Request {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader("broadcast"))
	require.NoError(t, err)
	require.NotNil(t, request.GetBody)
	return request
}

// barely sends a request and discards the body of the response.
func barely(client *http.Client, request *http.Request) (status int, err error) {
	resp, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, resp.Body.Close()
}

// net/http sends a POST again over HTTP/2, and again, for as long as the server goes
// away and says that it has not handled it, even if it has carried it out. Before Go 1.27
// it did so after PROTOCOL_ERROR as well; see https://go.dev/issue/52459. It needs
// GetBody to do so, so messaging removes GetBody.
func TestNetHTTPRepeatsAPostOverHTTP2(t *testing.T) {
	const enough = 5
	t.Run("as often as it likes with GetBody", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		var copies atomic.Int32
		count := func(*faultserver.Connection) error {
			if copies.Add(1) == enough {
				cancel()
			}
			return nil
		}
		server := faultserver.StartHTTP2(t, faultserver.Script{
			faultserver.Streams(faultserver.ReadRequest, count, faultserver.Act, faultserver.GoAway(http2.ErrCodeNo, true))})
		_, err := barely(newBareClient(t), newBarePost(t, ctx, server.URL()))
		require.ErrorIs(t, err, context.Canceled, "nothing else ends it")
		assert.GreaterOrEqual(t, len(server.Requests()), enough)
	})
	t.Run("never without GetBody", func(t *testing.T) {
		server := faultserver.StartHTTP2(t, faultserver.Script{
			faultserver.Streams(faultserver.ReadRequest, faultserver.Act, faultserver.GoAway(http2.ErrCodeNo, true))})
		request := newBarePost(t, t.Context(), server.URL())
		request.GetBody = nil
		_, err := barely(newBareClient(t), request)
		require.ErrorContains(t, err, "cannot retry")
		assert.Equal(t, 1, server.Acted())
	})
}

// net/http sends a POST again over HTTP/1.1 when a connection that was used
// before breaks, if the request has an idempotency key. The service does not know
// such keys, so messaging refuses the header, and removes GetBody.
func TestNetHTTPRepeatsAPostWithAnIdempotencyKey(t *testing.T) {
	tests := []struct {
		name, header   string
		withoutGetBody bool
		acted          int
	}{
		{"a POST without a key is sent once", "X-Trace", false, 1},
		{"a POST with a key is sent twice", "Idempotency-Key", false, 2},
		{"the older name of the header does the same", "X-Idempotency-Key", false, 2},
		{"a POST with a key and without GetBody is sent once", "Idempotency-Key", true, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server := faultserver.Start(t,
				faultserver.Script{faultserver.ReadRequest, faultserver.Respond(200, scripted.Success), faultserver.ReadRequest, faultserver.Act},
				faultserver.Script{faultserver.ReadRequest, faultserver.Act, faultserver.Respond(200, scripted.Success)})
			client := newBareClient(t)
			_, err := barely(client, newBarePost(t, t.Context(), server.URL()))
			require.NoError(t, err)

			request := newBarePost(t, t.Context(), server.URL())
			request.Header.Set(test.header, "key-1")
			if test.withoutGetBody {
				request.GetBody = nil
			}
			_, err = barely(client, request)
			assert.Equal(t, test.acted == 1, errors.Is(err, io.EOF), "the loss of the first answer is told or hidden: %v", err)
			assert.Equal(t, test.acted, server.Acted())
		})
	}
}

// net/http removes Authorization when a redirect leads to another host, and keeps
// X-Authorization, which holds the API key. A 303 after a POST turns it into a GET, so
// that the response of the other host is taken for that of the send. messaging does
// not follow redirects.
func TestNetHTTPForwardsTheKeyOnARedirectToAnotherHost(t *testing.T) {
	elsewhere := faultserver.Start(t, faultserver.Script{faultserver.ReadRequest, faultserver.Respond(200, scripted.Success)})
	service := faultserver.Start(t,
		faultserver.Script{faultserver.ReadRequest, faultserver.Respond(303, "", "Location: http://elsewhere.example/")})
	addresses := map[string]string{"service.example:80": service.URL(), "elsewhere.example:80": elsewhere.URL()}
	client := newBareClient(t)
	client.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, host string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, strings.TrimPrefix(addresses[host], "http://"))
	}

	request := newBarePost(t, t.Context(), "http://service.example/")
	request.Header.Set("X-Authorization", "key")
	request.Header.Set("Authorization", "key")
	status, err := barely(client, request)
	require.NoError(t, err)
	assert.Equal(t, 200, status)
	require.Len(t, elsewhere.Requests(), 1)
	forwarded := elsewhere.Requests()[0]
	assert.Equal(t, "key", forwarded.Header.Get("X-Authorization"))
	assert.Empty(t, forwarded.Header.Get("Authorization"))
	assert.Equal(t, http.MethodGet, forwarded.Method)
	assert.Empty(t, forwarded.Body)
}

// net/http hides a response whose Location it cannot parse, even its status, although
// redirects are not followed. messaging records what the transport returned.
func TestNetHTTPHidesAResponseWithAnInvalidLocation(t *testing.T) {
	server := faultserver.Start(t, faultserver.Script{faultserver.ReadRequest, faultserver.Respond(302, "", "Location: http://[::1")})
	address := server.URL()
	client := newBareClient(t)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(newBarePost(t, t.Context(), address)) //nolint:bodyclose // there is none
	require.ErrorContains(t, err, "failed to parse Location header")
	assert.NotContains(t, strings.ReplaceAll(err.Error(), address, ""), "302", "the port may contain it")
	assert.Nil(t, resp)
}

// net/http returns the same error for a handshake that is cut short, after which
// nothing was sent, and for a lost response, after which anything may have happened.
// messaging relies on httptrace rather than on errors.
func TestNetHTTPReturnsOneErrorForABrokenHandshakeAndALostResponse(t *testing.T) {
	failure := func(address string) error {
		_, err := barely(newBareClient(t), newBarePost(t, t.Context(), address))
		return errors.Unwrap(err) // from the *url.Error
	}
	silent := faultserver.Start(t, faultserver.Script{faultserver.ReadBytes(1)})
	brokenHandshake := failure(strings.Replace(silent.URL(), "http:", "https:", 1))
	losing := faultserver.StartTLS(t, faultserver.Script{faultserver.ReadRequest, faultserver.Act})
	lostAnswer := failure(losing.URL())

	require.Equal(t, 1, losing.Acted())
	assert.Same(t, io.EOF, brokenHandshake)
	assert.Same(t, io.EOF, lostAnswer)
}

// newBareRetryClient is go-retryablehttp as it comes, but for its waits and its
// log.
func newBareRetryClient(over *http.Client) *retryablehttp.Client {
	client := retryablehttp.NewClient()
	client.HTTPClient, client.Logger = over, nil
	client.RetryWaitMin, client.RetryWaitMax = time.Millisecond, time.Millisecond
	return client
}

// go-retryablehttp does not look at the method: it sends a POST whose answer was
// lost as often as it would ask again with a GET. This package has a policy of
// its own.
func TestRetryableHTTPRepeatsAPost(t *testing.T) {
	server := faultserver.Start(t, faultserver.Script{faultserver.ReadRequest, faultserver.Act})
	client := newBareRetryClient(newBareClient(t))
	_, err := client.Post(server.URL(), "text/plain", []byte("broadcast")) //nolint:bodyclose // there is none
	require.Error(t, err)
	assert.Equal(t, 1+client.RetryMax, server.Acted())
	assert.Equal(t, 4, client.RetryMax)
}

// pooledTransport always fails, and counts how often its pool is emptied.
type pooledTransport struct{ emptied int }

func (*pooledTransport) RoundTrip(*http.Request) (*http.Response, error) { return nil, io.EOF }
func (p *pooledTransport) CloseIdleConnections()                         { p.emptied++ }

// go-retryablehttp closes the idle connections of a client that it has failed
// with, whoever else uses them. This package hides the method from it.
func TestRetryableHTTPClosesIdleConnectionsAfterAFailure(t *testing.T) {
	transport := new(pooledTransport)
	_, err := newBareRetryClient(&http.Client{Transport: transport}).Get("http://service.example/") //nolint:bodyclose // there is none
	require.ErrorIs(t, err, io.EOF)
	assert.Positive(t, transport.emptied)
}

// go-retryablehttp waits for as long as Retry-After says, whatever the longest
// wait that it was given, and where that overflows, it does not wait at all. This
// package reads the header itself.
func TestRetryableHTTPObeysRetryAfterWithoutALimit(t *testing.T) {
	const longest = time.Second
	backoff := func(retryAfter string) time.Duration {
		resp := &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {retryAfter}}}
		return retryablehttp.DefaultBackoff(time.Millisecond, longest, 1, resp)
	}
	assert.Equal(t, 24*time.Hour, backoff("86400"))
	assert.Greater(t, backoff("9223372036"), time.Duration(math.MaxInt64)-time.Second, "the last one that fits")
	assert.Negative(t, backoff("9223372037"), "a hot loop")
}
