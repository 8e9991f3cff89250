package messagingtest_test

import (
	"context"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

func TestFaultsStatusIsReturnedAndTheRequestIsNotCarriedOut(t *testing.T) {
	tests := []struct {
		name              string
		fault             messagingtest.Fault
		status            int
		contentType, body string
	}{
		{"without a body, the message is the text of the status", messagingtest.Status(503),
			503, "application/json", `{"success":false,"message":"Service Unavailable"}`},
		{"a JSON body has the Content-Type application/json", messagingtest.Status(422, `{"errors":["no"]}`),
			422, "application/json", `{"errors":["no"]}`},
		{"the Content-Type of another body is detected", messagingtest.Status(502, "<html><body>Bad gateway"),
			502, "text/html; charset=utf-8", "<html><body>Bad gateway"},
		{"several bodies are joined", messagingtest.Status(500, "a", "b"),
			500, "text/plain; charset=utf-8", "ab"},
		{"an empty body stays empty", messagingtest.Status(500, ""), 500, "", ""},
		{"a status that allows no body has none", messagingtest.Status(204), 204, "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := messagingtest.NewServer(t)
			s.Fail("", 1, test.fault)
			failed := post(t, s, "/v1/events", `{"name":"n","description":"d","parameters":[]}`)
			assert.Equal(t, test.status, failed.StatusCode)
			assert.Equal(t, test.body, failed.Body)
			if test.contentType != "" {
				assert.Equal(t, test.contentType, failed.Header.Get("Content-Type"))
			}
			assert.Contains(t, get(t, s, "/v1/events").Body, `"data":[]`)
		})
	}
}

func TestFaultsPanicOnWhatDoesNotExist(t *testing.T) {
	s := messagingtest.NewServer(t)
	for _, op := range []string{"triggered event", "get customer"} {
		assert.Panics(t, func() { s.Fail(op, 1, messagingtest.AnswerLost()) }, op)
	}
	for _, code := range []int{-1, 0, 100, 199, 600, 1000} {
		assert.Panics(t, func() { messagingtest.Status(code) }, code)
	}
	for _, code := range []int{200, 599} {
		assert.NotPanics(t, func() { messagingtest.Status(code) }, code)
	}
}

func TestFaultsAnswerLostCarriesOutTheRequest(t *testing.T) {
	orderShipped := messaging.EventCreateParams{Name: "order shipped", Description: "An order was shipped",
		Parameters: []messaging.EventParameter{}}

	service := messagingtest.NewServer(t)
	service.Fail("", 1, messagingtest.AnswerLost()) // carries out the next request, and drops the response

	_, err := service.Client().Events.Create(t.Context(), orderShipped)

	assert.Equal(t, messaging.DeliveryUnknown, messaging.DeliveryOf(err))
	assert.Len(t, service.Events(), 1, "it was created")
	require.Len(t, service.Requests(), 1, "and not sent again")
	assert.Zero(t, service.Requests()[0].StatusCode)
}

func TestFaultsAnswerLostLosesErrorResponsesToo(t *testing.T) {
	s := messagingtest.NewServer(t)
	s.Fail("", 1, messagingtest.AnswerLost())
	_, err := s.Client().Events.Trigger(t.Context(), messaging.EventTriggerParams{EventID: "unknown", Email: "ada@example.com"})
	assert.Equal(t, messaging.DeliveryUnknown, messaging.DeliveryOf(err))
	assert.Empty(t, s.Triggers())
}

func TestFaultsSlowDelaysTheRequest(t *testing.T) {
	const wait = 20 * time.Millisecond
	s := messagingtest.NewServer(t)
	s.Fail("", 1, messagingtest.Slow(wait))
	start := time.Now()
	_, err := s.Client().Broadcasts.SendPush(t.Context(), toEveryone)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, time.Since(start), wait)
	assert.Len(t, s.PushBroadcasts(), 1)
}

// sendAndThen sends a broadcast that is delayed by an hour, and calls act when the
// request has arrived.
func sendAndThen(t *testing.T, s *messagingtest.Server, act func(cancel context.CancelFunc)) error {
	t.Helper()
	s.Fail("", 1, messagingtest.Slow(time.Hour))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	sent := make(chan error, 1)
	go func() {
		_, err := s.Client().Broadcasts.SendPush(ctx, toEveryone)
		sent <- err
	}()
	require.Eventually(t, func() bool { return len(s.Requests()) == 1 }, 5*time.Minute, time.Millisecond)
	require.Empty(t, s.PushBroadcasts(), "it is not carried out before the delay ends")
	assert.Zero(t, s.Requests()[0].StatusCode)
	act(cancel)
	return <-sent
}

func TestFaultsSlowCarriesOutACanceledRequest(t *testing.T) {
	s := messagingtest.NewServer(t)
	err := sendAndThen(t, s, func(cancel context.CancelFunc) { cancel() })
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, messaging.DeliveryUnknown, messaging.DeliveryOf(err))
	s.Close()
	assert.Len(t, s.PushBroadcasts(), 1)
}

func TestFaultsSlowEndsWhenTheServerCloses(t *testing.T) {
	s := messagingtest.NewServer(t)
	err := sendAndThen(t, s, func(context.CancelFunc) { s.Close() })
	require.NoError(t, err)
	assert.Len(t, s.PushBroadcasts(), 1)
}

func TestFaultsAreQueued(t *testing.T) {
	s := messagingtest.NewServer(t)
	s.Fail("", 2, messagingtest.Status(500))
	s.Fail("", 1, messagingtest.Fault{})
	s.Fail("", 0, messagingtest.Status(400))
	s.Fail("", -1, messagingtest.Status(400))
	s.Fail("", 1, messagingtest.Status(429))
	var statuses []int
	for range 6 {
		statuses = append(statuses, get(t, s, "/v1/events").StatusCode)
	}
	assert.Equal(t, []int{500, 500, 200, 429, 200, 200}, statuses)
}

func TestFaultsApplyToAnyRequest(t *testing.T) {
	s := messagingtest.NewServer(t)
	s.Fail("", 1, messagingtest.Status(http.StatusTeapot))
	assert.Equal(t, http.StatusTeapot, get(t, s, "/unknown").StatusCode)
	assert.Equal(t, http.StatusNotFound, get(t, s, "/unknown").StatusCode)
}

func TestFaultsAreTakenByEachAttempt(t *testing.T) {
	s := messagingtest.NewServer(t)
	s.Fail("", 2, messagingtest.Status(500))
	page, err := s.Client().Events.List(t.Context(), messaging.EventListParams{})
	require.NoError(t, err)
	assert.Equal(t, 3, page.Response.Attempts)
}

func TestFaultsRateLimitedSetsRetryAfter(t *testing.T) {
	tests := []struct {
		name  string
		after time.Duration
		want  time.Duration
	}{
		{"whole seconds", 3 * time.Second, 3 * time.Second},
		{"a fraction of a second is rounded up", 1500 * time.Millisecond, 2 * time.Second},
		{"zero", 0, 0},
		{"a negative duration is zero", -time.Second, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := messagingtest.NewServer(t)
			s.Fail("", 1, messagingtest.RateLimited(test.after))
			err := pushToAll(t, s.Client(messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 1})))
			require.ErrorIs(t, err, messaging.ErrRateLimited)
			var refused *messaging.APIError
			require.ErrorAs(t, err, &refused)
			assert.Equal(t, test.want, refused.RetryAfter)
			assert.Equal(t, messaging.DeliveryRejected, refused.Delivery())
			assert.Empty(t, s.PushBroadcasts())
		})
	}
}

func TestFaultsNotReachedIsProvedNotSent(t *testing.T) {
	s := messagingtest.NewServer(t)
	client := s.Client()
	require.NoError(t, pushToAll(t, client), "this leaves an idle connection")
	s.Fail("", 5, messagingtest.NotReached())

	err := pushToAll(t, client)

	var failed *messaging.TransportError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, 3, failed.Attempts)
	assert.Equal(t, messaging.DeliveryNotSent, messaging.DeliveryOf(err))
	assert.ErrorIs(t, err, syscall.ECONNREFUSED)
	assert.Len(t, s.Requests(), 1)
	require.NoError(t, pushToAll(t, client), "its third attempt reaches the server")
	assert.Len(t, s.PushBroadcasts(), 2)
}

func TestFaultsAreNotTakenByRetriesOfNetHTTP(t *testing.T) {
	s := messagingtest.NewServer(t)
	client := s.Client(messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 1}))
	list := func() error {
		_, err := client.Events.List(t.Context(), messaging.EventListParams{})
		return err
	}
	require.NoError(t, list(), "this leaves an idle connection")
	s.Fail("", 2, messagingtest.AnswerLost())

	require.NoError(t, list(), "net/http retries it")
	require.Len(t, s.Requests(), 3)
	require.NoError(t, list())
	require.Len(t, s.Requests(), 5)
	require.NoError(t, list())
	require.Len(t, s.Requests(), 6, "the queue is empty")
}

func TestFaultsNotReachedIsUnknownBehindAnotherTransport(t *testing.T) {
	s := messagingtest.NewServer(t)
	own := new(http.Transport)
	t.Cleanup(own.CloseIdleConnections)
	s.Fail("", 1, messagingtest.NotReached())

	err := pushToAll(t, s.Client(messaging.WithHTTPClient(&http.Client{Transport: own})))

	assert.Equal(t, messaging.DeliveryUnknown, messaging.DeliveryOf(err))
	assert.Len(t, s.Requests(), 1)
	assert.Empty(t, s.PushBroadcasts())
}

func TestFaultsMalformedCarriesOutTheRequest(t *testing.T) {
	tests := []struct {
		name, body string
		delivery   messaging.Delivery
	}{
		{"truncated JSON", `{"success":tr`, messaging.DeliveryUnknown},
		{"an HTML page", `<html><body>Welcome</body></html>`, messaging.DeliveryUnknown},
		{"an empty body", ``, messaging.DeliveryUnknown},
		{"a response without the event", `{"success":true,"data":null}`, messaging.DeliveryAccepted},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := messagingtest.NewServer(t)
			client := s.Client()
			s.Fail("", 1, messagingtest.Malformed(test.body))
			_, err := client.Events.Create(t.Context(), messaging.EventCreateParams{
				Name: "n", Description: "d", Parameters: []messaging.EventParameter{}})
			var failed *messaging.DecodeError
			require.ErrorAs(t, err, &failed)
			assert.Equal(t, test.body, string(failed.Body))
			assert.Equal(t, test.delivery, failed.Delivery())
			events, err := messaging.Collect(client.Events.All(t.Context(), messaging.EventListParams{}))
			require.NoError(t, err)
			assert.Len(t, events, 1)
		})
	}
}

func pushToAll(t *testing.T, client *messaging.Client) error {
	t.Helper()
	_, err := client.Broadcasts.SendPush(t.Context(), messaging.PushBroadcastParams{Subject: "s", Message: "m", To: messaging.AllCustomers()})
	return err
}
