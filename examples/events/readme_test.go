package main

import (
	"context"
	"encoding/json"
	"log"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/examples/events/internal/events"
	"github.com/messaging-go/messaging/messagingtest"
)

func withMap(ctx context.Context, client *messaging.Client, shipped time.Time) error {
	_, err := client.Events.Trigger(ctx, messaging.EventTriggerParams{
		EventID: os.Getenv("ORDER_SHIPPED_ID"),
		Email:   "ann@example.com",
		Values: map[string]any{
			"order_id":   "A-1001",
			"parcels":    2,
			"shipped_at": shipped,
			"carrier":    "DHL",
			"weight":     json.Number("12.30"),
		},
	})
	return err
}

func withGeneratedCode(ctx context.Context, client *messaging.Client, shipped time.Time) error {
	ev, err := events.Bind(ctx, client)
	if err != nil {
		log.Fatal(err)
	}
	return trigger(ctx, ev, shipped)
}

func trigger(ctx context.Context, ev *events.Events, shipped time.Time) error {
	_, err := ev.OrderShipped(ctx, events.To("ann@example.com"),
		events.OrderShipped{
			OrderID:   "A-1001",
			Parcels:   events.Int(2),
			ShippedAt: shipped,
			Carrier:   new("DHL"),
			Weight:    events.Decimal("12.30"),
		})
	return err
}

func TestGeneratedCodeSendsWhatAMapDoes(t *testing.T) {
	service := messagingtest.NewServer(t)
	service.AddEvents(events.Definitions()...)
	t.Setenv("ORDER_SHIPPED_ID", service.Events()[0].ID)
	require.NoError(t, withMap(t.Context(), service.Client(), time.Now()))
	require.NoError(t, withGeneratedCode(t.Context(), service.Client(), time.Now()))
	triggers := service.Triggers()
	require.Len(t, triggers, 2)
	triggers[0].Params.Values["shipped_at"], triggers[1].Params.Values["shipped_at"] = "now", "now"
	assert.Equal(t, triggers[0].Params.Values, triggers[1].Params.Values)
	assert.Equal(t, triggers[0].Params.EventID, triggers[1].Params.EventID)
}

func TestReadmeCodeIsHere(t *testing.T) {
	readme, err := os.ReadFile("../../cmd/messaging-gen/README.md")
	require.NoError(t, err)
	source, err := os.ReadFile("readme_test.go")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	require.Len(t, blocks, 3)
	for _, block := range blocks {
		assert.Contains(t, withoutIndentation(string(source)), withoutIndentation(block[1]))
	}
}

func withoutIndentation(source string) string {
	var lines strings.Builder
	for line := range strings.Lines(source) {
		lines.WriteString(strings.TrimSpace(line) + "\n")
	}
	return lines.String()
}
