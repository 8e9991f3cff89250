package otelmessaging

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/semconv/v1.43.0/httpconv"

	"github.com/messaging-go/messaging"
)

// metrics records how long calls, attempts and waits take.
type metrics struct {
	request   httpconv.ClientRequestDuration
	operation metric.Float64Histogram
	wait      metric.Float64Histogram
}

// durationBuckets are the buckets that the semantic conventions recommend for HTTP
// requests, and two longer ones, because a call can wait between its attempts.
var durationBuckets = metric.WithExplicitBucketBoundaries(0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60)

func newMetrics(meter metric.Meter) (*metrics, error) {
	var m metrics
	var err error
	if m.request, err = httpconv.NewClientRequestDuration(meter); err != nil {
		return nil, err
	}
	m.operation, err = meter.Float64Histogram("messaging_go.client.operation.duration", metric.WithUnit("s"), durationBuckets,
		metric.WithDescription("Duration of calls, including all attempts and the waits between them."))
	if err != nil {
		return nil, err
	}
	m.wait, err = meter.Float64Histogram("messaging_go.client.retry.wait", metric.WithUnit("s"), durationBuckets,
		metric.WithDescription("Wait before a retry."))
	if err != nil {
		return nil, err
	}
	return &m, nil
}

func (m *metrics) recordCall(ctx context.Context, call messaging.CallInfo, result messaging.CallResult) {
	if !m.operation.Enabled(ctx) {
		return
	}
	attributes := append(make([]attribute.KeyValue, 0, 3), operationKey.String(call.Operation), deliveryKey.String(inWord(result.Delivery)))
	if result.ErrorType != "" {
		attributes = append(attributes, errorTypeKey.String(result.ErrorType))
	}
	m.operation.Record(ctx, result.Duration.Seconds(), metric.WithAttributeSet(attribute.NewSet(attributes...)))
}

func (m *metrics) recordAttempt(ctx context.Context, call messaging.CallInfo, result messaging.AttemptResult) {
	if m.request.Enabled(ctx) {
		attributes := append(make([]attribute.KeyValue, 0, 5), attemptAttributes(call)...)
		if result.StatusCode != 0 {
			attributes = append(attributes, statusCodeKey.Int(result.StatusCode))
		}
		if result.ErrorType != "" {
			attributes = append(attributes, errorTypeKey.String(result.ErrorType))
		}
		m.request.RecordSet(ctx, result.Duration.Seconds(), attribute.NewSet(attributes...))
	}
	if result.Wait > 0 {
		m.wait.Record(ctx, result.Wait.Seconds(), metric.WithAttributes(operationKey.String(call.Operation)))
	}
}
