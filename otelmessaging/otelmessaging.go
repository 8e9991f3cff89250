package otelmessaging

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/messaging-go/messaging"
)

// scope is the name of the instrumentation.
const scope = "github.com/messaging-go/messaging/otelmessaging"

// New returns hooks for [messaging.WithHooks] that record spans and metrics. They use the
// global providers, unless options replace them. Several clients can share the hooks. The
// error of New reports every invalid option.
func New(opts ...Option) (messaging.Hooks, error) {
	c, err := newConfig(opts)
	if err != nil {
		return messaging.Hooks{}, fmt.Errorf("otelmessaging: %w", err)
	}
	m, err := newMetrics(c.meters.Meter(scope, metric.WithInstrumentationVersion(messaging.Version), metric.WithSchemaURL(semconv.SchemaURL)))
	if err != nil {
		return messaging.Hooks{}, fmt.Errorf("otelmessaging: %w", err)
	}
	t := &tracing{
		tracer:         c.tracers.Tracer(scope, trace.WithInstrumentationVersion(messaging.Version), trace.WithSchemaURL(semconv.SchemaURL)),
		propagator:     c.propagator,
		operationSpans: c.operationSpans,
	}
	return messaging.Hooks{
		CallStart: t.startCall,
		CallDone: func(ctx context.Context, call messaging.CallInfo, result messaging.CallResult) {
			t.endCall(ctx, result)
			m.recordCall(ctx, call, result)
		},
		AttemptStart: t.startAttempt,
		AttemptDone: func(ctx context.Context, call messaging.CallInfo, result messaging.AttemptResult) {
			m.recordAttempt(ctx, call, result) // while the span is open, for exemplars
			t.endAttempt(ctx, result)
		},
	}, nil
}
