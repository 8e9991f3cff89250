package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

func TestQuickstartRunsInMemoryByDefault(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(t.Context(), &out, noSettings, false, ""))

	for _, line := range []string{
		"Event successfully triggered",
		"Email Broadcast sent successfully",
		"Push notification broadcast sent successfully",
		"page 3: 10 customer(s)",
		"whatsapp  12    11",
		"field:    event_id",
		"delivery: rejected",
		"delivery: unknown",
		"The service received 2 push broadcasts",
	} {
		assert.Contains(t, out.String(), line)
	}
}

func TestQuickstartOnlyReadsFromARealService(t *testing.T) {
	service := messagingtest.NewServer(t)
	service.AddCustomers(messaging.Customer{Email: "ada@example.com"})
	var out strings.Builder

	require.NoError(t, run(t.Context(), &out, settings(service), false, ""))

	assert.Contains(t, out.String(), "page 1: 1 customer(s)")
	for _, request := range service.Requests() {
		assert.Equal(t, "GET", request.Method)
	}
}

func TestQuickstartSendsOnlyToTheGivenAddress(t *testing.T) {
	service := messagingtest.NewServer(t)
	var out strings.Builder

	require.Error(t, run(t.Context(), &out, settings(service), true, ""))
	assert.Empty(t, service.Requests())

	require.NoError(t, run(t.Context(), &out, settings(service), true, "me@example.com"))
	require.Len(t, service.EmailBroadcasts(), 1)
	require.Len(t, service.Customers(), 1)
	assert.Equal(t, "me@example.com", service.Customers()[0].Email)
}

func TestQuickstartRefusesIncompleteSettings(t *testing.T) {
	incomplete := func(name string) string {
		return map[string]string{"MESSAGING_BASE_URL": "https://api.example.com"}[name]
	}
	require.ErrorIs(t, run(t.Context(), &strings.Builder{}, incomplete, false, ""), messaging.ErrValidation)
}

func noSettings(string) string { return "" }

func settings(service *messagingtest.Server) func(string) string {
	return func(name string) string {
		return map[string]string{"MESSAGING_BASE_URL": service.URL(), "MESSAGING_API_KEY": service.APIKey()}[name]
	}
}
