package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/messagingtest"
)

func TestFirstTriggersTheEvent(t *testing.T) {
	service := messagingtest.NewServer(t)
	t.Setenv("MESSAGING_BASE_URL", service.URL())
	t.Setenv("MESSAGING_API_KEY", service.APIKey())

	main()
	main()

	require.Len(t, service.Events(), 1, "the second run finds the event of the first")
	require.Len(t, service.Triggers(), 2)
	assert.Equal(t, "A-1001", service.Triggers()[0].Values["order"])
	assert.Empty(t, service.Triggers()[0].Skipped)
}
