package otelmessaging_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/otelmessaging"
)

// BenchmarkTrigger measures the cost of hooks for a call whose transport takes no time.
func BenchmarkTrigger(b *testing.B) {
	over := func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusNoContent, Header: http.Header{}, Body: http.NoBody}, nil
	}
	withHooks := func(opts ...otelmessaging.Option) []messaging.Option {
		hooks, err := otelmessaging.New(opts...)
		require.NoError(b, err)
		return []messaging.Option{messaging.WithHooks(hooks)}
	}
	sampled := []otelmessaging.Option{otelmessaging.WithTracerProvider(sdktrace.NewTracerProvider()),
		otelmessaging.WithMeterProvider(metric.NewMeterProvider(metric.WithReader(metric.NewManualReader())))}
	noop := []otelmessaging.Option{otelmessaging.WithTracerProvider(tracenoop.NewTracerProvider()),
		otelmessaging.WithMeterProvider(metricnoop.NewMeterProvider())}
	for _, run := range []struct {
		name string
		opts []messaging.Option
	}{{"no hooks", nil}, {"no-op providers", withHooks(noop...)}, {"sampled spans and metrics", withHooks(sampled...)}} {
		b.Run(run.name, func(b *testing.B) {
			client, err := messaging.NewClient("https://api.example.com", "test-key-1",
				append(run.opts, messaging.WithHTTPClient(&http.Client{Transport: roundTripper(over)}))...)
			require.NoError(b, err)
			params := messaging.EventTriggerParams{EventID: "event-1", Email: "ada@example.com"}
			b.ReportAllocs()
			for b.Loop() {
				_, _ = client.Events.Trigger(b.Context(), params)
			}
		})
	}
}
