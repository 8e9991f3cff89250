package outboxotel_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/outboxotel"
	"github.com/messaging-go/messaging/outbox/sqlitefile"
)

func TestObserveExportsWhatCountsReturns(t *testing.T) {
	service := messagingtest.NewServer(t)
	store, err := sqlitefile.Open(t.Context(), filepath.Join(t.TempDir(), "outbox.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	o, err := outbox.New(store, service.Client())
	require.NoError(t, err)
	reader := sdk.NewManualReader()
	meter := sdk.NewMeterProvider(sdk.WithReader(reader)).Meter("test")
	registration, err := outboxotel.Observe(o, meter)
	require.NoError(t, err)

	p, err := messaging.EventTriggerParams{EventID: "no such event", Email: "ada@example.com", Values: map[string]any{}}.Prepare()
	require.NoError(t, err)
	_, err = o.Enqueue(t.Context(), outbox.Item{Key: "order", Prepared: p})
	require.NoError(t, err)
	service.Fail("", 1, messagingtest.RateLimited(time.Hour))
	_, err = o.Deliver(t.Context(), "order")
	require.NoError(t, err)
	require.NoError(t, o.Pause(t.Context(), messaging.OpTriggerEvent, messaging.OpCreateEvent))

	got := collect(t, reader)
	for state, n := range map[string]float64{"pending": 1, "sending": 0, "accepted": 0, "rejected": 0, "unclear": 0, "dismissed": 0} {
		assert.Equal(t, n, got["messaging_go.outbox.entries messaging_go.outbox.state="+state], state)
	}
	assert.Contains(t, got, "messaging_go.outbox.oldest_pending ")
	assert.InDelta(t, 1, got["messaging_go.outbox.breaker.open messaging_go.operation=trigger event"], 0)
	assert.InDelta(t, 1, got["messaging_go.outbox.paused messaging_go.operation=trigger event"], 0)
	assert.InDelta(t, 1, got["messaging_go.outbox.paused messaging_go.operation=create event"], 0)
	assert.Len(t, got, 10, "and nothing else")

	require.NoError(t, registration.Unregister())
	assert.Empty(t, collect(t, reader))
	_, err = outboxotel.Observe[outbox.SQLTx](nil, meter)
	require.Error(t, err)
	_, err = outboxotel.Observe(o, metric.Meter(nil))
	require.Error(t, err)
}

// collect returns the values by name and attributes.
func collect(t *testing.T, reader sdk.Reader) map[string]float64 {
	var all metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &all))
	values := make(map[string]float64)
	add := func(name string, attributes attribute.Set, value float64) {
		values[name+" "+attributes.Encoded(attribute.DefaultEncoder())] = value
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Gauge[int64]:
				for _, p := range data.DataPoints {
					add(m.Name, p.Attributes, float64(p.Value))
				}
			case metricdata.Gauge[float64]:
				for _, p := range data.DataPoints {
					add(m.Name, p.Attributes, p.Value)
				}
			default:
				t.Errorf("%s is a %T", m.Name, data)
			}
		}
	}
	return values
}
