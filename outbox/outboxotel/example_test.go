package outboxotel_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/outboxotel"
	"github.com/messaging-go/messaging/outbox/sqlitefile"
)

func ExampleObserve() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "shop-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := sqlitefile.Open(ctx, filepath.Join(dir, "outbox.db"))
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	service, err := messagingtest.Start() // stands for the service
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	o, err := outbox.New(store, service.Client())
	if err != nil {
		log.Fatal(err)
	}
	reader := metric.NewManualReader() // a program has the reader of its exporter
	meter := metric.NewMeterProvider(metric.WithReader(reader)).Meter("shop")
	registration, err := outboxotel.Observe(o, meter)
	if err != nil {
		log.Fatal(err)
	}
	defer registration.Unregister()

	p, err := messaging.EventTriggerParams{EventID: "1", Email: "ada@example.com"}.Prepare()
	if err != nil {
		log.Fatal(err)
	}
	if _, err := o.Enqueue(ctx, outbox.Item{Key: "order-4711-shipped", Prepared: p}); err != nil {
		log.Fatal(err)
	}
	var collected metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &collected); err != nil {
		log.Fatal(err)
	}
	for _, m := range collected.ScopeMetrics[0].Metrics {
		gauge, ok := m.Data.(metricdata.Gauge[int64])
		for _, point := range gauge.DataPoints {
			if ok && point.Value > 0 {
				fmt.Println(m.Name, point.Attributes.Encoded(attribute.DefaultEncoder()), point.Value)
			}
		}
	}
	// Output: messaging_go.outbox.entries messaging_go.outbox.state=pending 1
}
