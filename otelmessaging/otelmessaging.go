package otelmessaging

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/messaging-go/messaging"
)

// New returns hooks for [messaging.WithHooks] that record spans and metrics with the
// global providers, or those of the options. An option that is nil, or was given nil, is
// an error. The hooks can be shared by clients.
func New(opts ...Option) (messaging.Hooks, error) {
	c := config{tracers: otel.GetTracerProvider(), meters: otel.GetMeterProvider(), operationSpans: true}
	for _, opt := range opts {
		if opt == nil {
			return messaging.Hooks{}, errors.New("otelmessaging: nil option")
		}
		if err := opt(&c); err != nil {
			return messaging.Hooks{}, err
		}
	}
	m, err := newMetrics(c.meters.Meter(scope, metric.WithInstrumentationVersion(messaging.Version), metric.WithSchemaURL(semconv.SchemaURL)))
	if err != nil {
		return messaging.Hooks{}, err
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

// scope is the name of the instrumentation.
const scope = "github.com/messaging-go/messaging/otelmessaging"

// Option configures [New].
type Option func(*config) error

type config struct {
	tracers        trace.TracerProvider
	meters         metric.MeterProvider
	propagator     propagation.TextMapPropagator
	operationSpans bool
}

// WithTracerProvider records spans with provider instead of the global one.
func WithTracerProvider(provider trace.TracerProvider) Option {
	return func(c *config) error {
		if provider == nil {
			return errors.New("otelmessaging: WithTracerProvider: must not be nil")
		}
		c.tracers = provider
		return nil
	}
}

// WithMeterProvider records metrics with provider instead of the global one.
func WithMeterProvider(provider metric.MeterProvider) Option {
	return func(c *config) error {
		if provider == nil {
			return errors.New("otelmessaging: WithMeterProvider: must not be nil")
		}
		c.meters = provider
		return nil
	}
}

// WithPropagator sends the context of each attempt's span to the service in the headers
// of propagator, such as [propagation.TraceContext]. By default nothing is sent: the
// global propagator usually includes baggage, which holds data of the application.
func WithPropagator(propagator propagation.TextMapPropagator) Option {
	return func(c *config) error {
		if propagator == nil {
			return errors.New("otelmessaging: WithPropagator: must not be nil")
		}
		c.propagator = propagator
		return nil
	}
}

// WithoutOperationSpans records no span for a call as a whole. The spans of its attempts
// are then below the span of the caller. Metrics are recorded as without it.
func WithoutOperationSpans() Option {
	return func(c *config) error {
		c.operationSpans = false
		return nil
	}
}
