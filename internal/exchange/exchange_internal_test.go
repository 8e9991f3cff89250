package exchange

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging/internal/service"
	"github.com/messaging-go/messaging/internal/wire"
)

const testKey = "sk_live_0123456789"

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func responds(status int, body string) roundTripper {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

// newSend returns a send over a given transport that has not been made yet.
func newSend(ctx context.Context, over roundTripper) *Exchange {
	return &Exchange{Call: Call{
		Config: &Config{
			BaseURL:          "https://api.example.com",
			HTTP:             http.Client{Transport: over},
			Key:              func(context.Context) (string, error) { return testKey, nil },
			MaxResponseBytes: 1 << 20,
		},
		Operation:      service.TriggerEvent,
		Body:           []byte(`{"event_id":"e"}`),
		Retry:          RetryPolicy{}.WithDefaults(),
		AttemptTimeout: AttemptTimeout{Limit: time.Minute},
		Context:        ctx,
	}}
}

// A transport can send in a way that it does not report to httptrace.
func TestOutcomeIsNotProvedByTheConnectionsOfAGivenTransport(t *testing.T) {
	x := newSend(t.Context(), func(req *http.Request) (*http.Response, error) {
		httptrace.ContextClientTrace(req.Context()).GetConn(req.URL.Host)
		_, _ = io.ReadAll(req.Body)
		return nil, errors.New("the connection is lost")
	})
	defer x.End()
	assert.Equal(t, DeliveryUnknown, x.Send().Delivery)
}

func TestOutcomeKeepsNoPartOfAKeyAtTheLimit(t *testing.T) {
	body := strings.Repeat("x", wire.MaxErrorBody-len("sk_live")) + testKey + strings.Repeat("x", wire.MaxErrorBody)
	x := newSend(t.Context(), responds(http.StatusBadRequest, body))
	defer x.End()
	kept := string(x.Send().Body)
	assert.Len(t, kept, wire.MaxErrorBody)
	assert.NotContains(t, kept, "sk")
}

func TestOutcomeQuotesNoURLOfTheCallersFunctions(t *testing.T) {
	quoting := &url.Error{Op: "Get", URL: "https://vault.example/?token=1", Err: io.EOF}
	for name, set := range map[string]func(*Config){
		"rate limiter": func(c *Config) { c.Limiter = limiterFunc(func(context.Context) error { return quoting }) },
		"key source":   func(c *Config) { c.Key = func(context.Context) (string, error) { return "", quoting } },
	} {
		t.Run(name, func(t *testing.T) {
			x := newSend(t.Context(), responds(http.StatusOK, ""))
			defer x.End()
			set(x.Config)
			assert.EqualError(t, x.Send().Err, name+": EOF")
		})
	}
}

type limiterFunc func(context.Context) error

func (f limiterFunc) Wait(ctx context.Context) error { return f(ctx) }
