package exchange_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

func TestReasonOfEveryFailureIsLogged(t *testing.T) {
	noLease := messaging.WithRateLimiter(&countingLimiter{failFrom: 1, err: errors.New("no lease")})
	noKey := messaging.WithKeySource(func(context.Context) (string, error) { return "", errors.New("sealed") })
	badKey := messaging.WithKeySource(func(context.Context) (string, error) { return "key\n", nil })
	tests := []struct {
		reason string
		play   scripted.Scene
		opts   []messaging.Option
	}{
		{"", scripted.Responds(200, scripted.Success), nil},
		{"422", scripted.Responds(422, scripted.Failure), nil},
		{"302", scripted.Responds(302, ""), nil},
		{"503", scripted.Responds(503, scripted.Success), nil},
		{"refused", scripted.Responds(200, scripted.Failure), nil},
		{"refused", scripted.Responds(200, `{"success":true,"data":false}`), nil},
		{"not_json", scripted.Responds(200, "<html>"), nil},
		{"not_json", scripted.Responds(200, ""), nil},
		{"not_json", scripted.Responds(200, scripted.Success+"{}"), nil},
		{"decode", scripted.Responds(200, `{}`), nil},
		{"too_large", scripted.Responds(200, strings.Repeat(" ", 100)), []messaging.Option{messaging.WithMaxResponseBytes(99)}},
		{"limiter", scripted.Responds(200, scripted.Success), []messaging.Option{noLease}},
		{"key_source", scripted.Responds(200, scripted.Success), []messaging.Option{noKey}},
		{"key_source", scripted.Responds(200, scripted.Success), []messaging.Option{badKey}},
		{"attempt_timeout", scripted.Connects(scripted.Hangs), []messaging.Option{messaging.WithAttemptTimeout(time.Second)}},
		{"dns", scripted.NeverConnects(scripted.ErrLookup(net.DNSError{IsNotFound: true})), nil},
		{"tls", scripted.NeverConnects(scripted.ErrUnknownCA), nil},
		{"tls", scripted.NeverConnects(http.ErrSchemeMismatch), nil},
		{"tls", scripted.NeverConnects(&net.OpError{Op: "remote error", Err: errors.New("tls: protocol version not supported")}), nil},
		{"tls", scripted.NeverConnects(errors.New("net/http: TLS handshake timeout")), nil},
		{"connect", scripted.NeverConnects(scripted.ErrRefused), nil},
		{"connection_lost", scripted.Breaks(io.EOF), nil},
		{"connection_lost", scripted.RespondsFrom(200, &scripted.CutShort{}), nil},
		{"_OTHER", func(*http.Request) (*http.Response, error) { return nil, errors.New("boom") }, nil},
	}
	for _, test := range tests {
		scripted.RunInBubble(t, test.reason, func(t *testing.T) {
			assert.Equal(t, test.reason, loggedReason(t, t.Context(), test.play, test.opts...))
		})
	}
	scripted.RunInBubble(t, "the time limit of the caller", func(t *testing.T) {
		slow := messaging.WithRateLimiter(waitFunc(func() { time.Sleep(time.Second) }))
		assert.Equal(t, "not_after", loggedReason(t, t.Context(), scripted.Connects(scripted.Hangs), slow))
	})
	scripted.RunInBubble(t, "the deadline of the caller", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		assert.Equal(t, "deadline", loggedReason(t, ctx, scripted.Connects(scripted.Hangs)))
	})
	scripted.RunInBubble(t, "no reason if the caller cancels the call", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		assert.Empty(t, loggedReason(t, ctx, scripted.Connects(scripted.Hangs)))
	})
}

// loggedReason returns the reason in the log of a call of one attempt.
func loggedReason(t *testing.T, ctx context.Context, play scripted.Scene, opts ...messaging.Option) string {
	t.Helper()
	logger, logged := scripted.NewLogger()
	opts = append([]messaging.Option{messaging.WithLogger(logger), messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 1}),
		messaging.WithHTTPClient(&http.Client{Transport: &scripted.Transport{Scenes: []scripted.Scene{play}}})}, opts...)
	key := scripted.SecretKey
	client, err := messaging.NewClient("https://api.example.com", key, opts...)
	if err != nil {
		client, err = messaging.NewClient("https://api.example.com", "", opts...) // with a key source
	}
	require.NoError(t, err)
	_ = scripted.TriggerEvent(ctx, client, messaging.WithNotAfter(time.Now()))
	var record struct{ Reason string }
	require.NoError(t, json.Unmarshal(logged.Bytes(), &record), logged.String())
	return record.Reason
}
