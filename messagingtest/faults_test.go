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
	for _, test := range []struct {
		fault             messagingtest.Fault
		status            int
		contentType, body string
	}{
		{messagingtest.Status(503), 503, "application/json", `{"success":false,"message":"Service Unavailable"}`},
		{messagingtest.Status(422, `{"errors":["no"]}`), 422, "application/json", `{"errors":["no"]}`},
		{messagingtest.Status(502, "<html><body>Bad gateway"), 502, "text/html; charset=utf-8", "<html><body>Bad gateway"},
		{messagingtest.Status(500, "a", "b"), 500, "text/plain; charset=utf-8", "ab"},
		{messagingtest.Status(500, ""), 500, "", ""},
		{messagingtest.Status(204), 204, "", ""}, // it allows no body
	} {
		s := messagingtest.NewServer(t)
		s.Fail("", 1, test.fault)
		failed := post(t, s, "/v1/events", `{"name":"n","description":"d","parameters":[]}`)
		assert.Equal(t, test.status, failed.StatusCode)
		assert.Equal(t, test.body, failed.Body)
		if test.contentType != "" {
			assert.Equal(t, test.contentType, failed.Header.Get("Content-Type"))
		}
		assert.Contains(t, get(t, s, "/v1/events").Body, `"data":[]`)
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

	service.Fail("", 1, messagingtest.AnswerLost())
	_, err = service.Client().Events.Trigger(t.Context(), messaging.EventTriggerParams{EventID: "unknown", Email: "ada@example.com"})
	assert.Equal(t, messaging.DeliveryUnknown, messaging.DeliveryOf(err), "a response with an error is lost too")
	assert.Empty(t, service.Triggers())
}

func TestFaultsSlowDelaysTheRequest(t *testing.T) {
	const wait = 20 * time.Millisecond
	s := messagingtest.NewServer(t)
	s.Fail("", 1, messagingtest.Slow(wait))
	start := time.Now()
	require.NoError(t, pushToAll(t, s.Client()))
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

func TestFaultsSlowCarriesOutTheRequestWhenItIsCanceledOrTheServerCloses(t *testing.T) {
	s := messagingtest.NewServer(t)
	err := sendAndThen(t, s, func(cancel context.CancelFunc) { cancel() })
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, messaging.DeliveryUnknown, messaging.DeliveryOf(err))
	s.Close()
	assert.Len(t, s.PushBroadcasts(), 1)

	s = messagingtest.NewServer(t)
	require.NoError(t, sendAndThen(t, s, func(context.CancelFunc) { s.Close() }))
	assert.Len(t, s.PushBroadcasts(), 1)
}

func TestFaultsAreQueuedForTheAttemptsOfAnyRequest(t *testing.T) {
	s := messagingtest.NewServer(t)
	s.Fail("", 2, messagingtest.Status(500))
	s.Fail("", 1, messagingtest.Fault{})
	s.Fail("", 0, messagingtest.Status(400))
	s.Fail("", -1, messagingtest.Status(400))
	s.Fail("", 1, messagingtest.Status(429))
	s.Fail("", 1, messagingtest.Status(418))
	var statuses []int
	for _, path := range []string{"/v1/events", "/v1/events", "/v1/events", "/v1/events", "/unknown", "/unknown", "/v1/events"} {
		statuses = append(statuses, get(t, s, path).StatusCode)
	}
	assert.Equal(t, []int{500, 500, 200, 429, 418, 404, 200}, statuses)

	s.Fail("", 2, messagingtest.Status(500))
	page, err := s.Client().Events.List(t.Context(), messaging.EventListParams{})
	require.NoError(t, err)
	assert.Equal(t, 3, page.Response.Attempts)
}

func TestFaultsRateLimitedSetsRetryAfter(t *testing.T) {
	for after, want := range map[time.Duration]time.Duration{3 * time.Second: 3 * time.Second,
		1500 * time.Millisecond: 2 * time.Second, 0: 0, -time.Second: 0} { // a fraction of a second is rounded up
		s := messagingtest.NewServer(t)
		s.Fail("", 1, messagingtest.RateLimited(after))
		err := pushToAll(t, s.Client(messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 1})))
		require.ErrorIs(t, err, messaging.ErrRateLimited)
		var refused *messaging.APIError
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, want, refused.RetryAfter)
		assert.Equal(t, messaging.DeliveryRejected, refused.Delivery())
		assert.Empty(t, s.PushBroadcasts())
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
	for body, delivery := range map[string]messaging.Delivery{
		`{"success":tr`:                     messaging.DeliveryUnknown,
		`<html><body>Welcome</body></html>`: messaging.DeliveryUnknown,
		``:                                  messaging.DeliveryUnknown,
		`{"success":true,"data":null}`:      messaging.DeliveryAccepted, // without the event
	} {
		s := messagingtest.NewServer(t)
		s.Fail("", 1, messagingtest.Malformed(body))
		_, err := s.Client().Events.Create(t.Context(), messaging.EventCreateParams{
			Name: "n", Description: "d", Parameters: []messaging.EventParameter{}})
		var failed *messaging.DecodeError
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, body, string(failed.Body))
		assert.Equal(t, delivery, failed.Delivery(), body)
		assert.Len(t, s.Events(), 1)
	}
}

func pushToAll(t *testing.T, client *messaging.Client) error {
	t.Helper()
	_, err := client.Broadcasts.SendPush(t.Context(), toEveryone)
	return err
}
