package messaging_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
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
)

// scene is what a scripted transport does with one attempt.
type scene func(*http.Request) (*http.Response, error)

// scriptedTransport plays one scene for each attempt, the last one again for
// all that follow, and keeps what it was asked to send.
type scriptedTransport struct {
	scenes []scene
	sent   []sentRequest
}

type sentRequest struct {
	*http.Request
	content string
	at      time.Time
}

func (s *scriptedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	play := s.scenes[min(len(s.sent), len(s.scenes)-1)]
	s.sent = append(s.sent, sentRequest{Request: req, at: time.Now()})
	var content bytes.Buffer
	read := req.Clone(req.Context())
	if req.Body != nil {
		read.Body = io.NopCloser(io.TeeReader(req.Body, &content))
	}
	resp, err := play(read)
	s.sent[len(s.sent)-1].content = content.String()
	return resp, err
}

// neverConnects asks for a connection and fails before it has one.
func neverConnects(err error) scene {
	return func(req *http.Request) (*http.Response, error) {
		askForConnection(req)
		return nil, err
	}
}

// connects plays the rest of a scene on a connection, after the request was
// written to it.
func connects(then scene) scene {
	return func(req *http.Request) (*http.Response, error) {
		askForConnection(req)
		getConnection(req)
		return then(req)
	}
}

func askForConnection(req *http.Request) {
	httptrace.ContextClientTrace(req.Context()).GetConn("api.example.com:443")
}

func getConnection(req *http.Request) {
	httptrace.ContextClientTrace(req.Context()).GotConn(httptrace.GotConnInfo{})
	write(req)
}

// write does what net/http does when it writes a request.
func write(req *http.Request) {
	trace := httptrace.ContextClientTrace(req.Context())
	for name, values := range req.Header {
		trace.WroteHeaderField(name, values)
	}
	if req.Body != nil {
		_, _ = io.Copy(io.Discard, req.Body)
	}
}

// breaks fails without an answer, once connected.
func breaks(err error) scene {
	return connects(func(*http.Request) (*http.Response, error) { return nil, err })
}

// hangs waits until the attempt is over.
func hangs(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

// answers gives a whole answer; header is made of keys and values in turn.
func answers(status int, body string, header ...string) scene {
	return answersFrom(status, strings.NewReader(body), header...)
}

func answersFrom(status int, body io.Reader, header ...string) scene {
	return connects(func(*http.Request) (*http.Response, error) {
		resp := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(body), ContentLength: -1}
		if whole, ok := body.(*strings.Reader); ok {
			_, _ = whole.Seek(0, io.SeekStart) // the scene may be played again
		}
		for i := 0; i < len(header); i += 2 {
			resp.Header.Add(header[i], header[i+1])
		}
		return resp, nil
	})
}

// takes plays the rest of a scene after a while.
func takes(d time.Duration, then scene) scene {
	return func(req *http.Request) (*http.Response, error) {
		time.Sleep(d)
		return then(req)
	}
}

// beginsToAnswer answers 200 with the beginning of a body that never goes on.
func beginsToAnswer(req *http.Request) (*http.Response, error) {
	return answersFrom(http.StatusOK, io.MultiReader(strings.NewReader(`{"success":`), hangingReader{req.Context()}))(req)
}

type hangingReader struct{ ctx context.Context }

func (r hangingReader) Read([]byte) (int, error) {
	<-r.ctx.Done()
	return 0, r.ctx.Err()
}

// secretKey and personalEmail must show nowhere but in requests.
const (
	secretKey     = "sk_live_CANARY_0123456789"
	personalEmail = "ada@canary.example"
)

// saysYes and saysNo are the two answers that the service gives to everything.
const (
	saysYes = `{"success":true,"data":null,"message":"Done"}`
	saysNo  = `{"success":false,"message":"No."}`
)

func newScriptedClient(t testing.TB, scenes []scene, opts ...messaging.Option) (*messaging.Client, *scriptedTransport) {
	t.Helper()
	transport := &scriptedTransport{scenes: scenes}
	return newClientOver(t, "https://api.example.com", &http.Client{Transport: transport}, opts...), transport
}

func newClientOver(t testing.TB, baseURL string, over *http.Client, opts ...messaging.Option) *messaging.Client {
	t.Helper()
	client, err := messaging.NewClient(baseURL, secretKey, append([]messaging.Option{messaging.WithHTTPClient(over)}, opts...)...)
	require.NoError(t, err)
	return client
}

// perform is one call of the client, of which the error matters.
type perform func(context.Context, *messaging.Client, ...messaging.RequestOption) error

func readCustomers(ctx context.Context, client *messaging.Client, opts ...messaging.RequestOption) error {
	_, err := client.Customers.List(ctx, messaging.CustomerListParams{}, opts...)
	return err
}

func sendBroadcast(ctx context.Context, client *messaging.Client, opts ...messaging.RequestOption) error {
	_, err := client.Broadcasts.SendEmail(ctx, broadcastTo(personalEmail), opts...)
	return err
}

func broadcastTo(email string) messaging.EmailBroadcastParams {
	return messaging.EmailBroadcastParams{
		SenderEmail: "billing@example.com", SenderName: "Billing", Email: email,
		Subject: "Invoice", Message: "Your invoice is ready.", MessageType: "invoice", To: messaging.AllCustomers(),
	}
}

func createEvent(ctx context.Context, client *messaging.Client, opts ...messaging.RequestOption) error {
	params := messaging.EventCreateParams{Name: "order_paid", Description: "An order was paid", Parameters: []messaging.EventParameter{}}
	_, err := client.Events.Create(ctx, params, opts...)
	return err
}

func triggerEvent(ctx context.Context, client *messaging.Client, opts ...messaging.RequestOption) error {
	_, err := client.Events.Trigger(ctx, messaging.EventTriggerParams{EventID: "order_paid", Email: personalEmail}, opts...)
	return err
}

// doRequest performs a request that the client does not model.
func doRequest(req messaging.Request) perform {
	return func(ctx context.Context, client *messaging.Client, opts ...messaging.RequestOption) error {
		_, err := client.Do(ctx, req, opts...)
		return err
	}
}

// runInBubble runs a subtest in which waiting takes no time.
func runInBubble(t *testing.T, name string, test func(*testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

func TestNetHTTPIsGivenNothingToRepeatASendWith(t *testing.T) {
	tests := []struct {
		name    string
		perform perform
		content string
	}{
		{"a send of the API", triggerEvent, `{"event_id":"order_paid","payload":{"email":"ada@canary.example"}}`},
		{"a POST with a body", doRequest(messaging.Request{Method: "POST", Path: "/v1/tags", Body: []int{1}}), `[1]`},
		{"a POST without a body", doRequest(messaging.Request{Method: "POST", Path: "/v1/sync"}), ``},
		{"a DELETE without a body", doRequest(messaging.Request{Method: "DELETE", Path: "/v1/tags/1"}), ``},
		{"a method that net/http thinks harmless", doRequest(messaging.Request{Method: "OPTIONS", Path: "/v1/tags"}), ``},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			client, transport := newScriptedClient(t, []scene{answers(200, saysYes)})
			require.NoError(t, test.perform(t.Context(), client))
			require.Len(t, transport.sent, 1)
			sent := transport.sent[0]
			assert.Equal(t, test.content, sent.content)
			assert.Nil(t, sent.GetBody)
			assert.NotNil(t, sent.Body, "a request without a body is repeated over HTTP/2")
			assert.NotEqual(t, http.NoBody, sent.Body)
			assert.NotContains(t, sent.Header, "Idempotency-Key")
			assert.NotContains(t, sent.Header, "X-Idempotency-Key")
		})
	}
}

func TestEveryAttemptSendsTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, transport := newScriptedClient(t, []scene{answers(503, ""), answers(503, ""), answers(200, saysYes)})
		require.NoError(t, sendBroadcast(t.Context(), client, messaging.WithRepeatableSend(), messaging.WithHeader("X-Trace", "42")))
		require.Len(t, transport.sent, 3)
		first := transport.sent[0]
		assert.Contains(t, first.content, `"subject":"Invoice"`)
		for _, sent := range transport.sent {
			assert.Equal(t, first.content, sent.content)
			assert.Equal(t, first.URL, sent.URL)
			assert.Equal(t, first.Header, sent.Header)
			assert.Nil(t, sent.GetBody)
		}
	})
}

func TestCookiesAreSentOnceInEveryAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		jar, err := cookiejar.New(nil)
		require.NoError(t, err)
		jar.SetCookies(&url.URL{Scheme: "https", Host: "api.example.com", Path: "/"}, []*http.Cookie{{Name: "node", Value: "7"}})
		transport := &scriptedTransport{scenes: []scene{answers(503, ""), answers(200, saysYes)}}
		client := newClientOver(t, "https://api.example.com", &http.Client{Transport: transport, Jar: jar})
		require.NoError(t, readCustomers(t.Context(), client))
		require.Len(t, transport.sent, 2)
		for _, sent := range transport.sent {
			assert.Equal(t, []string{"node=7"}, sent.Header["Cookie"])
		}
	})
}

// resettingServer speaks HTTP/2, reads every request to its end, and resets it
// in a way that net/http takes for a permission to send it again.
type resettingServer struct {
	*httptest.Server
	received atomic.Int32
}

func newResettingServer(t *testing.T) *resettingServer {
	t.Helper()
	s := &resettingServer{Server: httptest.NewUnstartedServer(nil)}
	s.EnableHTTP2 = true
	s.Config.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){
		"h2": func(_ *http.Server, conn *tls.Conn, _ http.Handler) { s.serve(conn) },
	}
	s.TLS = &tls.Config{NextProtos: []string{"h2"}}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func (s *resettingServer) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	framer := http2.NewFramer(conn, conn)
	if _, err := io.CopyN(io.Discard, conn, int64(len(http2.ClientPreface))); err != nil {
		return
	}
	_ = framer.WriteSettings()
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return
		}
		if frame.Header().Flags.Has(http2.FlagDataEndStream) && frame.Header().StreamID != 0 {
			s.received.Add(1)
			_ = framer.WriteRSTStream(frame.Header().StreamID, http2.ErrCodeProtocol)
		}
	}
}

func TestHTTP2ResetsDoNotMultiplyRequests(t *testing.T) {
	tests := []struct {
		name    string
		perform perform
		limit   int32
	}{
		{"a send reaches the service once", sendBroadcast, 1},
		{"a send without a body reaches the service once", doRequest(messaging.Request{Method: "POST", Path: "/v1/sync"}), 1},
		{"a read is cut off at the fourth connection", readCustomers, 4},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server := newResettingServer(t)
			client := newClientOver(t, server.URL, server.Client(), messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 1}))
			err := test.perform(t.Context(), client)
			var failed *messaging.TransportError
			require.ErrorAs(t, err, &failed)
			assert.Equal(t, messaging.DeliveryUnknown, messaging.DeliveryOf(err))
			assert.Equal(t, 1, failed.Attempts)
			assert.Positive(t, server.received.Load())
			assert.LessOrEqual(t, server.received.Load(), test.limit)
		})
	}
}

func TestSendWithoutABodyWorksOverHTTP2(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, `{"success":true,"data":[%q,%q,%d]}`, r.Proto, r.Method, len(content))
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	response, err := newClientOver(t, server.URL, server.Client()).Do(t.Context(), messaging.Request{Method: "POST", Path: "/v1/sync"})
	require.NoError(t, err)
	assert.JSONEq(t, `["HTTP/2.0","POST",0]`, string(response.Data))
}

func TestGuardAgainstLoopsEndsAnAttempt(t *testing.T) {
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
		{"a request may be written three times", many(3, write), false},
		{"the fourth time ends the attempt", many(4, write), true},
		{"connections do not count", many(20, func(req *http.Request) {
			askForConnection(req)
			httptrace.ContextClientTrace(req.Context()).GotConn(httptrace.GotConnInfo{})
		}), false},
		{"requests that a transport makes on its own do not count", many(20, func(req *http.Request) {
			trace := httptrace.ContextClientTrace(req.Context())
			trace.WroteHeaderField("Authorization", []string{"token"})
		}), false},
		{"HTTP/2 writes header names in lower case", many(4, func(req *http.Request) {
			httptrace.ContextClientTrace(req.Context()).WroteHeaderField("x-authorization", []string{secretKey})
		}), true},
	}
	for _, test := range tests {
		runInBubble(t, test.name, func(t *testing.T) {
			client, transport := newScriptedClient(t, []scene{func(req *http.Request) (*http.Response, error) {
				test.happens(req)
				if req.Context().Err() != nil {
					return nil, req.Context().Err()
				}
				return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(saysYes))}, nil
			}})
			err := readCustomers(t.Context(), client)
			if !test.cutOff {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, "net/http keeps repeating the request")
			assert.Len(t, transport.sent, 3, "a read is tried again")
			assert.True(t, messaging.Retryable(err))
			assert.Equal(t, messaging.DeliveryUnknown, messaging.DeliveryOf(err))
			assert.NotErrorIs(t, err, context.Canceled)

			err = triggerEvent(t.Context(), client, messaging.WithRepeatableSend())
			require.ErrorContains(t, err, "net/http keeps repeating the request")
			assert.Len(t, transport.sent, 4, "a send is not")
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

func newKeySourceClient(t *testing.T, source *recordingKeySource, scenes ...scene) (*messaging.Client, *scriptedTransport) {
	t.Helper()
	transport := &scriptedTransport{scenes: scenes}
	client, err := messaging.NewClient("https://api.example.com", "",
		messaging.WithHTTPClient(&http.Client{Transport: transport}), messaging.WithKeySource(source.next))
	require.NoError(t, err)
	return client, transport
}

func TestARotatedKeyIsSentWithTheNextAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &recordingKeySource{keys: []string{"old-key", "new-key"}}
		client, transport := newKeySourceClient(t, source, answers(503, ""), answers(200, saysYes))
		require.NoError(t, readCustomers(t.Context(), client))
		require.Len(t, transport.sent, 2)
		assert.Equal(t, []string{"old-key"}, transport.sent[0].Header["X-Authorization"], "an earlier attempt may still be writing its header")
		assert.Equal(t, []string{"new-key"}, transport.sent[1].Header["X-Authorization"])
		assert.Equal(t, 2, source.asked)
	})
}

func TestAKeyThatCannotBeSentIsRefusedWithoutBeingQuoted(t *testing.T) {
	tests := []struct{ name, key, problem string }{
		{"an empty key", "", "is required"},
		{"a key with a line break", "sk-secret\r\nX-Admin: 1", "must be printable ASCII without white space"},
		{"a key with a blank", "sk-secret tail", "must be printable ASCII without white space"},
		{"a key in another script", "sk-secret-ключ", "must be printable ASCII without white space"},
		{"a key that is far too long", strings.Repeat("sk-secret", 1000), "must not be longer than 4 KiB"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			client, transport := newKeySourceClient(t, &recordingKeySource{keys: []string{test.key}}, answers(200, saysYes))
			err := sendBroadcast(t.Context(), client)
			assert.EqualError(t, err, "send email broadcast: API key "+test.problem+"; nothing was sent")
			assert.Equal(t, messaging.DeliveryNotSent, messaging.DeliveryOf(err))
			assert.Empty(t, transport.sent)
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

func TestTheLimiterIsAskedBeforeEachAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := new(countingLimiter)
		client, transport := newScriptedClient(t, []scene{answers(503, ""), answers(503, ""), answers(200, saysYes)}, messaging.WithRateLimiter(limiter))
		require.NoError(t, readCustomers(t.Context(), client))
		assert.Len(t, transport.sent, 3)
		assert.Equal(t, 3, limiter.asked)
	})
}

func TestWhatHoldsBackAnAttemptEndsTheCall(t *testing.T) {
	errHeld := errors.New("no lease for billing@example.com")
	tests := []struct {
		name     string
		attempts int
		client   func(*testing.T) (*messaging.Client, *scriptedTransport)
	}{
		{"the limiter fails before the first attempt", 0, func(t *testing.T) (*messaging.Client, *scriptedTransport) {
			return newScriptedClient(t, []scene{answers(503, "")}, messaging.WithRateLimiter(&countingLimiter{failFrom: 1, err: errHeld}))
		}},
		{"the limiter fails before the second attempt", 1, func(t *testing.T) (*messaging.Client, *scriptedTransport) {
			return newScriptedClient(t, []scene{answers(503, "")}, messaging.WithRateLimiter(&countingLimiter{failFrom: 2, err: errHeld}))
		}},
		{"the key source fails before the first attempt", 0, func(t *testing.T) (*messaging.Client, *scriptedTransport) {
			return newKeySourceClient(t, &recordingKeySource{err: errHeld}, answers(503, ""))
		}},
		{"the key source fails before the second attempt", 1, func(t *testing.T) (*messaging.Client, *scriptedTransport) {
			return newKeySourceClient(t, &recordingKeySource{keys: []string{"key"}, err: errHeld}, answers(503, ""))
		}},
	}
	for _, test := range tests {
		runInBubble(t, test.name, func(t *testing.T) {
			client, transport := test.client(t)
			err := sendBroadcast(t.Context(), client, messaging.WithRepeatableSend())
			var failed *messaging.TransportError
			require.ErrorAs(t, err, &failed)
			require.ErrorIs(t, err, errHeld)
			assert.Equal(t, test.attempts, failed.Attempts)
			assert.Len(t, transport.sent, test.attempts)
			if test.attempts == 0 {
				assert.Equal(t, messaging.DeliveryNotSent, messaging.DeliveryOf(err))
				return
			}
			assert.Equal(t, messaging.DeliveryUnknown, messaging.DeliveryOf(err), "the first attempt may have been carried out")
			assert.ErrorIs(t, err, messaging.ErrServer, "what the first attempt was answered is still told")
		})
	}
}

func TestTheHTTPClientOfTheUserIsLeftAlone(t *testing.T) {
	var connections atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthy" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = io.WriteString(w, saysNo)
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
	client := newClientOver(t, server.URL, given, withQuickRetries())
	require.ErrorIs(t, readCustomers(t.Context(), client), messaging.ErrServer)
	require.ErrorIs(t, sendBroadcast(t.Context(), client), messaging.ErrServer)

	resp, err := given.Get(server.URL + "/healthy")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.EqualValues(t, 1, connections.Load(), "failed calls must not close the idle connections of the user")
	assert.Same(t, transport, given.Transport)
	assert.Equal(t, time.Minute, given.Timeout)
	assert.Nil(t, given.CheckRedirect)
	assert.Nil(t, given.Jar)
}

// withQuickRetries is for tests against servers, where waiting takes its time.
func withQuickRetries() messaging.Option {
	return messaging.WithRetryPolicy(messaging.RetryPolicy{MinWait: time.Millisecond, MaxWait: time.Millisecond})
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

func TestOddTransports(t *testing.T) {
	errOdd := errors.New("odd")
	body := &closeRecorder{Reader: strings.NewReader(saysYes)}
	tests := []struct {
		name     string
		play     scene
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
		{"a saysNo without a body or header is a saysNo",
			func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 400}, nil }, messaging.DeliveryRejected},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			client, transport := newScriptedClient(t, []scene{test.play})
			err := sendBroadcast(t.Context(), client)
			require.Error(t, err)
			assert.Equal(t, test.delivery, messaging.DeliveryOf(err))
			assert.Len(t, transport.sent, 1)
		})
	}
	assert.True(t, body.closed)
}

func TestEveryAttemptIsCleanedUp(t *testing.T) {
	tests := map[string]struct {
		status int
		body   io.Reader
	}{
		"of a success":                 {200, strings.NewReader(saysYes)},
		"of a no":                      {200, strings.NewReader(saysNo)},
		"of what can't be understood":  {200, strings.NewReader("<html>")},
		"of what is cut short":         {200, &cutShort{}},
		"of what is over the limit":    {200, new(hugeBody)},
		"of an error":                  {500, strings.NewReader(saysNo)},
		"of a huge error":              {500, new(hugeBody)},
		"of a redirect":                {302, strings.NewReader("")},
		"of another protocol":          {101, new(hugeBody)},
		"of a success without content": {204, strings.NewReader("")},
	}
	for name, test := range tests {
		t.Run("the body "+name, func(t *testing.T) {
			body := &closeRecorder{Reader: test.body}
			client, transport := newScriptedClient(t, []scene{connects(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: test.status, Body: body, ContentLength: -1}, nil
			})}, messaging.WithMaxResponseBytes(maxResponse))
			_ = sendBroadcast(t.Context(), client)
			assert.True(t, body.closed)
			assert.ErrorIs(t, transport.sent[0].Context().Err(), context.Canceled, "nothing of the attempt stays behind")
		})
	}
}

func TestAPanicOfTheTransportPassesThrough(t *testing.T) {
	client, _ := newScriptedClient(t, []scene{func(*http.Request) (*http.Response, error) { panic("a bug of the user's") }})
	assert.PanicsWithValue(t, "a bug of the user's", func() { _ = readCustomers(t.Context(), client) })
}

func TestResponseTellsHowTheCallWent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _ := newScriptedClient(t, []scene{
			answers(503, "", "Retry-After", "5"),
			answers(202, `{"message":"Accepted","data":{"id": 7},"success":true}`, "X-Request-Id", "r-1"),
		})
		response, err := client.Do(t.Context(), messaging.Request{Method: "GET", Path: "/v1/tags"})
		require.NoError(t, err)
		assert.Equal(t, &messaging.Response{
			StatusCode: 202, Header: http.Header{"X-Request-Id": {"r-1"}}, Message: "Accepted", Data: json.RawMessage(`{"id": 7}`),
			Attempts: 2, Duration: 5 * time.Second,
		}, response)
	})
}

func TestHead(t *testing.T) {
	head := messaging.Request{Method: "HEAD", Path: "/v1/tags"}
	t.Run("a 2xx is a success although nothing says so", func(t *testing.T) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Header().Set("X-Count", r.Method) }))
		defer server.Close()
		response, err := newClientOver(t, server.URL, server.Client()).Do(t.Context(), head)
		require.NoError(t, err)
		assert.Equal(t, 200, response.StatusCode)
		assert.Equal(t, "HEAD", response.Header.Get("X-Count"))
		assert.Empty(t, response.Data)
	})
	runInBubble(t, "it is repeated as a GET is", func(t *testing.T) {
		client, transport := newScriptedClient(t, []scene{answers(503, "")})
		err := doRequest(head)(t.Context(), client)
		assert.EqualError(t, err, "HEAD request: 503 Service Unavailable; it is safe to ask again")
		assert.Len(t, transport.sent, 3)
	})
}

// newLogged returns a logger and what it has written, a line for each record.
func newLogged() (*slog.Logger, *bytes.Buffer) {
	written := new(bytes.Buffer)
	handler := slog.NewJSONHandler(written, &slog.HandlerOptions{Level: slog.LevelDebug, AddSource: false})
	return slog.New(handler), written
}

func TestLog(t *testing.T) {
	withPath := doRequest(messaging.Request{Op: "delete tag", Method: "DELETE", Path: "/v1/tags/" + personalEmail, Query: url.Values{"by": {personalEmail}}})
	tests := []struct {
		name    string
		perform perform
		scenes  []scene
		records []string
	}{
		{"a success is a debug record", sendBroadcast, []scene{answers(200, saysYes)}, []string{
			`{"level":"DEBUG","operation":"send email broadcast","method":"POST","path":"/v1/broadcast/send/email","attempt":1,"duration":0,"delivery":"accepted","status":200}`,
		}},
		{"each attempt is a record, and a failed one a warning", readCustomers,
			[]scene{breaks(io.EOF), takes(time.Second, answers(429, saysNo, "Retry-After", "5")), takes(time.Millisecond, answers(200, saysYes))}, []string{
				`{"level":"WARN","operation":"list customers","method":"GET","path":"/v1/customers","attempt":1,"duration":0,"delivery":"unknown"}`,
				`{"level":"WARN","operation":"list customers","method":"GET","path":"/v1/customers","attempt":2,"duration":1000000000,"delivery":"rejected","status":429}`,
				`{"level":"DEBUG","operation":"list customers","method":"GET","path":"/v1/customers","attempt":3,"duration":1000000,"delivery":"accepted","status":200}`,
			}},
		{"an attempt that never connected was not sent", sendBroadcast, []scene{neverConnects(&net.DNSError{IsNotFound: true})}, []string{
			`{"level":"WARN","operation":"send email broadcast","method":"POST","path":"/v1/broadcast/send/email","attempt":1,"duration":0,"delivery":"not sent"}`,
		}},
		{"the path of a request of one's own is left out, because it is no template", withPath, []scene{answers(404, saysNo)}, []string{
			`{"level":"WARN","operation":"delete tag","method":"DELETE","attempt":1,"duration":0,"delivery":"rejected","status":404}`,
		}},
	}
	for _, test := range tests {
		runInBubble(t, test.name, func(t *testing.T) {
			logger, written := newLogged()
			client, _ := newScriptedClient(t, test.scenes, messaging.WithLogger(logger),
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
	_, err := client.Customers.GetByEmail(ctx, personalEmail, opts...)
	return err
}

func getByID(ctx context.Context, client *messaging.Client, opts ...messaging.RequestOption) error {
	_, err := client.Customers.Get(ctx, "ada.canary.example", opts...)
	return err
}

// repeats says what it was sent, as it came, in place of an answer.
func repeats(write func(io.Writer, *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var repeated strings.Builder
		write(&repeated, r)
		says(repeated.String())(w, r)
	}
}

func TestNoErrorAndNoLogTellsTheKeyOrAnEmailAddress(t *testing.T) {
	faults := map[string]http.HandlerFunc{
		"lost answer":      says(""),
		"malformed answer": says("SSH-2.0-OpenSSH_9.6\r\n"),
		"malformed header": says("HTTP/1.1 200 OK\r\nno header\r\n\r\n"),
		"redirect":         func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", http.StatusFound) },
		"bad redirect":     says("HTTP/1.1 302 Found\r\nLocation: http://[::1\r\n\r\n"),
		"body cut short":   says("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"),
		"the request line in place of an answer": repeats(func(w io.Writer, r *http.Request) {
			_, _ = fmt.Fprintf(w, "%s %s %s\r\n\r\n", r.Method, r.RequestURI, r.Proto)
		}),
		"the header in place of an answer": repeats(func(w io.Writer, r *http.Request) {
			_, _ = fmt.Fprintf(w, "%s\r\n\r\n", r.Header.Get("X-Authorization"))
		}),
		"the header within the header": repeats(func(w io.Writer, r *http.Request) {
			_, _ = fmt.Fprintf(w, "HTTP/1.1 200 OK\r\n%s\r\n\r\n", r.Header.Get("X-Authorization"))
		}),
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			server := newFaultServer(t, (*httptest.Server).Start, fault)
			logger, written := newLogged()
			client := newClientOver(t, server.URL, server.Client(), withQuickRetries(), messaging.WithLogger(logger))
			for _, perform := range []perform{getByEmail, getByID, sendBroadcast, triggerEvent} {
				assertKeepsSecrets(t, perform(t.Context(), client), written)
			}
		})
	}

	scenes := map[string]scene{
		"no connection":                   neverConnects(errRefused),
		"attempt timeout":                 connects(hangs),
		"an error of net/url":             failsWithURL(func(err *url.Error) error { return err }),
		"an error around one of net/url":  failsWithURL(func(err *url.Error) error { return fmt.Errorf("proxy: %w", err) }),
		"an error of net/url within more": failsWithURL(func(err *url.Error) error { return errors.Join(io.EOF, err) }),
		"unauthorized":                    answers(401, saysNo),
		"not found":                       answers(404, "<html>"),
		"invalid":                         answers(422, `{"errors":{"email":["is invalid"]}}`),
		"rate limited":                    answers(429, "", "Retry-After", "1"),
		"server error":                    answers(500, "<html>"+secretKey+personalEmail),
		"no success":                      answers(200, saysNo),
		"no JSON":                         answers(200, secretKey+personalEmail),
		"success missing":                 answers(200, `{"message":"`+personalEmail+`"}`),
		"rows of a wrong kind":            answers(200, `{"success":"`+secretKey+`","data":[{"email":"`+personalEmail+`"},7]}`),
		"somebody else":                   answers(200, `{"success":true,"data":[{"email":"eve@canary.example"}]}`),
	}
	for name, play := range scenes {
		runInBubble(t, name, func(t *testing.T) {
			logger, written := newLogged()
			client, _ := newScriptedClient(t, []scene{play}, messaging.WithLogger(logger))
			require.Error(t, getByEmail(t.Context(), client))
			for _, perform := range []perform{getByEmail, sendBroadcast, triggerEvent} {
				impatient, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				withinTime, pastTime := perform(impatient, client), perform(t.Context(), client)
				<-impatient.Done()
				tooLate := perform(impatient, client)
				cancel()
				assertKeepsSecrets(t, errors.Join(withinTime, pastTime, tooLate), written)
			}
		})
	}

	refusals := map[string]perform{
		"a filter that selects somebody else": func(ctx context.Context, client *messaging.Client, opts ...messaging.RequestOption) error {
			_, err := client.Customers.GetByEmail(ctx, personalEmail+","+personalEmail, opts...)
			return err
		},
		"an address that is none": func(ctx context.Context, client *messaging.Client, opts ...messaging.RequestOption) error {
			_, err := client.Broadcasts.SendEmail(ctx, broadcastTo(personalEmail+" "), opts...)
			return err
		},
		"a path to another host":  doRequest(messaging.Request{Method: "GET", Path: "https://" + personalEmail}),
		"a body that has no JSON": doRequest(messaging.Request{Method: "POST", Path: "/v1/tags", Body: map[string]any{personalEmail: make(chan int)}}),
		"a header that can't be sent": func(ctx context.Context, client *messaging.Client, _ ...messaging.RequestOption) error {
			return sendBroadcast(ctx, client, messaging.WithHeader("X-Operator", personalEmail+"\n"))
		},
	}
	for name, perform := range refusals {
		t.Run(name, func(t *testing.T) {
			logger, written := newLogged()
			client, _ := newScriptedClient(t, []scene{answers(200, saysYes)}, messaging.WithLogger(logger))
			assertKeepsSecrets(t, perform(t.Context(), client), written)
		})
	}
}

// failsWithURL fails as a transport does that is itself made of an http.Client.
func failsWithURL(wrap func(*url.Error) error) scene {
	return connects(func(req *http.Request) (*http.Response, error) {
		return nil, wrap(&url.Error{Op: req.Method, URL: req.URL.String(), Err: io.ErrUnexpectedEOF})
	})
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

func TestAContextThatEndsWhileTheKeyIsFetchedSendsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	source := func(context.Context) (string, error) {
		cancel()
		return "test-key", nil
	}
	sent := 0
	answers := roundTrip(func(*http.Request) (*http.Response, error) {
		sent++
		return nil, io.EOF
	})
	client, err := messaging.NewClient("https://api.example.com", "", messaging.WithKeySource(source), messaging.WithHTTPClient(&http.Client{Transport: answers}))
	require.NoError(t, err)

	err = sendBroadcast(ctx, client)
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, messaging.DeliveryNotSent, messaging.DeliveryOf(err))
	assert.Zero(t, sent)
}

func TestConnectionsThatDiedWhileIdleAreNotTakenForALoop(t *testing.T) {
	answers := roundTrip(func(r *http.Request) (*http.Response, error) {
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

func TestATransportThatDescribesTheRequestInItsErrorIsNotQuoted(t *testing.T) {
	cause := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	answers := roundTrip(func(r *http.Request) (*http.Response, error) {
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

func TestAHeaderThatQuotesTheKeyIsKeptWithoutIt(t *testing.T) {
	answers := roundTrip(func(r *http.Request) (*http.Response, error) {
		header := http.Header{"X-Debug": {"got " + r.Header.Get("X-Authorization")}}
		return &http.Response{StatusCode: http.StatusUnauthorized, Header: header, Body: http.NoBody}, nil
	})
	client, err := messaging.NewClient("https://api.example.com", "canary-api-key", messaging.WithHTTPClient(&http.Client{Transport: answers}))
	require.NoError(t, err)
	var refused *messaging.APIError
	require.ErrorAs(t, sendBroadcast(t.Context(), client), &refused)
	assert.Equal(t, "got [API key]", refused.Header.Get("X-Debug"))
}

func TestTheAnswerOfARedirectIsKeptWhereverItLeads(t *testing.T) {
	for _, status := range []int{300, 301, 302, 303, 307, 308} {
		for name, location := range map[string]string{"to another place": "https://example.org/", "to no place": "http://[::1", "without a place": ""} {
			for call, perform := range map[string]perform{"a send": sendBroadcast, "a read": readCustomers} {
				t.Run(fmt.Sprint(status, " ", name, ", ", call), func(t *testing.T) {
					server := newFaultServer(t, (*httptest.Server).Start, func(w http.ResponseWriter, _ *http.Request) {
						w.Header().Set("Location", location)
						w.WriteHeader(status)
						_, _ = io.WriteString(w, `{"success":false,"message":"We have moved."}`)
					})
					err := perform(t.Context(), newClientOver(t, server.URL, server.Client()))

					var refused *messaging.APIError
					require.ErrorAs(t, err, &refused)
					assert.Equal(t, status, refused.StatusCode)
					assert.Equal(t, "We have moved.", refused.Message)
					assert.EqualValues(t, 1, server.received.Load())
				})
			}
		}
	}
}

func TestTheLargestLimitIsNoLimit(t *testing.T) {
	client, _ := newScriptedClient(t, []scene{answers(http.StatusOK, saysYes)}, messaging.WithMaxResponseBytes(math.MaxInt64))
	require.NoError(t, sendBroadcast(t.Context(), client))
}
