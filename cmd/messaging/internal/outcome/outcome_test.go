package outcome_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/outcome"
	"github.com/messaging-go/messaging/internal/kit/scripted"
	"github.com/messaging-go/messaging/messagingtest"
)

// TestOutcomeIsThatOfTheClient compares the outcome with the error that the client
// returned for the same exchange.
func TestOutcomeIsThatOfTheClient(t *testing.T) {
	faults := map[string]messagingtest.Fault{
		"none": {}, "response lost": messagingtest.AnswerLost(), "422": messagingtest.Status(422),
		"401": messagingtest.Status(401), "404": messagingtest.Status(404, "<html>"), "502": messagingtest.Status(502, "<html>"),
		"204": messagingtest.Status(204), "304": messagingtest.Status(304),
		"302": messagingtest.Status(302), "429": messagingtest.RateLimited(time.Minute),
		"success false":   messagingtest.Status(200, `{"success":false,"message":"no"}`),
		"data false":      messagingtest.Malformed(`{"success":true,"data":false}`),
		"half a response": messagingtest.Malformed(`{"succ`), "data null": messagingtest.Malformed(`{"success":true,"data":null}`),
		"slow": messagingtest.Slow(time.Millisecond),
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			exchanges := make(chan *messagingtest.Exchange, 1)
			service := messagingtest.NewServer(t, messagingtest.WithObserver(func(e *messagingtest.Exchange) { exchanges <- e }))
			service.AddEvents(messaging.Event{ID: scripted.Canary})
			client := service.Client(messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 1, MaxRetryAfter: time.Nanosecond}))
			for op, call := range calls(t, client) {
				service.FailNext(1, fault)
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
	exchanges := make(chan *messagingtest.Exchange, 1)
	service := messagingtest.NewServer(t, messagingtest.WithListener(connections),
		messagingtest.WithObserver(func(e *messagingtest.Exchange) { exchanges <- e }))
	service.AddEvents(messaging.Event{ID: scripted.Canary})
	client, err := messaging.NewClient(service.URL(), service.APIKey(), messaging.WithAttemptTimeout(50*time.Millisecond),
		messaging.WithHTTPClient(&http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: connections.dial}}),
		messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 1}))
	require.NoError(t, err)
	for fault, reason := range map[messagingtest.Fault]string{
		messagingtest.AnswerLost(): "EOF", messagingtest.Slow(time.Hour): "attempt timed out",
	} {
		for op, call := range calls(t, client) {
			service.FailNext(1, fault)
			err := call()
			require.ErrorContains(t, err, ": "+reason, op)
			assert.EqualError(t, outcome.Of(<-exchanges).Err, strings.Replace(err.Error(), " after 50ms", "", 1), op)
		}
	}
	_, err = client.Do(t.Context(), messaging.Request{Op: "request", Method: "GET", Path: "/v2/unknown"})
	require.Error(t, err)
	assert.EqualError(t, outcome.Of(<-exchanges).Err, err.Error())
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
		got := outcome.Of(&messagingtest.Exchange{Request: messagingtest.Request{Method: method}, Status: 404})
		require.ErrorIs(t, got.Err, messaging.ErrNotFound, method)
		assert.Equal(t, messaging.DeliveryRejected, got.Delivery, method)
		lost := outcome.Of(&messagingtest.Exchange{Request: messagingtest.Request{Method: method}})
		assert.Equal(t, messaging.DeliveryUnknown, lost.Delivery, method)
	}
}
