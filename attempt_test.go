package messaging_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/faultserver"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

// newActingServer starts a server that carries out each request that it has read to
// its end.
func newActingServer(t *testing.T) *faultserver.Server {
	t.Helper()
	return faultserver.Start(t, faultserver.EachRequest(faultserver.Act, faultserver.Respond(http.StatusOK, scripted.Success)))
}

// lateTransport gives up on every request at once, as a circuit breaker does after
// its time limit, and still sends it once it is released.
type lateTransport struct {
	inner    http.RoundTripper
	failure  error
	change   func(*http.Request) *http.Request
	released chan struct{}
	sending  sync.WaitGroup
	calls    atomic.Int32
}

func (l *lateTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	l.calls.Add(1)
	l.sending.Go(func() {
		<-l.released
		if resp, err := l.inner.RoundTrip(l.change(req)); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	})
	return nil, l.failure
}

// release lets every request go, and waits until none is on its way.
func (l *lateTransport) release() {
	close(l.released)
	l.sending.Wait()
}

func unchanged(req *http.Request) *http.Request { return req }

func detached(req *http.Request) *http.Request {
	return req.Clone(context.WithoutCancel(req.Context()))
}

func readBeforehand(req *http.Request) *http.Request {
	body, _ := io.ReadAll(req.Body)
	req = detached(req)
	req.Body = io.NopCloser(strings.NewReader(string(body)))
	return req
}

func TestNotSentHoldsForATransportThatSendsAfterItFailed(t *testing.T) {
	for name, change := range map[string]func(*http.Request) *http.Request{
		"with the context of the attempt": unchanged,
		"detached from it":                detached,
	} {
		for failureName, failure := range map[string]error{"that can pass": scripted.ErrDialTimeout,
			"of an unknown kind": errors.New("circuit open")} {
			t.Run(name+", after an error "+failureName, func(t *testing.T) {
				server := newActingServer(t)
				late := &lateTransport{inner: server.Client().Transport, failure: failure, change: change, released: make(chan struct{})}
				client := scripted.NewClientOver(t, server.URL(), &http.Client{Transport: late}, scripted.WithQuickRetries())

				err := scripted.TriggerEvent(t.Context(), client)
				late.release()

				assert.Equal(t, messaging.DeliveryNotSent, messaging.DeliveryOf(err))
				assert.EqualValues(t, map[bool]int{true: 3, false: 1}[failure == scripted.ErrDialTimeout], late.calls.Load())
				assert.Zero(t, server.Acted(), "carried out although it was not sent")
			})
		}
	}
}

func TestNotSentHoldsWhileTheAttemptIsLogged(t *testing.T) {
	server := newActingServer(t)
	late := &lateTransport{inner: server.Client().Transport, failure: scripted.ErrDialTimeout, change: unchanged,
		released: make(chan struct{})}
	logger := slog.New(handlerFunc(sync.OnceFunc(late.release)))
	client := scripted.NewClientOver(t, server.URL(), &http.Client{Transport: late}, messaging.WithLogger(logger),
		messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 1}))

	err := scripted.TriggerEvent(t.Context(), client)

	assert.Equal(t, messaging.DeliveryNotSent, messaging.DeliveryOf(err))
	assert.Zero(t, server.Acted())
}

// handlerFunc is a slog.Handler that does something for each record.
type handlerFunc func()

func (h handlerFunc) Enabled(context.Context, slog.Level) bool  { return true }
func (h handlerFunc) Handle(context.Context, slog.Record) error { h(); return nil }
func (h handlerFunc) WithAttrs([]slog.Attr) slog.Handler        { return h }
func (h handlerFunc) WithGroup(string) slog.Handler             { return h }

func TestNotSentIsNotReportedOfATransportThatReadsTheBodyFirst(t *testing.T) {
	server := newActingServer(t)
	reading := scripted.RoundTripper(func(req *http.Request) (*http.Response, error) {
		resp, err := server.Client().Transport.RoundTrip(readBeforehand(req))
		if err == nil {
			_ = resp.Body.Close()
		}
		return nil, scripted.ErrDialTimeout
	})
	client := scripted.NewClientOver(t, server.URL(), &http.Client{Transport: reading}, scripted.WithQuickRetries())
	err := scripted.TriggerEvent(t.Context(), client)
	assert.Equal(t, messaging.DeliveryUnknown, messaging.DeliveryOf(err))
	assert.Equal(t, 1, server.Acted())
}

func TestNotSentIsNotReportedWhenTheServiceHasTheHeaders(t *testing.T) {
	for name, play := range map[string]scripted.Scene{
		"the headers were written, over HTTP/1.1": func(req *http.Request) (*http.Response, error) {
			httptrace.ContextClientTrace(req.Context()).WroteHeaderField("X-Authorization", []string{scripted.SecretKey})
			return nil, scripted.ErrDialTimeout
		},
		"the headers were written, over HTTP/2": func(req *http.Request) (*http.Response, error) {
			httptrace.ContextClientTrace(req.Context()).WroteHeaderField("x-authorization", []string{scripted.SecretKey})
			return nil, scripted.ErrDialTimeout
		},
		"a response was returned beside the error": func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(scripted.Success))}, scripted.ErrDialTimeout
		},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			client := scripted.NewClientOver(t, "https://api.example.com",
				&http.Client{Transport: scripted.RoundTripper(func(req *http.Request) (*http.Response, error) {
					calls++
					return play(req)
				})}, scripted.WithQuickRetries())
			err := scripted.TriggerEvent(t.Context(), client)
			assert.Equal(t, messaging.DeliveryUnknown, messaging.DeliveryOf(err))
			assert.False(t, messaging.Retryable(err))
			assert.Equal(t, 1, calls)
		})
	}
}

// Over HTTP/2, a call that its context ends can return before the body is read,
// although the service has the headers.
func TestNotSentIsNotReportedOfACallThatEndsOverHTTP2(t *testing.T) {
	var acted atomic.Int32
	var cancel atomic.Pointer[context.CancelFunc]
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		acted.Add(1)
		(*cancel.Load())()
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	client := scripted.NewClientOver(t, server.URL, server.Client(), scripted.WithQuickRetries())
	for range 500 {
		ctx, stop := context.WithCancel(t.Context())
		cancel.Store(&stop)
		before := acted.Load()
		err := scripted.Do(messaging.Request{Method: http.MethodDelete, Path: "/v1/tags/1",
			Body: map[string]string{"reason": "test"}})(ctx, client)
		if acted.Load() > before {
			require.NotEqual(t, messaging.DeliveryNotSent, messaging.DeliveryOf(err))
		}
		stop()
	}
}

func TestAttemptHasHeadersOfItsOwn(t *testing.T) {
	var running sync.WaitGroup
	var got [][]string
	client := scripted.NewClientOver(t, "https://api.example.com",
		&http.Client{Transport: scripted.RoundTripper(func(req *http.Request) (*http.Response, error) {
			got = append(got, req.Header.Values("X-Trace"))
			req.Header.Add("X-Trace", "2")
			running.Go(func() { req.Header.Set("X-Late", "1") })
			return nil, scripted.ErrDialTimeout
		})}, scripted.WithQuickRetries())
	_ = scripted.TriggerEvent(t.Context(), client, messaging.WithHeader("X-Trace", "1"))
	running.Wait()
	assert.Equal(t, [][]string{{"1"}, {"1"}, {"1"}}, got)
}

func TestNotSentIsNotReportedOfASendWithoutABodyOverAGivenTransport(t *testing.T) {
	server := newActingServer(t)
	late := &lateTransport{inner: server.Client().Transport, failure: scripted.ErrDialTimeout, released: make(chan struct{})}
	late.change = func(req *http.Request) *http.Request {
		req = detached(req)
		req.Body = nil // there is nothing in it
		return req
	}
	client := scripted.NewClientOver(t, server.URL(), &http.Client{Transport: late}, scripted.WithQuickRetries())
	err := scripted.Do(messaging.Request{Method: http.MethodDelete, Path: "/v1/tags/1"})(t.Context(), client)
	late.release()
	assert.Equal(t, messaging.DeliveryUnknown, messaging.DeliveryOf(err))
	assert.Equal(t, 1, server.Acted(), "it was sent after all, once")
}

// A hook of TLSNextProto takes over connections of an *http.Transport, which
// then does not report them to httptrace.
func TestNotSentIsNotReportedOfATransportWithAProtocolHook(t *testing.T) {
	server := newActingServer(t)
	secure := httptest.NewUnstartedServer(nil)
	secure.TLS = &tls.Config{NextProtos: []string{"acme"}}
	secure.StartTLS()
	defer secure.Close()
	transport := secure.Client().Transport.(*http.Transport).Clone()
	transport.TLSClientConfig.NextProtos = []string{"acme"}
	transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{
		"acme": func(string, *tls.Conn) http.RoundTripper {
			return scripted.RoundTripper(func(req *http.Request) (*http.Response, error) {
				req = req.Clone(req.Context())
				req.URL.Scheme, req.URL.Host = "http", server.Address()
				if resp, err := server.Client().Transport.RoundTrip(req); err == nil {
					_ = resp.Body.Close()
				}
				return nil, scripted.ErrDialTimeout
			})
		},
	}
	client := scripted.NewClientOver(t, secure.URL, &http.Client{Transport: transport}, scripted.WithQuickRetries())
	err := scripted.TriggerEvent(t.Context(), client)
	assert.Equal(t, messaging.DeliveryUnknown, messaging.DeliveryOf(err))
	assert.Equal(t, 1, server.Acted())

	// The client's own transport is a copy without the hook, even where a dialer
	// agrees on the protocol.
	transport = transport.Clone()
	transport.DialTLSContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		return (&tls.Dialer{Config: transport.TLSClientConfig}).DialContext(ctx, network, address)
	}
	own := scripted.NewClientOnOwnTransport(t, secure.URL, transport, scripted.WithQuickRetries())
	require.Error(t, scripted.TriggerEvent(t.Context(), own))
	assert.Equal(t, 1, server.Acted())
}

func TestNotSentIsReportedOfAMockTransport(t *testing.T) {
	errBoom := errors.New("boom")
	client := scripted.NewClientOver(t, "https://api.example.com",
		&http.Client{Transport: scripted.RoundTripper(func(*http.Request) (*http.Response, error) {
			return nil, errBoom
		})})
	err := scripted.TriggerEvent(t.Context(), client)
	require.ErrorIs(t, err, errBoom)
	assert.Equal(t, messaging.DeliveryNotSent, messaging.DeliveryOf(err))
	assert.False(t, messaging.Retryable(err), "nothing tells that it can pass")
	assert.EqualError(t, err,
		"trigger event: POST /v1/events/trigger: transport error (its text may quote the request or the response, and is withheld); "+
			"nothing was sent")
	err = scripted.TriggerEvent(t.Context(), client, messaging.WithRepeatableSend())
	assert.True(t, messaging.Retryable(err), "what may be repeated in doubt may be repeated without")
}

func TestRequestBodyStaysLockedAfterItsAttempt(t *testing.T) {
	for name, play := range map[string]scripted.Scene{
		"after a failure":  func(*http.Request) (*http.Response, error) { return nil, scripted.ErrDialTimeout },
		"after a response": func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 422}, nil },
		"after a success": func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(scripted.Success))}, nil
		},
		"after a panic": func(*http.Request) (*http.Response, error) { panic("a bug of the transport") },
	} {
		t.Run(name, func(t *testing.T) {
			var requests []*http.Request
			client := scripted.NewClientOver(t, "https://api.example.com",
				&http.Client{Transport: scripted.RoundTripper(func(req *http.Request) (*http.Response, error) {
					requests = append(requests, req)
					return play(req)
				})}, scripted.WithQuickRetries())
			func() {
				defer func() { _ = recover() }()
				_ = scripted.TriggerEvent(t.Context(), client)
			}()
			require.NotEmpty(t, requests)
			for _, req := range requests {
				content, err := io.ReadAll(req.Body)
				assert.Error(t, err)
				assert.Empty(t, content)
				assert.Error(t, req.Context().Err(), "the attempt is cancelled")
			}
		})
	}
}

func TestRequestBodyIsReadInAnyWay(t *testing.T) {
	want := scripted.BroadcastTo("ada@example.com")
	want.Message = strings.Repeat("x", 1<<20)
	for name, read := range map[string]func(io.Reader) (string, error){
		"by ReadAll": func(r io.Reader) (string, error) {
			content, err := io.ReadAll(r)
			return string(content), err
		},
		"by Copy": func(r io.Reader) (string, error) {
			var content strings.Builder
			_, err := io.Copy(&content, r)
			return content.String(), err
		},
		"byte by byte": func(r io.Reader) (string, error) {
			content, err := io.ReadAll(iotest.OneByteReader(r))
			return string(content), err
		},
		"after nothing was read": func(r io.Reader) (string, error) {
			if n, err := r.Read(nil); n != 0 || err != nil {
				return "", errors.New("an empty read is not the end")
			}
			content, err := io.ReadAll(r)
			return string(content), err
		},
	} {
		t.Run(name, func(t *testing.T) {
			client := scripted.NewClientOver(t, "https://api.example.com",
				&http.Client{Transport: scripted.RoundTripper(func(req *http.Request) (*http.Response, error) {
					content, err := read(req.Body)
					require.NoError(t, err)
					assert.EqualValues(t, len(content), req.ContentLength)
					assert.Contains(t, content, `"message":"`+want.Message+`"`)
					return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(scripted.Success))}, nil
				})})
			_, err := client.Broadcasts.SendEmail(t.Context(), want)
			require.NoError(t, err)
		})
	}
}

func TestRequestBodyCanBeLockedWhileItIsCopied(t *testing.T) {
	var body io.Reader
	client := scripted.NewClientOver(t, "https://api.example.com",
		&http.Client{Transport: scripted.RoundTripper(func(req *http.Request) (*http.Response, error) {
			body = req.Body
			_, err := io.CopyN(io.Discard, body, 10)
			require.NoError(t, err)
			return nil, scripted.ErrDialTimeout
		})})
	params := scripted.BroadcastTo("ada@example.com")
	_, err := client.Broadcasts.SendEmail(t.Context(), params)
	assert.Equal(t, messaging.DeliveryUnknown, messaging.DeliveryOf(err))
	n, err := io.Copy(io.Discard, body)
	require.Error(t, err)
	assert.Zero(t, n)
}
