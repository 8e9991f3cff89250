package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

func TestFirstTriggersTheEvent(t *testing.T) {
	service := messagingtest.NewServer(t)
	service.AddEvents(messaging.Event{ID: "event-1", Name: "order shipped", Parameters: []messaging.EventParameter{
		{Name: "order", Type: messaging.ParameterText, Required: true},
		{Name: "shipped_at", Type: messaging.ParameterTimestamp, Required: true},
	}})
	t.Setenv("MESSAGING_BASE_URL", service.URL())
	t.Setenv("MESSAGING_API_KEY", service.APIKey())
	t.Setenv("MESSAGING_EVENT_ID", "event-1")

	main()

	require.Len(t, service.Triggers(), 1)
	assert.Equal(t, "A-1001", service.Triggers()[0].Params.Values["order"])
	assert.Empty(t, service.Triggers()[0].Skipped)
}
