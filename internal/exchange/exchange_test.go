package exchange_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

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
