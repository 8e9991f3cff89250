package outcome_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/outcome"
	"github.com/messaging-go/messaging/internal/fake"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

// TestOutcomeIsThatOfTheClient compares the outcome with the error that the client
// returned for the same exchange.
func TestOutcomeIsThatOfTheClient(t *testing.T) {
	status := func(code int, body string) fake.Fault { return fake.Fault{Kind: fake.Status, Status: code, Body: body} }
	malformed := func(body string) fake.Fault { return fake.Fault{Kind: fake.Malformed, Body: body} }
	faults := map[string]fake.Fault{
		"none": {}, "response lost": {Kind: fake.AnswerLost}, "422": status(422, ""),
		"401": status(401, ""), "404": status(404, "<html>"), "502": status(502, "<html>"),
		"204": status(204, ""), "304": status(304, ""), "302": status(302, ""),
		"429":             {Kind: fake.RateLimited, After: fake.Duration(time.Minute)},
		"success false":   status(200, `{"success":false,"message":"no"}`),
		"data false":      malformed(`{"success":true,"data":false}`),
		"half a response": malformed(`{"succ`), "data null": malformed(`{"success":true,"data":null}`),
		"slow": {Kind: fake.Slow, After: fake.Duration(time.Millisecond)},
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			service, exchanges := newService()
			server := httptest.NewServer(service)
			defer server.Close()
			client, err := messaging.NewClient(server.URL, service.APIKey(), messaging.WithHTTPClient(server.Client()),
				messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 1, MaxRetryAfter: time.Nanosecond}))
			require.NoError(t, err)
			for op, call := range calls(t, client) {
				service.AddRule(fake.Rule{Count: 1, Probability: 1, Fault: fault})
				err := call()
				last := <-exchanges
				require.Equal(t, op, last.Op)
				got := outcome.Of(last)
				assert.Equal(t, messaging.DeliveryOf(err), got.Delivery, op)
				assert.Equal(t, messaging.NextStepOf(err) == messaging.NextRetry, got.Retryable && err != nil, op)
				assert.Equal(t, text(err), text(got.Err), op)
			}
		})
	}
}

func TestOutcomeHasTheErrorOfTheClient(t *testing.T) {
	synctest.Test(t, testOutcomeHasTheErrorOfTheClient) // where no timeout is over too early
}

// pipes are the connections of a server in a bubble.
type pipes struct {
	dialed chan net.Conn
	closed chan struct{}
	close  func()
}

func newPipes() pipes {
	closed := make(chan struct{})
	return pipes{make(chan net.Conn), closed, sync.OnceFunc(func() { close(closed) })}
}

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	p.dialed <- far
	return near, nil
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.dialed:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error {
	p.close()
	return nil
}

func (p pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// testOutcomeHasTheErrorOfTheClient reaches the sandbox over connections, not through the
// transport of the test server.
func testOutcomeHasTheErrorOfTheClient(t *testing.T) {
	connections := newPipes()
	service, exchanges := newService()
	server := &http.Server{Handler: service}
	go func() { _ = server.Serve(connections) }()
	defer server.Close()
	defer service.Close()
	client, err := messaging.NewClient("http://"+connections.Addr().String(), service.APIKey(),
		messaging.WithAttemptTimeout(50*time.Millisecond),
		messaging.WithHTTPClient(&http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: connections.dial}}),
		messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 1}))
	require.NoError(t, err)
	for fault, reason := range map[fake.Fault]string{
		{Kind: fake.AnswerLost}: "EOF", {Kind: fake.Slow, After: fake.Duration(time.Hour)}: "attempt timed out",
	} {
		for op, call := range calls(t, client) {
			service.AddRule(fake.Rule{Count: 1, Probability: 1, Fault: fault})
			err := call()
			require.ErrorContains(t, err, ": "+reason, op)
			assert.EqualError(t, outcome.Of(<-exchanges).Err, strings.Replace(err.Error(), " after 50ms", "", 1), op)
		}
	}
	_, err = client.Do(t.Context(), messaging.Request{Op: "request", Method: "GET", Path: "/v2/unknown"})
	require.Error(t, err)
	assert.EqualError(t, outcome.Of(<-exchanges).Err, err.Error())
}

// newService returns a service, and the exchanges that it observes.
func newService() (*fake.Server, <-chan *fake.Exchange) {
	exchanges := make(chan *fake.Exchange, 1)
	service := fake.New(fake.Config{Observe: func(e *fake.Exchange) { exchanges <- e }})
	service.AddEvents(fake.Event{ID: scripted.Canary})
	return service, exchanges
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// calls makes each call of the service once, by the name of its operation.
func calls(t *testing.T, client *messaging.Client) map[string]func() error {
	calls := make(map[string]func() error)
	for _, send := range scripted.Sends() {
		calls[send.Name] = func() error { return send.Requests[len(send.Requests)-1]().Call(t.Context(), client) }
	}
	for _, list := range scripted.Lists() {
		calls[list.Name] = func() error { return list.Request().Call(t.Context(), client) }
	}
	return calls
}

func TestOutcomeOfARequestWithoutARoute(t *testing.T) {
	for _, method := range []string{"GET", "POST", "DELETE", "HEAD"} {
		got := outcome.Of(&fake.Exchange{Request: fake.Request{Method: method}, Status: 404})
		require.ErrorIs(t, got.Err, messaging.ErrNotFound, method)
		assert.Equal(t, messaging.DeliveryRejected, got.Delivery, method)
		lost := outcome.Of(&fake.Exchange{Request: fake.Request{Method: method}})
		assert.Equal(t, messaging.DeliveryUnknown, lost.Delivery, method)
	}
}
