package otelmessaging_test

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
	"github.com/messaging-go/messaging/internal/service"
)

// allowed holds the only attributes that each kind of span and each metric may have.
var allowed = map[string][]string{
	"call": {"messaging_go.operation", "messaging_go.delivery", "messaging_go.attempts", "error.type"},
	"attempt": {"http.request.method", "server.address", "server.port", "url.full", "url.template", "http.response.status_code",
		"http.request.resend_count", "error.type"},
	"http.client.request.duration": {"http.request.method", "server.address", "server.port", "http.response.status_code",
		"error.type"},
	"messaging_go.client.operation.duration": {"messaging_go.operation", "messaging_go.delivery", "error.type"},
	"messaging_go.client.retry.wait":         {"messaging_go.operation"},
}

type call func(context.Context, *messaging.Client) error

// callsWithCanaries makes every call, with the canary in each place where a caller can
// put something.
func callsWithCanaries() map[string]call {
	header := messaging.WithHeader("X-"+canary, canary)
	calls := map[string]call{
		"invalid Trigger": func(ctx context.Context, c *messaging.Client) error {
			_, err := c.Events.Trigger(ctx, messaging.EventTriggerParams{EventID: canary, Email: canary}, header)
			return err
		},
		"Send": func(ctx context.Context, c *messaging.Client) error {
			p, err := messaging.EventTriggerParams{EventID: canary, Email: canary + "@example.com"}.Prepare()
			if err == nil {
				_, err = c.Send(ctx, p, header)
			}
			return err
		},
		"Do": func(ctx context.Context, c *messaging.Client) error {
			_, err := c.Do(ctx, messaging.Request{Operation: "tag", Method: "PUT", Path: "/v1/tags/" + canary, Query: url.Values{canary: {canary}},
				Body: map[string]string{canary: canary}}, header)
			return err
		},
		"Do with another method": func(ctx context.Context, c *messaging.Client) error {
			_, err := c.Do(ctx, messaging.Request{Operation: "tag", Method: strings.ToUpper(canary), Path: "/v1/tags/" + canary}, header)
			return err
		},
		"Do with no method": func(ctx context.Context, c *messaging.Client) error {
			_, err := c.Do(ctx, messaging.Request{Method: "no method " + canary, Path: "/v1/tags/" + canary}, header)
			return err
		},
	}
	for _, o := range scripted.Operations {
		for method, make := range o.Calls {
			calls[method] = func(ctx context.Context, c *messaging.Client) error { return make(ctx, c, header) }
		}
	}
	for _, list := range scripted.Lists() {
		calls[list.Name+" from a cursor"] = func(ctx context.Context, c *messaging.Client) error {
			_, err := messaging.Collect(list.All(ctx, c, canary, header))
			return err
		}
	}
	return calls
}

// outcomes are the outcomes of a request, with the canary in each place where the service
// can put something.
var outcomes = map[string]roundTripper{
	"success": responds(200, `{"success":true,"message":"canary","data":null}`),
	"a page with a next one": func(req *http.Request) (*http.Response, error) {
		return responds(200, `{"success":true,"data":[{"id":"canary","customer_id":"canary"}],
			"meta":{"has_next_page":true,"next_page_cursor":"canary"}}`)(req)
	},
	"422":             responds(422, `{"message":"canary","errors":{"canary":["canary"]}}`),
	"429":             responds(429, "canary", "Retry-After", "1"),
	"503":             responds(503, "<html>canary"),
	"302":             responds(302, "", "Location", "https://canary.example/canary"),
	"success false":   responds(200, `{"success":false,"message":"canary"}`),
	"not JSON":        responds(200, "canary"),
	"no connection":   fails(errCanary),
	"connection lost": func(*http.Request) (*http.Response, error) { return nil, errCanary },
}

func TestNothingOfACallerOrTheServiceIsRecorded(t *testing.T) {
	for name, make := range callsWithCanaries() {
		for outcome, over := range outcomes {
			t.Run(name+", "+outcome, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newTelemetry(t, over)
					_ = make(t.Context(), r.client)
					require.NotEmpty(t, r.spans.Ended())
					for _, span := range r.spans.Ended() {
						requireAllowed(t, span)
					}
					for metric, points := range r.metrics(t) {
						require.Contains(t, allowed, metric)
						for _, point := range points {
							requireNoCanary(t, point)
							for _, pair := range strings.Fields(point)[2:] {
								if key, _, isPair := strings.Cut(pair, "="); isPair { // otherwise, it is the rest of a value
									require.Contains(t, allowed[metric], key)
								}
							}
						}
					}
				})
			})
		}
	}
}

func TestEveryOperationIsCalledWithCanaries(t *testing.T) {
	called := make(map[string]bool)
	for _, make := range callsWithCanaries() {
		r := newTelemetry(t, responds(200, `{"success":true,"data":[]}`))
		_ = make(t.Context(), r.client)
		for _, span := range r.spans.Ended() {
			called[span.Name()] = true
		}
	}
	for o := range service.All() {
		assert.Contains(t, called, o.Name, "a call of %q", o.Name)
	}
}

func TestAlertOfTheREADMESelectsTheSends(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	alert := regexp.MustCompile(`messaging_go_operation=~"(.*)"`).FindSubmatch(readme)
	require.NotNil(t, alert)
	selects := regexp.MustCompile("^(?:" + string(alert[1]) + ")$") // Prometheus matches the whole label
	for o := range service.All() {
		assert.Equal(t, !o.IsRead(), selects.MatchString(o.Name), "the alert in otelmessaging/README.md and %q", o.Name)
	}
}

func requireAllowed(t *testing.T, span sdktrace.ReadOnlySpan) {
	t.Helper()
	kind := "call"
	if slices.ContainsFunc(attributesOf(span.Attributes()), func(a string) bool { return strings.HasPrefix(a, "http.") }) {
		kind = "attempt"
	}
	for _, a := range span.Attributes() {
		require.Contains(t, allowed[kind], string(a.Key))
	}
	requireNoCanary(t, span.Name()+" "+strings.Join(attributesOf(span.Attributes()), " "))
	assert.Empty(t, span.Events(), "no error is recorded")
	assert.Empty(t, span.Links())
	assert.Empty(t, span.Status().Description)
}

func requireNoCanary(t *testing.T, text string) {
	t.Helper()
	require.NotContains(t, strings.ToLower(text), canary)
}
