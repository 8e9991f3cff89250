package main

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/sqlite"
)

func TestShipTriggersTheEventOnce(t *testing.T) {
	ctx := t.Context()
	service := messagingtest.NewServer(t)
	event, err := service.Client().Events.Create(ctx, messaging.EventCreateParams{
		Name:        "order shipped",
		Description: "An order has shipped",
		Parameters: []messaging.EventParameter{
			{Name: "order", Type: messaging.ParameterText},
			{Name: "shipped_at", Type: messaging.ParameterTimestamp},
		},
	})
	require.NoError(t, err)
	t.Setenv("MESSAGING_EVENT_ID", event.ID)
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "shop.db"))
	require.NoError(t, err)
	defer db.Close()
	store, err := sqlite.New(ctx, db)
	require.NoError(t, err)
	o, err := outbox.New(store, service.Client())
	require.NoError(t, err)
	require.NoError(t, ship(ctx, db, o, "4711", "ada@example.com", time.Now()))

	service.Fail("", 1, messagingtest.AnswerLost()) // carries out the next request, and drops the response
	delivered, err := o.DeliverDue(ctx, 100)        // sends what is due, and returns

	require.NoError(t, err)
	assert.Equal(t, 1, delivered.Unclear)
	assert.Len(t, service.Triggers(), 1, "the event was triggered")
}
