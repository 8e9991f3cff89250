// Package outboxotel exports the counts of an outbox as OpenTelemetry metrics. It is a
// separate module, so that the outbox does not depend on OpenTelemetry.
//
//	registration, err := outboxotel.Observe(o, otel.Meter("shop"))
//	…
//	defer registration.Unregister()
package outboxotel

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/messaging-go/messaging/outbox"
)

// The attributes.
const (
	stateKey     = attribute.Key("messaging_go.outbox.state")
	operationKey = attribute.Key("messaging_go.operation")
)

// gauges are the instruments.
type gauges struct {
	entries, open, paused metric.Int64ObservableGauge
	oldest                metric.Float64ObservableGauge
}

// Observe registers gauges that call Counts of the outbox at each collection:
//
//	messaging_go.outbox.entries         entries, by messaging_go.outbox.state
//	messaging_go.outbox.oldest_pending  seconds since the oldest pending entry became due
//	messaging_go.outbox.breaker.open     1 for each messaging_go.operation whose breaker is open in this process
//	messaging_go.outbox.paused          1 for each messaging_go.operation that is paused
//
// The entries and pauses are those of the database, so one process is enough to export
// them. The reasons of open breakers are not exported, since they are not a closed set.
func Observe[Tx any](o *outbox.Outbox[Tx], meter metric.Meter) (metric.Registration, error) {
	if o == nil || meter == nil {
		return nil, errors.New("outboxotel: observe: o and meter must not be nil")
	}
	var g gauges
	var problems [4]error
	g.entries, problems[0] = meter.Int64ObservableGauge("messaging_go.outbox.entries",
		metric.WithDescription("Entries of the outbox by state."), metric.WithUnit("{entry}"))
	g.oldest, problems[1] = meter.Float64ObservableGauge("messaging_go.outbox.oldest_pending",
		metric.WithDescription("Time since the oldest pending entry became due."), metric.WithUnit("s"))
	g.open, problems[2] = meter.Int64ObservableGauge("messaging_go.outbox.breaker.open",
		metric.WithDescription("Operations whose breaker is open."), metric.WithUnit("{breaker}"))
	g.paused, problems[3] = meter.Int64ObservableGauge("messaging_go.outbox.paused",
		metric.WithDescription("Operations that are paused."), metric.WithUnit("{operation}"))
	if err := errors.Join(problems[:]...); err != nil {
		return nil, fmt.Errorf("outboxotel: observe: %w", err)
	}
	registration, err := meter.RegisterCallback(func(ctx context.Context, to metric.Observer) error {
		counts, err := o.Counts(ctx)
		if err == nil {
			g.observe(to, counts)
		}
		return err
	}, g.entries, g.oldest, g.open, g.paused)
	if err != nil {
		return nil, fmt.Errorf("outboxotel: observe: %w", err)
	}
	return registration, nil
}

func (g *gauges) observe(to metric.Observer, c outbox.Counts) {
	for state, n := range map[outbox.State]int{outbox.Pending: c.Pending, outbox.Sending: c.Sending, outbox.Accepted: c.Accepted,
		outbox.Rejected: c.Rejected, outbox.Unclear: c.Unclear, outbox.Dismissed: c.Dismissed} {
		to.ObserveInt64(g.entries, int64(n), metric.WithAttributes(stateKey.String(string(state))))
	}
	to.ObserveFloat64(g.oldest, c.OldestPending.Seconds())
	for operation := range c.Breakers {
		to.ObserveInt64(g.open, 1, metric.WithAttributes(operationKey.String(operation)))
	}
	for _, operation := range c.Paused {
		to.ObserveInt64(g.paused, 1, metric.WithAttributes(operationKey.String(operation)))
	}
}
