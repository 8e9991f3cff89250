package exchange_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"

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
			assert.NotEqual(t, messaging.NextRetry, messaging.NextStepOf(err))
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
	assert.NotEqual(t, messaging.NextRetry, messaging.NextStepOf(err), "nothing tells that it can pass")
	assert.EqualError(t, err,
		"trigger event: POST /v1/events/trigger: boom; nothing was sent")
	err = scripted.TriggerEvent(t.Context(), client, messaging.WithRepeatableSend())
	assert.Equal(t, messaging.NextRetry, messaging.NextStepOf(err), "what may be repeated in doubt may be repeated without")
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
					assert.True(t, strings.Contains(content, `"message":"`+want.Message+`"`), "the message is another")
					return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(scripted.Success))}, nil
				})})
			_, err := client.Broadcasts.SendEmail(t.Context(), want)
			require.NoError(t, err)
		})
	}
}

func TestRequestGivesNetHTTPNothingToRepeatASendWith(t *testing.T) {
	tests := []struct {
		name    string
		perform scripted.Call
		content string
	}{
		{"a send of the API", scripted.TriggerEvent, `{"event_id":"order_paid","payload":{"email":"ada@canary.example"}}`},
		{"a POST with a body", scripted.Do(messaging.Request{Method: "POST", Path: "/v1/tags", Body: []int{1}}), `[1]`},
		{"a POST without a body", scripted.Do(messaging.Request{Method: "POST", Path: "/v1/sync"}), ``},
		{"a DELETE without a body", scripted.Do(messaging.Request{Method: "DELETE", Path: "/v1/tags/1"}), ``},
		{"a method that net/http thinks harmless", scripted.Do(messaging.Request{Method: "OPTIONS", Path: "/v1/tags"}), ``},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, scripted.Success)})
			require.NoError(t, test.perform(t.Context(), client))
			require.Len(t, transport.Sent, 1)
			sent := transport.Sent[0]
			assert.Equal(t, test.content, sent.Content)
			assert.Nil(t, sent.GetBody)
			assert.NotNil(t, sent.Body, "a request without a body is repeated over HTTP/2")
			assert.NotEqual(t, http.NoBody, sent.Body)
			assert.NotContains(t, sent.Header, "Idempotency-Key")
			assert.NotContains(t, sent.Header, "X-Idempotency-Key")
		})
	}
}

func TestRequestIsTheSameInEachAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, transport := scripted.NewClient(t,
			[]scripted.Scene{scripted.Responds(503, ""), scripted.Responds(503, ""), scripted.Responds(200, scripted.Success)})
		require.NoError(t, scripted.SendBroadcast(t.Context(), client, messaging.WithRepeatableSend(), messaging.WithHeader("X-Trace", "42")))
		require.Len(t, transport.Sent, 3)
		first := transport.Sent[0]
		assert.Contains(t, first.Content, `"subject":"Invoice"`)
		for _, sent := range transport.Sent {
			assert.Equal(t, first.Content, sent.Content)
			assert.Equal(t, first.URL, sent.URL)
			assert.Equal(t, first.Header, sent.Header)
			assert.Nil(t, sent.GetBody)
		}
	})
}

func TestRequestHasCookiesOnceInEachAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		jar, err := cookiejar.New(nil)
		require.NoError(t, err)
		jar.SetCookies(&url.URL{Scheme: "https", Host: "api.example.com", Path: "/"}, []*http.Cookie{{Name: "node", Value: "7"}})
		transport := &scripted.Transport{Scenes: []scripted.Scene{scripted.Responds(503, ""), scripted.Responds(200, scripted.Success)}}
		client := scripted.NewClientOver(t, "https://api.example.com", &http.Client{Transport: transport, Jar: jar})
		require.NoError(t, scripted.ReadCustomers(t.Context(), client))
		require.Len(t, transport.Sent, 2)
		for _, sent := range transport.Sent {
			assert.Equal(t, []string{"node=7"}, sent.Header["Cookie"])
		}
	})
}

func TestRequestWithoutABodyWorksOverHTTP2(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, `{"success":true,"data":[%q,%q,%d]}`, r.Proto, r.Method, len(content))
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	response, err := scripted.NewClientOver(t, server.URL, server.Client()).Do(t.Context(),
		messaging.Request{Method: "POST", Path: "/v1/sync"})
	require.NoError(t, err)
	assert.JSONEq(t, `["HTTP/2.0","POST",0]`, string(response.Data))
}

func TestLoopGuardEndsAnAttempt(t *testing.T) {
	many := func(times int, happens func(*http.Request)) func(*http.Request) {
		return func(req *http.Request) {
			for range times {
				happens(req)
			}
		}
	}
	tests := []struct {
		name    string
		happens func(*http.Request)
		cutOff  bool
	}{
		{"a request may be written three times", many(3, scripted.WriteRequest), false},
		{"the fourth time ends the attempt", many(4, scripted.WriteRequest), true},
		{"connections do not count", many(20, func(req *http.Request) {
			scripted.AskForConnection(req)
			httptrace.ContextClientTrace(req.Context()).GotConn(httptrace.GotConnInfo{})
		}), false},
		{"requests that a transport makes on its own do not count", many(20, func(req *http.Request) {
			trace := httptrace.ContextClientTrace(req.Context())
			trace.WroteHeaderField("Authorization", []string{"token"})
		}), false},
		{"HTTP/2 writes header names in lower case", many(4, func(req *http.Request) {
			httptrace.ContextClientTrace(req.Context()).WroteHeaderField("x-authorization", []string{scripted.SecretKey})
		}), true},
	}
	for _, test := range tests {
		scripted.RunInBubble(t, test.name, func(t *testing.T) {
			client, transport := scripted.NewClient(t, []scripted.Scene{func(req *http.Request) (*http.Response, error) {
				test.happens(req)
				if req.Context().Err() != nil {
					return nil, req.Context().Err()
				}
				return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(scripted.Success))}, nil
			}})
			err := scripted.ReadCustomers(t.Context(), client)
			if !test.cutOff {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, "net/http keeps repeating the request")
			assert.Len(t, transport.Sent, 3, "a read is tried again")
			assert.Equal(t, messaging.NextRetry, messaging.NextStepOf(err))
			assert.Equal(t, messaging.DeliveryUnknown, messaging.DeliveryOf(err))
			assert.NotErrorIs(t, err, context.Canceled)

			err = scripted.TriggerEvent(t.Context(), client, messaging.WithRepeatableSend())
			require.ErrorContains(t, err, "net/http keeps repeating the request")
			assert.Len(t, transport.Sent, 4, "a send is not")
			assert.NotEqual(t, messaging.NextRetry, messaging.NextStepOf(err))
		})
	}
}

// closeRecorder is a body that remembers being closed.
type closeRecorder struct {
	io.Reader
	closed bool
}

func (r *closeRecorder) Close() error {
	r.closed = true
	return nil
}

func TestRequestOverIrregularTransports(t *testing.T) {
	tests := []struct {
		name     string
		play     scripted.Scene
		delivery messaging.Delivery
	}{
		{"an error of a transport that has read from the body proves nothing",
			func(req *http.Request) (*http.Response, error) {
				_, _ = req.Body.Read(make([]byte, 1))
				return nil, errors.New("odd")
			}, messaging.DeliveryUnknown},
		{"an answer without a body is one that says nothing",
			func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 200}, nil }, messaging.DeliveryUnknown},
		{"an answer that announces a body and has none says nothing",
			func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, ContentLength: 7}, nil
			}, messaging.DeliveryUnknown},
		{"an error response without a body or header is a refusal",
			func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 400}, nil }, messaging.DeliveryRejected},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			client, transport := scripted.NewClient(t, []scripted.Scene{test.play})
			err := scripted.SendBroadcast(t.Context(), client)
			require.Error(t, err)
			assert.Equal(t, test.delivery, messaging.DeliveryOf(err))
			assert.Len(t, transport.Sent, 1)
		})
	}
}

func TestResponseBodyIsClosedAfterEachAttempt(t *testing.T) {
	tests := map[string]struct {
		status int
		body   io.Reader
	}{
		"of a success":                 {200, strings.NewReader(scripted.Success)},
		"of a no":                      {200, strings.NewReader(scripted.Failure)},
		"of what cannot be understood": {200, strings.NewReader("<html>")},
		"of what is cut short":         {200, &scripted.CutShort{}},
		"of what is over the limit":    {200, strings.NewReader(strings.Repeat("x", 10_000_000))},
		"of an error":                  {500, strings.NewReader(scripted.Failure)},
		"of a huge error":              {500, strings.NewReader(strings.Repeat("x", 10_000_000))},
		"of a redirect":                {302, strings.NewReader("")},
		"of another protocol":          {101, strings.NewReader(strings.Repeat("x", 10_000_000))},
		"of a success without content": {204, strings.NewReader("")},
	}
	for name, test := range tests {
		t.Run("the body "+name, func(t *testing.T) {
			body := &closeRecorder{Reader: test.body}
			client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Connects(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: test.status, Body: body, ContentLength: -1}, nil
			})}, messaging.WithMaxResponseBytes(maxResponse))
			_ = scripted.SendBroadcast(t.Context(), client)
			assert.True(t, body.closed)
			assert.ErrorIs(t, transport.Sent[0].Context().Err(), context.Canceled, "nothing of the attempt stays behind")
		})
	}
}
