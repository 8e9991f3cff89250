package scripted

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
)

// NewClient returns a client over a transport that plays the scenes.
func NewClient(tb testing.TB, scenes []Scene, opts ...messaging.Option) (*messaging.Client, *Transport) {
	tb.Helper()
	transport := &Transport{Scenes: scenes}
	return NewClientOver(tb, "https://api.example.com", &http.Client{Transport: transport}, opts...), transport
}

// NewClientOver returns a client that sends over an [http.Client].
func NewClientOver(tb testing.TB, baseURL string, over *http.Client, opts ...messaging.Option) *messaging.Client {
	tb.Helper()
	client, err := messaging.NewClient(baseURL, SecretKey, append([]messaging.Option{messaging.WithHTTPClient(over)}, opts...)...)
	require.NoError(tb, err)
	return client
}

// NewClientOnOwnTransport returns a client that builds its own transport, as a
// copy of like. It replaces [http.DefaultTransport] for that time, so a test that
// calls it must not be parallel.
func NewClientOnOwnTransport(tb testing.TB, baseURL string, like *http.Transport, opts ...messaging.Option) *messaging.Client {
	tb.Helper()
	usual := http.DefaultTransport
	defer func() { http.DefaultTransport = usual }()
	http.DefaultTransport = like
	client, err := messaging.NewClient(baseURL, SecretKey, opts...)
	require.NoError(tb, err)
	return client
}

// NewInMemoryClient returns a client whose requests go to a handler without a
// network.
func NewInMemoryClient(tb testing.TB, handler http.Handler, opts ...messaging.Option) *messaging.Client {
	tb.Helper()
	transport := RoundTripper(func(req *http.Request) (*http.Response, error) {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, req)
		if err := req.Context().Err(); err != nil {
			return nil, err
		}
		return recorder.Result(), nil
	})
	opts = append([]messaging.Option{TwoAttempts}, opts...)
	return NewClientOver(tb, "https://api.example.com", &http.Client{Transport: transport}, opts...)
}

// TwoAttempts retries a read once, without a wait.
var TwoAttempts = messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 2, MinWait: 1, MaxWait: 1})

// WithQuickRetries retries after a millisecond, for tests that wait in real time.
func WithQuickRetries() messaging.Option {
	return messaging.WithRetryPolicy(messaging.RetryPolicy{MinWait: time.Millisecond, MaxWait: time.Millisecond})
}

// NewLogger returns a logger and the buffer that it writes to, one line for each
// record.
func NewLogger() (*slog.Logger, *bytes.Buffer) {
	written := new(bytes.Buffer)
	return slog.New(slog.NewJSONHandler(written, &slog.HandlerOptions{Level: slog.LevelDebug})), written
}

// RunInBubble runs a subtest in a bubble of [testing/synctest], where waits take
// no time.
func RunInBubble(t *testing.T, name string, test func(*testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// GuardOf returns the guard that an option adds to a client, with the errors of the guard itself.
func GuardOf(tb testing.TB, option messaging.Option) messaging.Guard {
	tb.Helper()
	client, _ := NewClient(tb, nil, option)
	return func(ctx context.Context, p *messaging.Prepared) error {
		err := client.Check(ctx, p)
		if refused, ok := errors.AsType[*messaging.GuardError](err); ok {
			return refused.Err
		}
		return err
	}
}
