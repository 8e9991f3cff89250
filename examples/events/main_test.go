package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/examples/events/internal/events"
	"github.com/messaging-go/messaging/messagingtest"
)

var order = Order{ID: "A-1001", Email: "ada@example.com", Parcels: 2, Carrier: "DHL", Weight: "12.30",
	Shipped: time.Date(2030, time.May, 1, 9, 0, 0, 0, time.UTC)}

func newShop(t *testing.T) (*Shop, *messagingtest.Server) {
	service := messagingtest.NewServer(t)
	service.AddEvents(events.Definitions()...)
	bound, err := events.Bind(t.Context(), service.Client())
	require.NoError(t, err)
	return &Shop{bound}, service
}

func TestShopSendsEveryParameter(t *testing.T) {
	shop, service := newShop(t)

	require.NoError(t, shop.Ship(t.Context(), order))

	require.Len(t, service.Triggers(), 1)
	trigger := service.Triggers()[0]
	assert.Equal(t, "ada@example.com", trigger.Params.Email)
	assert.Equal(t, map[string]any{"order_id": "A-1001", "parcels": 2., "shipped_at": "2030-05-01T09:00:00Z", "carrier": "DHL",
		"weight": 12.30}, trigger.Params.Values)
	assert.Empty(t, trigger.Skipped)
}

func TestShopNoticesAForgottenField(t *testing.T) {
	shop, service := newShop(t)

	err := shop.Ship(t.Context(), Order{ID: "A-1002", Email: "ada@example.com", Weight: "1"})

	assert.ErrorIs(t, err, messaging.ErrValidation)
	assert.ErrorContains(t, err, "payload.shipped_at is required by the event")
	assert.Empty(t, service.Triggers())
}

func TestShopPreparesAnEventForAnOutbox(t *testing.T) {
	shop, service := newShop(t)

	prepared, err := shop.PrepareShip(order)
	require.NoError(t, err)
	assert.Empty(t, service.Triggers())
	_, err = service.Client().Send(t.Context(), prepared)

	require.NoError(t, err)
	assert.Equal(t, "A-1001", service.Triggers()[0].Params.Values["order_id"])
}

func TestProgramDoesNotStartWithOtherDefinitions(t *testing.T) {
	definitions := events.Definitions()
	definitions[0].Parameters[3].Type = messaging.ParameterText
	definitions[0].Parameters[4].Name = "sent_at"
	service := messagingtest.NewServer(t)
	service.AddEvents(definitions[:2]...)

	err := runWith(t, service, "ada@example.com")

	assert.EqualError(t, err, `bind events: the account differs from the generated code: `+
		`event "Order shipped": parameter "parcels" is now "text", was "numeric"; event "Order shipped": parameter "shipped_at" is gone; `+
		`event "Order shipped": required parameter "sent_at" is new; event "Trial ended" does not exist`)
	assert.Empty(t, service.Triggers())
}

func TestDefinitionsCanBeCreatedInAnAccount(t *testing.T) {
	service := messagingtest.NewServer(t)
	for _, event := range events.Definitions() {
		_, err := service.Client().Events.Create(t.Context(), messaging.EventCreateParams{
			Name: event.Name, Description: event.Description, Parameters: event.Parameters})
		require.NoError(t, err)
	}
	_, err := events.Bind(t.Context(), service.Client())
	assert.NoError(t, err)
}

func TestProgramTriggersOnlyForAGivenAddress(t *testing.T) {
	service := messagingtest.NewServer(t)
	service.AddEvents(events.Definitions()...)
	require.NoError(t, runWith(t, service, ""))
	assert.Empty(t, service.Triggers())
	require.NoError(t, runWith(t, service, "you@example.com"))
	assert.Equal(t, "you@example.com", service.Triggers()[0].Params.Email)
}

// runWith runs the program with a service.
func runWith(t *testing.T, service *messagingtest.Server, email string) error {
	variables := map[string]string{"MESSAGING_BASE_URL": service.URL(), "MESSAGING_API_KEY": service.APIKey()}
	return run(t.Context(), new(bytes.Buffer), func(name string) string { return variables[name] }, email)
}

func TestProgramRunsWithoutAnAccount(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, func(string) string { return "" }, ""))
	assert.Equal(t, "notified ada@example.com about order A-1001\n", out.String())
	assert.Error(t, run(t.Context(), &out, func(string) string { return "x" }, ""), "the base URL is invalid")
}
