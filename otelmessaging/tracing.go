package otelmessaging

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/messaging-go/messaging"
)

// tracing records the spans of calls and attempts.
type tracing struct {
	tracer         trace.Tracer
	propagator     propagation.TextMapPropagator // nil for none
	operationSpans bool

	// The addresses of these fields are the context keys of the spans, so that two hooks
	// of one client use different keys.
	callKey, attemptKey byte
}

func (t *tracing) startCall(ctx context.Context, call messaging.CallInfo) context.Context {
	if !t.operationSpans {
		return ctx
	}
	ctx, span := t.tracer.Start(ctx, call.Operation, trace.WithSpanKind(trace.SpanKindInternal),
		trace.WithAttributes(operationKey.String(call.Operation)))
	return context.WithValue(ctx, &t.callKey, span)
}

func (t *tracing) endCall(ctx context.Context, result messaging.CallResult) {
	span, ok := ctx.Value(&t.callKey).(trace.Span)
	if !ok {
		return
	}
	if span.IsRecording() {
		span.SetAttributes(deliveryKey.String(inWord(result.Delivery)), attemptsKey.Int(result.Attempts))
		fail(span, result.ErrorType)
	}
	span.End()
}

func (t *tracing) startAttempt(ctx context.Context, info messaging.AttemptInfo) context.Context {
	call := info.Call
	attributes := append(make([]attribute.KeyValue, 0, 6), attemptAttributes(call)...)
	attributes = append(attributes, fullURL(call))
	if call.Path != "" {
		attributes = append(attributes, templateKey.String(call.Path))
	}
	if info.Attempt > 1 {
		attributes = append(attributes, resendCountKey.Int(info.Attempt-1))
	}
	ctx, span := t.tracer.Start(ctx, attemptName(call), trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attributes...))
	if t.propagator != nil {
		t.propagator.Inject(ctx, headerCarrier(info.SetHeader))
	}
	return context.WithValue(ctx, &t.attemptKey, span)
}

func (t *tracing) endAttempt(ctx context.Context, result messaging.AttemptResult) {
	span, ok := ctx.Value(&t.attemptKey).(trace.Span)
	if !ok {
		return
	}
	if span.IsRecording() {
		if result.StatusCode != 0 {
			span.SetAttributes(statusCodeKey.Int(result.StatusCode))
		}
		fail(span, result.ErrorType)
	}
	span.End()
}

// fail marks a span as failed. The status has no description, because error texts quote
// the service.
func fail(span trace.Span, errorType string) {
	if errorType != "" {
		span.SetAttributes(errorTypeKey.String(errorType))
		span.SetStatus(codes.Error, "")
	}
}

// headerCarrier sets the headers of an attempt.
type headerCarrier func(key, value string)

func (c headerCarrier) Set(key, value string) { c(key, value) }
func (headerCarrier) Get(string) string       { return "" }
func (headerCarrier) Keys() []string          { return nil }
