package messaging_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/faultserver"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

// takes plays the rest of a scene after a while.
func takes(d time.Duration, then scripted.Scene) scripted.Scene {
	return func(req *http.Request) (*http.Response, error) {
		time.Sleep(d)
		return then(req)
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

func TestRequestIsNotMultipliedByHTTP2Resets(t *testing.T) {
	tests := []struct {
		name    string
		perform scripted.Call
		limit   int
	}{
		{"a send reaches the service once", scripted.SendBroadcast, 1},
		{"a send without a body reaches the service once", scripted.Do(messaging.Request{Method: "POST", Path: "/v1/sync"}), 1},
		{"a read is cut off at the fourth connection", scripted.ReadCustomers, 4},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			// net/http takes such a reset for a permission to repeat the request.
			server := faultserver.StartHTTP2(t, faultserver.Script{
				faultserver.Streams(faultserver.ReadRequest, faultserver.ResetStream(http2.ErrCodeProtocol))})
			client := scripted.NewClientOver(t, server.URL(), server.Client(), messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 1}))
			err := test.perform(t.Context(), client)
			var failed *messaging.TransportError
			require.ErrorAs(t, err, &failed)
			assert.Equal(t, messaging.DeliveryUnknown, messaging.DeliveryOf(err))
			assert.Equal(t, 1, failed.Attempts)
			assert.NotEmpty(t, server.Requests())
			assert.LessOrEqual(t, len(server.Requests()), test.limit)
		})
	}
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
			assert.True(t, messaging.Retryable(err))
			assert.Equal(t, messaging.DeliveryUnknown, messaging.DeliveryOf(err))
			assert.NotErrorIs(t, err, context.Canceled)

			err = scripted.TriggerEvent(t.Context(), client, messaging.WithRepeatableSend())
			require.ErrorContains(t, err, "net/http keeps repeating the request")
			assert.Len(t, transport.Sent, 4, "a send is not")
			assert.False(t, messaging.Retryable(err))
		})
	}
}

// recordingKeySource gives the keys in turn, and fails with an error once there
// are none left.
type recordingKeySource struct {
	keys  []string
	err   error
	asked int
}

func (s *recordingKeySource) next(context.Context) (string, error) {
	s.asked++
	if s.asked > len(s.keys) {
		return "", s.err
	}
	return s.keys[s.asked-1], nil
}

func newKeySourceClient(t *testing.T, source *recordingKeySource, scenes ...scripted.Scene) (*messaging.Client, *scripted.Transport) {
	t.Helper()
	transport := &scripted.Transport{Scenes: scenes}
	client, err := messaging.NewClient("https://api.example.com", "",
		messaging.WithHTTPClient(&http.Client{Transport: transport}), messaging.WithKeySource(source.next))
	require.NoError(t, err)
	return client, transport
}

func TestKeySourceIsAskedBeforeEachAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &recordingKeySource{keys: []string{"old-key", "new-key"}}
		client, transport := newKeySourceClient(t, source, scripted.Responds(503, ""), scripted.Responds(200, scripted.Success))
		require.NoError(t, scripted.ReadCustomers(t.Context(), client))
		require.Len(t, transport.Sent, 2)
		assert.Equal(t, []string{"old-key"}, transport.Sent[0].Header["X-Authorization"], "an earlier attempt may still be writing its header")
		assert.Equal(t, []string{"new-key"}, transport.Sent[1].Header["X-Authorization"])
		assert.Equal(t, 2, source.asked)
	})
}

func TestKeySourceErrorDoesNotQuoteAnInvalidKey(t *testing.T) {
	tests := []struct{ name, key, problem string }{
		{"an empty key", "", "is required"},
		{"a key with a line break", "sk-secret\r\nX-Admin: 1", "must be printable ASCII without white space"},
		{"a key with a blank", "sk-secret tail", "must be printable ASCII without white space"},
		{"a key in another script", "sk-secret-ключ", "must be printable ASCII without white space"},
		{"a key that is far too long", strings.Repeat("sk-secret", 1000), "must not be longer than 4 KiB"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			client, transport := newKeySourceClient(t, &recordingKeySource{keys: []string{test.key}}, scripted.Responds(200, scripted.Success))
			err := scripted.SendBroadcast(t.Context(), client)
			assert.EqualError(t, err, "send email broadcast: POST /v1/broadcast/send/email: API key "+test.problem+"; nothing was sent")
			assert.Equal(t, messaging.DeliveryNotSent, messaging.DeliveryOf(err))
			assert.Empty(t, transport.Sent)
		})
	}
}

// countingLimiter fails with an error from the given request on.
type countingLimiter struct {
	asked, failFrom int
	err             error
}

func (l *countingLimiter) Wait(context.Context) error {
	if l.asked++; l.failFrom > 0 && l.asked >= l.failFrom {
		return l.err
	}
	return nil
}

func TestRateLimiterIsAskedBeforeEachAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := new(countingLimiter)
		client, transport := scripted.NewClient(t,
			[]scripted.Scene{scripted.Responds(503, ""), scripted.Responds(503, ""), scripted.Responds(200, scripted.Success)},
			messaging.WithRateLimiter(limiter))
		require.NoError(t, scripted.ReadCustomers(t.Context(), client))
		assert.Len(t, transport.Sent, 3)
		assert.Equal(t, 3, limiter.asked)
	})
}

func TestRateLimiterOrKeySourceFailureEndsTheCall(t *testing.T) {
	errHeld := errors.New("no lease for billing@example.com")
	tests := []struct {
		name     string
		attempts int
		client   func(*testing.T) (*messaging.Client, *scripted.Transport)
	}{
		{"the limiter fails before the first attempt", 0, func(t *testing.T) (*messaging.Client, *scripted.Transport) {
			return scripted.NewClient(t, []scripted.Scene{scripted.Responds(503, "")},
				messaging.WithRateLimiter(&countingLimiter{failFrom: 1, err: errHeld}))
		}},
		{"the limiter fails before the second attempt", 1, func(t *testing.T) (*messaging.Client, *scripted.Transport) {
			return scripted.NewClient(t, []scripted.Scene{scripted.Responds(503, "")},
				messaging.WithRateLimiter(&countingLimiter{failFrom: 2, err: errHeld}))
		}},
		{"the key source fails before the first attempt", 0, func(t *testing.T) (*messaging.Client, *scripted.Transport) {
			return newKeySourceClient(t, &recordingKeySource{err: errHeld}, scripted.Responds(503, ""))
		}},
		{"the key source fails before the second attempt", 1, func(t *testing.T) (*messaging.Client, *scripted.Transport) {
			return newKeySourceClient(t, &recordingKeySource{keys: []string{"key"}, err: errHeld}, scripted.Responds(503, ""))
		}},
	}
	for _, test := range tests {
		scripted.RunInBubble(t, test.name, func(t *testing.T) {
			client, transport := test.client(t)
			err := scripted.SendBroadcast(t.Context(), client, messaging.WithRepeatableSend())
			var failed *messaging.TransportError
			require.ErrorAs(t, err, &failed)
			require.ErrorIs(t, err, errHeld)
			assert.Equal(t, test.attempts, failed.Attempts)
			assert.Len(t, transport.Sent, test.attempts)
			if test.attempts == 0 {
				assert.Equal(t, messaging.DeliveryNotSent, messaging.DeliveryOf(err))
				return
			}
			assert.Equal(t, messaging.DeliveryUnknown, messaging.DeliveryOf(err), "the first attempt may have been carried out")
			assert.ErrorIs(t, err, messaging.ErrServer, "what the first attempt was answered is still told")
		})
	}
}

func TestHTTPClientOfTheUserIsNotModified(t *testing.T) {
	var connections atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthy" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = io.WriteString(w, scripted.Failure)
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()

	transport := &http.Transport{}
	given := &http.Client{Transport: transport, Timeout: time.Minute}
	client := scripted.NewClientOver(t, server.URL, given, scripted.WithQuickRetries())
	require.ErrorIs(t, scripted.ReadCustomers(t.Context(), client), messaging.ErrServer)
	require.ErrorIs(t, scripted.SendBroadcast(t.Context(), client), messaging.ErrServer)

	resp, err := given.Get(server.URL + "/healthy")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.EqualValues(t, 1, connections.Load(), "failed calls must not close the idle connections of the user")
	assert.Same(t, transport, given.Transport)
	assert.Equal(t, time.Minute, given.Timeout)
	assert.Nil(t, given.CheckRedirect)
	assert.Nil(t, given.Jar)
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
	errOdd := errors.New("odd")
	body := &closeRecorder{Reader: strings.NewReader(scripted.Success)}
	tests := []struct {
		name     string
		play     scripted.Scene
		delivery messaging.Delivery
	}{
		{"an error of a transport that has not read the body proves that nothing was sent",
			func(*http.Request) (*http.Response, error) { return nil, errOdd }, messaging.DeliveryNotSent},
		{"an error of a transport that has read the body proves nothing",
			func(req *http.Request) (*http.Response, error) {
				_, _ = req.Body.Read(make([]byte, 1))
				return nil, errOdd
			}, messaging.DeliveryUnknown},
		{"a response beside an error is closed and does not count",
			func(req *http.Request) (*http.Response, error) {
				_, _ = io.ReadAll(req.Body)
				return &http.Response{StatusCode: 200, Body: body}, errOdd
			}, messaging.DeliveryUnknown},
		{"neither an answer nor an error is an unknown fate",
			func(req *http.Request) (*http.Response, error) {
				_, _ = io.ReadAll(req.Body)
				return nil, nil
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
	assert.True(t, body.closed)
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
		"of what is over the limit":    {200, new(hugeBody)},
		"of an error":                  {500, strings.NewReader(scripted.Failure)},
		"of a huge error":              {500, new(hugeBody)},
		"of a redirect":                {302, strings.NewReader("")},
		"of another protocol":          {101, new(hugeBody)},
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

func TestRequestPassesOnAPanicOfTheTransport(t *testing.T) {
	client, _ := scripted.NewClient(t, []scripted.Scene{func(*http.Request) (*http.Response, error) { panic("a bug of the user's") }})
	assert.PanicsWithValue(t, "a bug of the user's", func() { _ = scripted.ReadCustomers(t.Context(), client) })
}

func TestResponseDescribesTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _ := scripted.NewClient(t, []scripted.Scene{
			scripted.Responds(503, "", "Retry-After", "5"),
			scripted.Responds(202, `{"message":"Accepted","data":{"id": 7},"success":true}`, "X-Request-Id", "r-1"),
		})
		response, err := client.Do(t.Context(), messaging.Request{Method: "GET", Path: "/v1/tags"})
		require.NoError(t, err)
		assert.Equal(t, &messaging.Response{
			StatusCode: 202, Header: http.Header{"X-Request-Id": {"r-1"}}, Message: "Accepted", Data: json.RawMessage(`{"id": 7}`),
			Attempts: 2, Duration: 5 * time.Second,
		}, response)
	})
}

func TestRequestHead(t *testing.T) {
	head := messaging.Request{Method: "HEAD", Path: "/v1/tags"}
	t.Run("a 2xx is a success although nothing says so", func(t *testing.T) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Header().Set("X-Count", r.Method) }))
		defer server.Close()
		response, err := scripted.NewClientOver(t, server.URL, server.Client()).Do(t.Context(), head)
		require.NoError(t, err)
		assert.Equal(t, 200, response.StatusCode)
		assert.Equal(t, "HEAD", response.Header.Get("X-Count"))
		assert.Empty(t, response.Data)
	})
	scripted.RunInBubble(t, "it is repeated as a GET is", func(t *testing.T) {
		client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(503, "")})
		err := scripted.Do(head)(t.Context(), client)
		assert.EqualError(t, err, "HEAD request: 503 Service Unavailable; after 3 attempts; it is safe to retry")
		assert.Len(t, transport.Sent, 3)
	})
}

func TestLoggerRecords(t *testing.T) {
	withPath := scripted.Do(messaging.Request{Op: "delete tag", Method: "DELETE", Path: "/v1/tags/" + scripted.PersonalEmail,
		Query: url.Values{"by": {scripted.PersonalEmail}}})
	tests := []struct {
		name    string
		perform scripted.Call
		scenes  []scripted.Scene
		records []string
	}{
		{"a success is a debug record", scripted.SendBroadcast, []scripted.Scene{scripted.Responds(200, scripted.Success)}, []string{
			`{"level":"DEBUG","operation":"send email broadcast","method":"POST","path":"/v1/broadcast/send/email","attempt":1,"duration":0,` +
				`"delivery":"accepted","status":200}`,
		}},
		{"each attempt is a record, and a failed one a warning", scripted.ReadCustomers,
			[]scripted.Scene{scripted.Breaks(io.EOF), takes(time.Second, scripted.Responds(429, scripted.Failure, "Retry-After", "5")),
				takes(time.Millisecond, scripted.Responds(200, scripted.Success))}, []string{
				`{"level":"WARN","operation":"list customers","method":"GET","path":"/v1/customers","attempt":1,"duration":0,` +
					`"delivery":"unknown","reason":"connection_lost"}`,
				`{"level":"WARN","operation":"list customers","method":"GET","path":"/v1/customers","attempt":2,"duration":1000000000,` +
					`"delivery":"rejected","status":429,"reason":"429"}`,
				`{"level":"DEBUG","operation":"list customers","method":"GET","path":"/v1/customers","attempt":3,"duration":1000000,` +
					`"delivery":"accepted","status":200}`,
			}},
		{"an attempt that never connected was not sent", scripted.SendBroadcast,
			[]scripted.Scene{scripted.NeverConnects(&net.DNSError{IsNotFound: true})}, []string{
				`{"level":"WARN","operation":"send email broadcast","method":"POST","path":"/v1/broadcast/send/email","attempt":1,"duration":0,` +
					`"delivery":"not sent","reason":"dns"}`,
			}},
		{"the path of a request of one's own is left out, because it is no template", withPath,
			[]scripted.Scene{scripted.Responds(404, scripted.Failure)}, []string{
				`{"level":"WARN","operation":"delete tag","method":"DELETE","attempt":1,"duration":0,` +
					`"delivery":"rejected","status":404,"reason":"404"}`,
			}},
	}
	for _, test := range tests {
		scripted.RunInBubble(t, test.name, func(t *testing.T) {
			logger, written := scripted.NewLogger()
			client, _ := scripted.NewClient(t, test.scenes, messaging.WithLogger(logger),
				messaging.WithRetryPolicy(messaging.RetryPolicy{MinWait: time.Second, MaxWait: time.Second}))
			_ = test.perform(t.Context(), client)
			assert.Equal(t, len(test.records), strings.Count(written.String(), "\n"))
			decoder := json.NewDecoder(written)
			for _, want := range test.records {
				var record map[string]any
				require.NoError(t, decoder.Decode(&record))
				assert.Equal(t, "messaging attempt", record["msg"])
				delete(record, "msg")
				delete(record, "time")
				got, err := json.Marshal(record)
				require.NoError(t, err)
				assert.JSONEq(t, want, string(got))
			}
		})
	}
}

func getByEmail(ctx context.Context, client *messaging.Client, opts ...messaging.RequestOption) error {
	_, err := client.Customers.GetByEmail(ctx, scripted.PersonalEmail, opts...)
	return err
}

func getByID(ctx context.Context, client *messaging.Client, opts ...messaging.RequestOption) error {
	_, err := client.Customers.Get(ctx, "ada.canary.example", opts...)
	return err
}

func TestLoggerAndErrorsKeepSecrets(t *testing.T) {
	quoting := func(format string, part func(faultserver.Request) string) faultserver.Step {
		return faultserver.Choose(func(r faultserver.Request) faultserver.Step { return faultserver.Write(fmt.Sprintf(format, part(r))) })
	}
	requestLine := func(r faultserver.Request) string { return r.Method + " " + r.Target + " HTTP/1.1" }
	key := func(r faultserver.Request) string { return r.Header.Get("X-Authorization") }
	faults := map[string]faultserver.Step{
		"lost answer":                            faultserver.Close,
		"malformed answer":                       faultserver.Write("SSH-2.0-OpenSSH_9.6\r\n"),
		"malformed header":                       faultserver.Write("HTTP/1.1 200 OK\r\nno header\r\n\r\n"),
		"redirect":                               faultserver.Respond(http.StatusFound, "", "Location: /login"),
		"bad redirect":                           faultserver.Write("HTTP/1.1 302 Found\r\nLocation: http://[::1\r\n\r\n"),
		"body cut short":                         faultserver.Write("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"),
		"the request line in place of an answer": quoting("%s\r\n\r\n", requestLine),
		"the header in place of an answer":       quoting("%s\r\n\r\n", key),
		"the header within the header":           quoting("HTTP/1.1 200 OK\r\n%s\r\n\r\n", key),
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			server := faultserver.Start(t, faultserver.Script{faultserver.ReadRequest, fault})
			logger, written := scripted.NewLogger()
			client := scripted.NewClientOver(t, server.URL(), server.Client(), scripted.WithQuickRetries(), messaging.WithLogger(logger))
			for _, perform := range []scripted.Call{getByEmail, getByID, scripted.SendBroadcast, scripted.TriggerEvent} {
				assertKeepsSecrets(t, perform(t.Context(), client), written)
			}
		})
	}

	scenes := map[string]scripted.Scene{
		"no connection":                   scripted.NeverConnects(scripted.ErrRefused),
		"attempt timeout":                 scripted.Connects(scripted.Hangs),
		"an error of net/url":             scripted.FailsWithURL(func(err *url.Error) error { return err }),
		"an error around one of net/url":  scripted.FailsWithURL(func(err *url.Error) error { return fmt.Errorf("proxy: %w", err) }),
		"an error of net/url within more": scripted.FailsWithURL(func(err *url.Error) error { return errors.Join(io.EOF, err) }),
		"unauthorized":                    scripted.Responds(401, scripted.Failure),
		"not found":                       scripted.Responds(404, "<html>"),
		"invalid":                         scripted.Responds(422, `{"errors":{"email":["is invalid"]}}`),
		"rate limited":                    scripted.Responds(429, "", "Retry-After", "1"),
		"server error":                    scripted.Responds(500, "<html>"+scripted.SecretKey+scripted.PersonalEmail),
		"no success":                      scripted.Responds(200, scripted.Failure),
		"no JSON":                         scripted.Responds(200, scripted.SecretKey+scripted.PersonalEmail),
		"success missing":                 scripted.Responds(200, `{"message":"`+scripted.PersonalEmail+`"}`),
		"rows of a wrong kind": scripted.Responds(200, `{"success":"`+scripted.SecretKey+`","data":[{"email":"`+scripted.PersonalEmail+
			`"},7]}`),
		"somebody else": scripted.Responds(200, `{"success":true,"data":[{"email":"eve@canary.example"}]}`),
	}
	for name, play := range scenes {
		scripted.RunInBubble(t, name, func(t *testing.T) {
			logger, written := scripted.NewLogger()
			client, _ := scripted.NewClient(t, []scripted.Scene{play}, messaging.WithLogger(logger))
			require.Error(t, getByEmail(t.Context(), client))
			for _, perform := range []scripted.Call{getByEmail, scripted.SendBroadcast, scripted.TriggerEvent} {
				impatient, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				withinTime, pastTime := perform(impatient, client), perform(t.Context(), client)
				<-impatient.Done()
				tooLate := perform(impatient, client)
				cancel()
				assertKeepsSecrets(t, errors.Join(withinTime, pastTime, tooLate), written)
			}
		})
	}

	refusals := map[string]scripted.Call{
		"a filter that selects somebody else": func(ctx context.Context, client *messaging.Client, opts ...messaging.RequestOption) error {
			_, err := client.Customers.GetByEmail(ctx, scripted.PersonalEmail+","+scripted.PersonalEmail, opts...)
			return err
		},
		"an address that is none": func(ctx context.Context, client *messaging.Client, opts ...messaging.RequestOption) error {
			_, err := client.Broadcasts.SendEmail(ctx, scripted.BroadcastTo(scripted.PersonalEmail+" "), opts...)
			return err
		},
		"a path to another host": scripted.Do(messaging.Request{Method: "GET", Path: "https://" + scripted.PersonalEmail}),
		"a body that has no JSON": scripted.Do(
			messaging.Request{Method: "POST", Path: "/v1/tags", Body: map[string]any{scripted.PersonalEmail: make(chan int)}}),
		"a header that cannot be sent": func(ctx context.Context, client *messaging.Client, _ ...messaging.RequestOption) error {
			return scripted.SendBroadcast(ctx, client, messaging.WithHeader("X-Operator", scripted.PersonalEmail+"\n"))
		},
	}
	for name, perform := range refusals {
		t.Run(name, func(t *testing.T) {
			logger, written := scripted.NewLogger()
			client, _ := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, scripted.Success)}, messaging.WithLogger(logger))
			assertKeepsSecrets(t, perform(t.Context(), client), written)
		})
	}
}

// assertKeepsSecrets searches every text that an error and its causes have, and
// what was logged.
func assertKeepsSecrets(t *testing.T, err error, logged fmt.Stringer) {
	t.Helper()
	require.Error(t, err)
	texts := strings.Join(append(textsOf(err), logged.String()), "\n")
	assert.NotContains(t, texts, "CANARY")
	assert.NotContains(t, texts, "canary.example")
}

func textsOf(err error) []string {
	texts := []string{fmt.Sprintf("%v", err), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err), fmt.Sprintf("%q", err)}
	switch wrapper := err.(type) {
	case interface{ Unwrap() error }:
		if cause := wrapper.Unwrap(); cause != nil {
			texts = append(texts, textsOf(cause)...)
		}
	case interface{ Unwrap() []error }:
		for _, cause := range wrapper.Unwrap() {
			texts = append(texts, textsOf(cause)...)
		}
	}
	return texts
}

func TestKeySourceThatOutlastsTheContextSendsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	source := func(context.Context) (string, error) {
		cancel()
		return "test-key", nil
	}
	sent := 0
	answers := scripted.RoundTripper(func(*http.Request) (*http.Response, error) {
		sent++
		return nil, io.EOF
	})
	client, err := messaging.NewClient("https://api.example.com", "", messaging.WithKeySource(source),
		messaging.WithHTTPClient(&http.Client{Transport: answers}))
	require.NoError(t, err)

	err = scripted.SendBroadcast(ctx, client)
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, messaging.DeliveryNotSent, messaging.DeliveryOf(err))
	assert.Zero(t, sent)
}

func TestLoopGuardIgnoresDeadIdleConnections(t *testing.T) {
	answers := scripted.RoundTripper(func(r *http.Request) (*http.Response, error) {
		trace := httptrace.ContextClientTrace(r.Context())
		for range 6 {
			trace.GetConn(r.URL.Host)
			trace.GotConn(httptrace.GotConnInfo{Reused: true, WasIdle: true})
		}
		if r.Context().Err() != nil {
			return nil, r.Context().Err()
		}
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(`{"success":true,"data":[]}`))}, nil
	})
	client, err := messaging.NewClient("https://api.example.com", "test-key", messaging.WithHTTPClient(&http.Client{Transport: answers}))
	require.NoError(t, err)
	_, err = client.Events.List(t.Context(), messaging.EventListParams{})
	require.NoError(t, err)
}

func TestErrorsDoNotQuoteATransportThatDescribesTheRequest(t *testing.T) {
	cause := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	answers := scripted.RoundTripper(func(r *http.Request) (*http.Response, error) {
		return nil, fmt.Errorf("%s %s (%s): %w", r.Method, r.URL, r.Header.Get("X-Authorization"), cause)
	})
	client, err := messaging.NewClient("https://api.example.com", "canary-api-key", messaging.WithHTTPClient(&http.Client{Transport: answers}),
		messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 1}))
	require.NoError(t, err)

	_, err = client.Customers.GetByEmail(t.Context(), "ada@example.com")
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	assert.NotContains(t, err.Error(), "canary-api-key")
	assert.NotContains(t, err.Error(), "example.com")
}

func TestResponseHeaderIsKeptWithoutTheKey(t *testing.T) {
	answers := scripted.RoundTripper(func(r *http.Request) (*http.Response, error) {
		header := http.Header{"X-Debug": {"got " + r.Header.Get("X-Authorization")}}
		return &http.Response{StatusCode: http.StatusUnauthorized, Header: header, Body: http.NoBody}, nil
	})
	client, err := messaging.NewClient("https://api.example.com", "canary-api-key", messaging.WithHTTPClient(&http.Client{Transport: answers}))
	require.NoError(t, err)
	var refused *messaging.APIError
	require.ErrorAs(t, scripted.SendBroadcast(t.Context(), client), &refused)
	assert.Equal(t, "got [API key]", refused.Header.Get("X-Debug"))
}

func TestRedirectResponseIsKept(t *testing.T) {
	for _, status := range []int{300, 301, 302, 303, 307, 308} {
		for name, location := range map[string]string{"to another place": "https://example.org/", "to no place": "http://[::1",
			"without a place": ""} {
			for call, perform := range map[string]scripted.Call{"a send": scripted.SendBroadcast, "a read": scripted.ReadCustomers} {
				t.Run(fmt.Sprint(status, " ", name, ", ", call), func(t *testing.T) {
					const moved = `{"success":false,"message":"We have moved."}`
					server := faultserver.Start(t, faultserver.EachRequest(faultserver.Respond(status, moved, "Location: "+location)))
					err := perform(t.Context(), scripted.NewClientOver(t, server.URL(), server.Client()))

					var refused *messaging.APIError
					require.ErrorAs(t, err, &refused)
					assert.Equal(t, status, refused.StatusCode)
					assert.Equal(t, "We have moved.", refused.Message)
					assert.Len(t, server.Requests(), 1)
				})
			}
		}
	}
}

func TestMaxResponseBytesAcceptsTheLargestLimit(t *testing.T) {
	client, _ := scripted.NewClient(t, []scripted.Scene{scripted.Responds(http.StatusOK, scripted.Success)},
		messaging.WithMaxResponseBytes(math.MaxInt64))
	require.NoError(t, scripted.SendBroadcast(t.Context(), client))
}
