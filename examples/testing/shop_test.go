package main

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

var order = Order{Number: "A-1001", Email: "ada@example.com", Shipped: time.Date(2030, time.May, 1, 9, 0, 0, 0, time.UTC)}

func newShop(t *testing.T) (*Shop, *messagingtest.Server) {
	service := messagingtest.NewServer(t)
	shop, err := open(t.Context(), service.Client())
	require.NoError(t, err)
	return shop, service
}

func TestShopSendsEveryParameter(t *testing.T) {
	shop, service := newShop(t)

	require.NoError(t, shop.Tell(t.Context(), order))

	require.Len(t, service.Triggers(), 1)
	trigger := service.Triggers()[0]
	assert.Equal(t, "ada@example.com", trigger.Params.Email)
	assert.Equal(t, "2030-05-01T09:00:00Z", trigger.Params.Values["shipped_at"])
	assert.Empty(t, trigger.Skipped, "the service skips malformed timestamps without an error")
}

func TestShopDoesNotRetryALostResponse(t *testing.T) {
	shop, service := newShop(t)
	service.Fail("trigger event", 1, messagingtest.AnswerLost())

	require.Error(t, shop.Tell(t.Context(), order))

	assert.Equal(t, []Order{order}, shop.Unclear)
	assert.Len(t, service.Triggers(), 1, "the event was triggered once, although the shop cannot know")
}

func TestShopSortsFailedOrdersByTheirError(t *testing.T) {
	tests := []struct {
		name  string
		fault messagingtest.Fault
		order Order
		want  func(*Shop) []Order
	}{
		{"rate limited", messagingtest.Status(429), order, func(s *Shop) []Order { return s.Later }},
		{"service not reached", messagingtest.NotReached(), order, func(s *Shop) []Order { return s.Later }},
		{"server error", messagingtest.Status(503), order, func(s *Shop) []Order { return s.Unclear }},
		{"invalid for the service", messagingtest.Status(422), order, func(s *Shop) []Order { return s.Invalid }},
		{"invalid email address, not sent", messagingtest.Fault{}, Order{Number: "A-1002", Email: "ada", Shipped: order.Shipped},
			func(s *Shop) []Order { return s.Invalid }},
		{"wrong API key", messagingtest.Status(401), order, func(s *Shop) []Order { return s.Blocked }},
		{"wrong base URL", messagingtest.Status(404, "<html>Not Found</html>"), order, func(s *Shop) []Order { return s.Blocked }},
		{"event unknown to the service", messagingtest.Status(404), order, func(s *Shop) []Order { return s.Invalid }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			shop, service := newShop(t)
			service.Fail("", 10, test.fault)

			require.Error(t, shop.Tell(t.Context(), test.order))

			assert.Equal(t, []Order{test.order}, test.want(shop))
			assert.Len(t, slices.Concat(shop.Later, shop.Unclear, shop.Invalid, shop.Blocked), 1)
			assert.Empty(t, service.Triggers())
		})
	}
}

func TestShopSetsAsideAnOrderThatAGuardRefuses(t *testing.T) {
	service := messagingtest.NewServer(t)
	shop, err := open(t.Context(), service.Client())
	require.NoError(t, err)
	shop.Client = service.Client(messaging.WithAllowOnly("@acme.test"))

	require.Error(t, shop.Tell(t.Context(), order))

	assert.Equal(t, []Order{order}, shop.Invalid)
	assert.Empty(t, shop.Blocked, "the API key is not to blame, and other orders can go on")
}

func TestProgramRuns(t *testing.T) { require.NoError(t, run(t.Context())) }
