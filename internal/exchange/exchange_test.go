package exchange_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

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
		source := &recordingKeySource{keys: []string{"old-key-1", "new-key-1"}}
		client, transport := newKeySourceClient(t, source, scripted.Responds(503, ""), scripted.Responds(200, scripted.Success))
		require.NoError(t, scripted.ReadCustomers(t.Context(), client))
		require.Len(t, transport.Sent, 2)
		assert.Equal(t, []string{"old-key-1"}, transport.Sent[0].Header["X-Authorization"], "an earlier attempt may still be writing its header")
		assert.Equal(t, []string{"new-key-1"}, transport.Sent[1].Header["X-Authorization"])
		assert.Equal(t, 2, source.asked)
	})
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
			return newKeySourceClient(t, &recordingKeySource{keys: []string{"test-key-1"}, err: errHeld}, scripted.Responds(503, ""))
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
			assert.Equal(t, messaging.NextRetry, messaging.NextStepOf(err), "the send may be repeated")
			assert.ErrorIs(t, err, messaging.ErrServer, "what the first attempt was answered is still told")
		})
	}
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

func TestErrorsQuoteNoKeyOfAnyAttempt(t *testing.T) {
	source := &recordingKeySource{keys: []string{"old/key+0123456789", "new/key+0123456789"}}
	synctest.Test(t, func(t *testing.T) {
		client, _ := newKeySourceClient(t, source, scripted.Responds(429, ""),
			scripted.Responds(400, `{"message":"seen old\/key+0123456789 and new%2Fkey%2B0123456789"}`, "Location",
				"/login?key=new%2Fkey%2B0123456789"))
		err := scripted.TriggerEvent(t.Context(), client)
		var refused *messaging.APIError
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, "seen [API key] and [API key]", refused.Message)
		assert.Equal(t, `{"message":"seen [API key] and [API key]"}`, string(refused.Body))
		assert.Equal(t, "/login?key=[API key]", refused.Header.Get("Location"))
	})
}

// keyRotation is a call with a key source that returns keys in turn, and what comes of it.
type keyRotation struct {
	name      string
	keys      []string
	scenes    []scripted.Scene
	opts      []messaging.Option
	call      []messaging.RequestOption
	sent      []string // the keys of the requests
	asked     int
	succeeded bool
}

func TestA401IsRetriedOnceWithAnotherKey(t *testing.T) {
	const first, second, third = "first-key-1", "second-key-2", "third-key-3"
	refused, done := scripted.Responds(401, scripted.Failure), scripted.Responds(200, scripted.Success)
	tests := []keyRotation{
		{name: "another key", keys: []string{first, second}, scenes: []scripted.Scene{refused, done},
			sent: []string{first, second}, asked: 2, succeeded: true},
		{name: "the same key", keys: []string{first, first}, scenes: []scripted.Scene{refused, done}, sent: []string{first}, asked: 2},
		{name: "a source that fails", keys: []string{first}, scenes: []scripted.Scene{refused, done}, sent: []string{first}, asked: 2},
		{name: "a key that cannot be sent", keys: []string{first, "a\nb"}, scenes: []scripted.Scene{refused, done},
			sent: []string{first}, asked: 2},
		{name: "two 401s", keys: []string{first, second, third}, scenes: []scripted.Scene{refused}, sent: []string{first, second}, asked: 2},
		{name: "without retries", keys: []string{first, second}, scenes: []scripted.Scene{refused, done},
			call: []messaging.RequestOption{messaging.WithoutRetries()}, sent: []string{first}, asked: 1},
		{name: "one attempt", keys: []string{first, second}, scenes: []scripted.Scene{refused, done},
			opts: []messaging.Option{messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 1})}, sent: []string{first}, asked: 1},
		{name: "a 403", keys: []string{first, second}, scenes: []scripted.Scene{scripted.Responds(403, ""), done},
			sent: []string{first}, asked: 1},
		{name: "then a 429", keys: []string{first, second, third}, scenes: []scripted.Scene{refused, scripted.Responds(429, ""), done},
			sent: []string{first, second, third}, asked: 3, succeeded: true},
	}
	for _, test := range tests {
		scripted.RunInBubble(t, test.name, func(t *testing.T) {
			source, limiter, log := &recordingKeySource{keys: test.keys, err: errors.New("no key")}, new(countingLimiter), []string{}
			transport := &scripted.Transport{Scenes: test.scenes}
			client, err := messaging.NewClient("https://api.example.com", "", append(test.opts,
				messaging.WithHTTPClient(&http.Client{Transport: transport}), messaging.WithKeySource(source.next),
				messaging.WithRateLimiter(limiter), messaging.WithHooks(messaging.Hooks{
					AttemptDone: func(_ context.Context, _ messaging.CallInfo, r messaging.AttemptResult) {
						log = append(log, fmt.Sprint(r.Attempt, r.StatusCode, r.Wait > 0))
					}}))...)
			require.NoError(t, err)
			err = scripted.TriggerEvent(t.Context(), client, test.call...)
			var keys []string
			for _, request := range transport.Sent {
				keys = append(keys, request.Header.Get("X-Authorization"))
			}
			assert.Equal(t, test.sent, keys)
			assert.Equal(t, test.asked, source.asked)
			assert.Equal(t, len(test.sent), limiter.asked, "the limiter is asked as for any attempt")
			assert.Len(t, log, len(test.sent))
			if test.name != "a 403" {
				assert.Equal(t, "1 401 false", log[0], "there is no wait")
			}
			if test.succeeded {
				require.NoError(t, err)
				return
			}
			assert.Equal(t, messaging.NextFixSetup, messaging.NextStepOf(err))
			assert.Equal(t, messaging.DeliveryRejected, messaging.DeliveryOf(err))
		})
	}
}

func TestA401IsNotRetriedAfterNotAfterAndEveryKeyIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &recordingKeySource{keys: []string{"first-key-1", "second-key-2"}}
		asksSlowly := func(ctx context.Context) (string, error) { time.Sleep(time.Second); return slow.next(ctx) }
		transport := &scripted.Transport{Scenes: []scripted.Scene{
			scripted.Responds(401, `{"message":"first-key-1"}`), scripted.Responds(401, `{"message":"first-key-1 and second-key-2"}`)}}
		client, err := messaging.NewClient("https://api.example.com", "",
			messaging.WithHTTPClient(&http.Client{Transport: transport}), messaging.WithKeySource(asksSlowly))
		require.NoError(t, err)
		err = scripted.TriggerEvent(t.Context(), client, messaging.WithNotAfter(time.Now().Add(1500*time.Millisecond)))
		require.ErrorIs(t, err, messaging.ErrNotAfter)
		require.ErrorIs(t, err, messaging.ErrUnauthorized, "the attempt before")
		assert.Len(t, transport.Sent, 1)

		slow.asked, transport.Sent = 0, nil
		err = scripted.TriggerEvent(t.Context(), client)
		require.ErrorContains(t, err, "[API key] and [API key]")
	})
}

func TestA404OfABaseURLWithTheVersionIsOfTheSetup(t *testing.T) {
	for _, body := range []string{scripted.Failure, `{"error":"no"}`, "<html>", ""} {
		for name, call := range map[string]scripted.Call{"send": scripted.TriggerEvent, "read": scripted.ReadCustomers} {
			client := scripted.NewClientOver(t, "https://api.example.com/v1",
				&http.Client{Transport: &scripted.Transport{Scenes: []scripted.Scene{scripted.Responds(404, body)}}})
			err := call(t.Context(), client)
			assert.Equal(t, messaging.NextFixSetup, messaging.NextStepOf(err), "%s, %s", name, body)
			assert.ErrorContains(t, err, "the base URL ends in /v1, which the path already has")
		}
	}
}

// net/http repeats a request with an idempotency key only if it can read the body again.
func TestASendWithAnIdempotencyKeyIsNotRepeatedByTheTransport(t *testing.T) {
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if requests.Add(1)%2 == 0 { // on a connection that was used before
			connection, _, _ := http.NewResponseController(w).Hijack()
			_ = connection.Close()
			return
		}
		_, _ = io.WriteString(w, scripted.Success)
	}))
	defer server.Close()
	client, err := messaging.NewClient(server.URL, "test-key-1")
	require.NoError(t, err)
	for i := range 5 {
		require.NoError(t, scripted.TriggerEvent(t.Context(), client, messaging.WithHeader("Idempotency-Key", fmt.Sprint(i))))
		err := scripted.TriggerEvent(t.Context(), client, messaging.WithHeader("X-Idempotency-Key", fmt.Sprint(i)))
		assert.Equal(t, messaging.DeliveryUnknown, messaging.DeliveryOf(err))
	}
	assert.EqualValues(t, 10, requests.Load())
}
