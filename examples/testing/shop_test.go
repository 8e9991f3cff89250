package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/messagingtest"
)

var order = Order{Number: "A-1001", Email: "ada@example.com", Shipped: time.Date(2030, time.May, 1, 9, 0, 0, 0, time.UTC)}

func newShop(t *testing.T) (*Shop, *messagingtest.Server) {
	service := messagingtest.NewServer(t)
	shop, err := open(t.Context(), service.Client())
	require.NoError(t, err)
	return shop, service
}

func TestACustomerIsToldWithEveryParameter(t *testing.T) {
	shop, service := newShop(t)

	require.NoError(t, shop.Tell(t.Context(), order))

	require.Len(t, service.Triggers(), 1)
	told := service.Triggers()[0]
	assert.Equal(t, "ada@example.com", told.Email)
	assert.Equal(t, "2030-05-01T09:00:00Z", told.Values["shipped_at"])
	assert.Empty(t, told.Skipped, "the service skips what it can't read, in silence")
}

func TestAnOrderWhoseAnswerIsLostIsPutAsideAndNotToldTwice(t *testing.T) {
	shop, service := newShop(t)
	service.FailNext(1, messagingtest.AnswerLost())

	require.Error(t, shop.Tell(t.Context(), order))

	assert.Equal(t, []Order{order}, shop.Unclear)
	assert.Len(t, service.Triggers(), 1, "the customer was told once, although the shop can't know")
}

func TestAnOrderThatTheServiceRefusesIsNotTriedAgain(t *testing.T) {
	shop, service := newShop(t)
	service.FailNext(1, messagingtest.Status(422))

	require.Error(t, shop.Tell(t.Context(), order))

	assert.Equal(t, []Order{order}, shop.Refused)
	assert.Empty(t, service.Triggers())
}

func TestAnOrderThatComesTooFastIsKeptForLater(t *testing.T) {
	shop, service := newShop(t)
	service.FailNext(1, messagingtest.Status(429))

	require.Error(t, shop.Tell(t.Context(), order))

	assert.Equal(t, []Order{order}, shop.Later)
	assert.Empty(t, service.Triggers())
}

func TestTheProgramRuns(t *testing.T) { require.NoError(t, run(t.Context())) }
