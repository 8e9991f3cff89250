package messagingtest_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

const pushPath = "/v1/broadcast/send/push-notification"

// toEveryone is the smallest broadcast.
var toEveryone = messaging.PushBroadcastParams{Subject: "Hello", Message: "Hello, everyone.", To: messaging.AllCustomers()}

func TestServerIsClosedWhenItsTestEnds(t *testing.T) {
	var s *messagingtest.Server
	t.Run("test with a server", func(t *testing.T) {
		s = messagingtest.NewServer(t)
		assert.Equal(t, http.StatusOK, get(t, s, "/v1/events").StatusCode)
	})
	assert.Equal(t, messaging.DeliveryNotSent, messaging.DeliveryOf(pushToAll(t, s.Client())), "the server no longer listens")
}

func TestServerCanBeClosedTwice(t *testing.T) {
	s, err := messagingtest.Start()
	require.NoError(t, err)
	s.Close()
	s.Close()
}

func TestServerHandlerWorksBehindAnotherServerAndAPrefix(t *testing.T) {
	s := messagingtest.NewServer(t)
	own := httptest.NewServer(http.StripPrefix("/sandbox", s.Handler()))
	defer own.Close()
	client, err := messaging.NewClient(own.URL+"/sandbox", s.APIKey(), messaging.WithHTTPClient(own.Client()))
	require.NoError(t, err)

	_, err = client.Broadcasts.SendPush(t.Context(), toEveryone)
	require.NoError(t, err)
	s.Fail("", 1, messagingtest.AnswerLost())
	_, err = client.Broadcasts.SendPush(t.Context(), toEveryone)
	assert.Equal(t, messaging.DeliveryUnknown, messaging.DeliveryOf(err))
	assert.Len(t, s.PushBroadcasts(), 2)
}

func TestServerClientPanicsOnAnInvalidOption(t *testing.T) {
	s := messagingtest.NewServer(t)
	assert.Panics(t, func() { s.Client(messaging.WithAttemptTimeout(-time.Second)) })
}

func TestServerClientOptionsOverrideTheDefaults(t *testing.T) {
	noKey := errors.New("no key")
	tests := map[string]struct {
		option   messaging.Option
		attempts int
		isErr    error
	}{
		"a retry policy": {messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 1}), 1, messaging.ErrServer},
		"an HTTP client": {messaging.WithHTTPClient(&http.Client{Transport: respondingWith(http.StatusForbidden)}), 0, messaging.ErrForbidden},
		"a key source":   {messaging.WithKeySource(func(context.Context) (string, error) { return "", noKey }), 0, noKey},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := messagingtest.NewServer(t)
			s.Fail("", 2, messagingtest.Status(http.StatusServiceUnavailable))
			_, err := s.Client(test.option).Events.List(t.Context(), messaging.EventListParams{})
			require.ErrorIs(t, err, test.isErr)
			assert.Len(t, s.Requests(), test.attempts)
		})
	}
}

// respondingWith is a transport that responds to every request with a status.
type respondingWith int

func (status respondingWith) RoundTrip(*http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	recorder.WriteHeader(int(status))
	return recorder.Result(), nil
}

func TestServerClientRetriesWithoutAPause(t *testing.T) {
	s := messagingtest.NewServer(t)
	s.Fail("", 2, messagingtest.Status(http.StatusServiceUnavailable))
	var longest time.Duration
	hooks := messaging.Hooks{AttemptDone: func(_ context.Context, _ messaging.CallInfo, r messaging.AttemptResult) {
		longest = max(longest, r.Wait)
	}}
	page, err := s.Client(messaging.WithHooks(hooks)).Events.List(t.Context(), messaging.EventListParams{})
	require.NoError(t, err)
	assert.Equal(t, 3, page.Response.Attempts)
	assert.Positive(t, longest)
	assert.LessOrEqual(t, longest, 10*time.Millisecond, "the default waits take at least half a second")
}
