package otelmessaging

import (
	"errors"
	"fmt"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Option configures [New].
type Option func(*config) error

// config is what options configure.
type config struct {
	tracers        trace.TracerProvider
	meters         metric.MeterProvider
	propagator     propagation.TextMapPropagator // nil if nothing is propagated
	operationSpans bool
}

// newConfig applies options. Its error reports each one that is invalid.
func newConfig(opts []Option) (config, error) {
	c := config{tracers: otel.GetTracerProvider(), meters: otel.GetMeterProvider(), operationSpans: true}
	var problems []string
	for i, opt := range opts {
		if opt == nil {
			problems = append(problems, fmt.Sprintf("option %d is nil", i+1))
		} else if err := opt(&c); err != nil {
			problems = append(problems, err.Error())
		}
	}
	if problems != nil {
		return c, errors.New(strings.Join(problems, "; "))
	}
	return c, nil
}

// WithTracerProvider records spans with provider instead of the global one.
func WithTracerProvider(provider trace.TracerProvider) Option {
	return func(c *config) error {
		if provider == nil {
			return errors.New("WithTracerProvider: provider must not be nil")
		}
		c.tracers = provider
		return nil
	}
}

// WithMeterProvider records metrics with provider instead of the global one.
func WithMeterProvider(provider metric.MeterProvider) Option {
	return func(c *config) error {
		if provider == nil {
			return errors.New("WithMeterProvider: provider must not be nil")
		}
		c.meters = provider
		return nil
	}
}

// WithPropagator sends the trace context of each attempt to the service, in the headers
// that propagator sets. Use [propagation.TraceContext]. By default, nothing is sent,
// because the global propagator usually includes baggage, which holds data of your
// application.
func WithPropagator(propagator propagation.TextMapPropagator) Option {
	return func(c *config) error {
		if propagator == nil {
			return errors.New("WithPropagator: propagator must not be nil")
		}
		c.propagator = propagator
		return nil
	}
}

// WithoutOperationSpans omits the span of each call. The spans of its attempts then
// become children of the caller's span. The metrics do not change.
func WithoutOperationSpans() Option {
	return func(c *config) error {
		c.operationSpans = false
		return nil
	}
}
