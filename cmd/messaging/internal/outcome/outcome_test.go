package outcome_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
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
			service, exchanges, client := start(t)
			for op, call := range calls(t, client) {
				service.AddRule(fake.Rule{Count: 1, Probability: 1, Fault: fault})
				err := call()
				last := <-exchanges
				require.Equal(t, op, last.Op)
				got := outcome.Of(last)
				assert.Equal(t, messaging.DeliveryOf(err), messaging.DeliveryOf(got), op)
				assert.Equal(t, messaging.NextStepOf(err), messaging.NextStepOf(got), op)
				assert.Equal(t, fmt.Sprint(err), fmt.Sprint(got), op)
			}
		})
	}
}

func TestOutcomeOfAnAttemptThatTimedOutHasNoTime(t *testing.T) {
	for op := range calls(t, nil) {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			service, exchanges, client := start(t, messaging.WithAttemptTimeout(time.Second)) // until then, the request arrives
			service.AddRule(fake.Rule{Probability: 1, Fault: fake.Fault{Kind: fake.Slow, After: fake.Duration(time.Hour)}})
			err := calls(t, client)[op]()
			require.ErrorContains(t, err, ": attempt timed out after 1s")
			assert.EqualError(t, outcome.Of(<-exchanges), strings.Replace(err.Error(), " after 1s", "", 1))
		})
	}
}

// start returns a service, the exchanges that it observes, and a client of it that makes one attempt.
func start(t *testing.T, more ...messaging.Option) (*fake.Server, <-chan *fake.Exchange, *messaging.Client) {
	exchanges := make(chan *fake.Exchange, 1)
	service := fake.New(fake.Config{Observe: func(e *fake.Exchange) { exchanges <- e }})
	service.AddEvents(fake.Event{ID: scripted.Canary})
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	t.Cleanup(service.Close) // first, so that no delayed response keeps the server
	client, err := messaging.NewClient(server.URL, service.APIKey(), append(more, messaging.WithHTTPClient(server.Client()),
		messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 1, MaxRetryAfter: time.Nanosecond}))...)
	require.NoError(t, err)
	return service, exchanges, client
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
		require.ErrorIs(t, got, messaging.ErrNotFound, method)
		assert.Equal(t, messaging.DeliveryRejected, messaging.DeliveryOf(got), method)
		lost := outcome.Of(&fake.Exchange{Request: fake.Request{Method: method}})
		assert.Equal(t, messaging.DeliveryUnknown, messaging.DeliveryOf(lost), method)
	}
}
