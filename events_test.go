package messaging_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jarcoal/httpmock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
	"github.com/messaging-go/messaging/messagingtest"
)

func TestEventsReadTheDefinitionThatTheServiceCreates(t *testing.T) {
	client, mock := newMockedClient()
	mock.RegisterResponder("POST", "=~/v1/events$", httpmock.NewStringResponder(200, `{"success":true,"data":{
		"id":"e-1","name":"order paid","description":"An order was paid","created_at":"2030-05-01T09:30:00.123456Z",
		"parameters":[{"name":"order","type":"Text","required":true}],"color":"red"}}`))

	event, err := client.Events.Create(t.Context(), messaging.EventCreateParams{
		Name: "order paid", Description: "An order was paid", Parameters: []messaging.EventParameter{{Name: "order", Type: "Text",
			Required: true}}})

	require.NoError(t, err)
	assert.Equal(t, &messaging.Event{
		ID: "e-1", Name: "order paid", Description: "An order was paid",
		Parameters: []messaging.EventParameter{{Name: "order", Type: messaging.ParameterText, Required: true}},
		CreatedAt:  time.Date(2030, time.May, 1, 9, 30, 0, 123_456_000, time.UTC),
		Extra:      messaging.Extra{"color": []byte(`"red"`)},
	}, event)
}

func TestEventsListReadsAPage(t *testing.T) {
	client, mock := newMockedClient()
	mock.RegisterResponderWithQuery("GET", "https://api.example.com/v1/events", "per_page=2&cursor=abc",
		httpmock.NewStringResponder(200, `{"success":true,"data":[{"id":"e-1"},{"id":"e-2"}],
			"meta":{"has_next_page":true,"next_page_cursor":"def","per_page":2}}`))

	page, err := client.Events.List(t.Context(), messaging.EventListParams{PerPage: 2, Cursor: "abc"})

	require.NoError(t, err)
	assert.Equal(t, []messaging.Event{{ID: "e-1"}, {ID: "e-2"}}, page.Items)
	assert.Equal(t, messaging.PageMeta{HasNextPage: true, NextPageCursor: "def", PerPage: 2}, page.Meta)
}

func TestEventsAreLookedUpByName(t *testing.T) {
	service := messagingtest.NewServer(t)
	service.AddEvents(messaging.Event{Name: "twice"})
	for range 45 {
		service.AddEvents(messaging.Event{Name: "another"})
	}
	service.AddEvents(messaging.Event{Name: "twice"}) // three pages later
	service.AddEvents(messaging.Event{ID: "e-1", Name: "order shipped"}, messaging.Event{ID: "e-2", Name: "Order shipped"},
		messaging.Event{ID: "e-3", Name: "order shipped again"})
	client := service.Client()

	event, err := client.Events.GetByName(t.Context(), "order shipped")
	require.NoError(t, err)
	assert.Equal(t, "e-1", event.ID)

	_, err = client.Events.GetByName(t.Context(), "order")
	require.ErrorIs(t, err, messaging.ErrEventNotFound)
	require.ErrorIs(t, err, messaging.ErrNotFound)
	assert.EqualError(t, err, "get event: no such event")
	assert.Equal(t, messaging.DeliveryAccepted, messaging.DeliveryOf(err))
	assert.False(t, messaging.Retryable(err))

	_, err = client.Events.GetByName(t.Context(), "twice")
	require.ErrorIs(t, err, messaging.ErrEventAmbiguous)

	requests := len(service.Requests())
	_, err = client.Events.GetByName(t.Context(), "", messaging.WithoutValidation())
	scripted.RequireProblems(t, err, "name is required")
	assert.Len(t, service.Requests(), requests)

	service.FailNext(1, messagingtest.Status(404))
	_, err = client.Events.GetByName(t.Context(), "order shipped")
	require.ErrorIs(t, err, messaging.ErrNotFound)
	require.NotErrorIs(t, err, messaging.ErrEventNotFound, "a 404 says nothing about the event")
	var pageErr *messaging.PageError
	assert.NotErrorAs(t, err, &pageErr)
}

// pingEvent is the definition of an event without parameters.
var pingEvent = messaging.EventCreateParams{Name: "ping", Description: "Nothing to add", Parameters: []messaging.EventParameter{}}

var shipped = messaging.EventCreateParams{Name: "order shipped", Description: "An order has left", Parameters: []messaging.EventParameter{
	{Name: "order", Type: messaging.ParameterText, Required: true},
	{Name: "weight", Type: "Numeric"},
}}

func TestEnsureCreatesAnEventOnce(t *testing.T) {
	service := messagingtest.NewServer(t)
	client := service.Client()
	created, err := client.Events.Ensure(t.Context(), shipped)
	require.NoError(t, err)
	found, err := client.Events.Ensure(t.Context(), shipped)
	require.NoError(t, err)
	assert.Equal(t, created.ID, found.ID)
	all, err := messaging.Collect(client.Events.All(t.Context(), messaging.EventListParams{}))
	require.NoError(t, err)
	assert.Len(t, all, 1)
}

func TestEnsureComparesWhatATriggerDependsOn(t *testing.T) {
	order, weight := shipped.Parameters[0], shipped.Parameters[1]
	optional := func(p messaging.EventParameter) messaging.EventParameter { p.Required = false; return p }
	required := func(p messaging.EventParameter) messaging.EventParameter { p.Required = true; return p }
	tests := []struct {
		name  string
		there []messaging.EventParameter
		text  string
	}{
		{"the same", []messaging.EventParameter{order, weight}, ""},
		{"another order", []messaging.EventParameter{weight, order}, ""},
		{"one that is required here alone", []messaging.EventParameter{optional(order), weight}, ""},
		{"a further optional one", []messaging.EventParameter{order, weight, {Name: "carrier", Type: "text"}}, ""},
		{"a missing one", []messaging.EventParameter{order}, "parameter weight is missing"},
		{"another type", []messaging.EventParameter{order, {Name: "weight", Type: "text"}}, "parameter weight is text, not numeric"},
		{"one that is required there alone", []messaging.EventParameter{order, required(weight)}, "parameter weight is required"},
		{"a further required one", []messaging.EventParameter{order, weight, {Name: "carrier", Type: "text", Required: true}},
			"parameter carrier is required"},
		{"none", nil, "parameter order is missing, parameter weight is missing"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			service := messagingtest.NewServer(t)
			service.AddEvents(messaging.Event{ID: "e-1", Name: shipped.Name, Description: "Another", Parameters: test.there})
			event, err := service.Client().Events.Ensure(t.Context(), shipped)
			if test.text == "" {
				require.NoError(t, err)
				assert.Equal(t, "e-1", event.ID)
				return
			}
			require.ErrorIs(t, err, messaging.ErrEventDiffers)
			assert.Nil(t, event)
			assert.EqualError(t, err, "ensure event: the event is defined differently: "+test.text+"; nothing was created")
			assert.Equal(t, messaging.DeliveryNotSent, messaging.DeliveryOf(err))
			assert.False(t, messaging.Retryable(err))
		})
	}
}

func TestEnsureCreatesNothingWhenTheLookupFails(t *testing.T) {
	service := messagingtest.NewServer(t)
	client := service.Client()
	service.FailNext(3, messagingtest.Status(503))
	_, err := client.Events.Ensure(t.Context(), shipped)
	require.ErrorIs(t, err, messaging.ErrServer)
	assert.Equal(t, messaging.DeliveryNotSent, messaging.DeliveryOf(err))
	assert.True(t, messaging.Retryable(err), "the call may be made again")

	service.FailNext(1, messagingtest.Status(401))
	_, err = client.Events.Ensure(t.Context(), shipped)
	require.ErrorIs(t, err, messaging.ErrUnauthorized)
	assert.Equal(t, messaging.DeliveryNotSent, messaging.DeliveryOf(err))
	assert.False(t, messaging.Retryable(err))

	service.AddEvents(messaging.Event{Name: shipped.Name}, messaging.Event{Name: shipped.Name})
	_, err = client.Events.Ensure(t.Context(), shipped)
	require.ErrorIs(t, err, messaging.ErrEventAmbiguous)
	assert.Equal(t, messaging.DeliveryNotSent, messaging.DeliveryOf(err))
}

func TestEnsureFailsAsCreateDoes(t *testing.T) {
	service := messagingtest.NewServer(t)
	client := service.Client()
	_, err := client.Events.Ensure(t.Context(), messaging.EventCreateParams{Name: "order shipped"})
	scripted.RequireProblems(t, err, "description is required", "parameters is required; use an empty list for none")
	assert.Empty(t, service.Requests(), "not even the lookup")

	service.FailNext(1, messagingtest.Fault{})
	service.FailNext(1, messagingtest.AnswerLost())
	_, err = client.Events.Ensure(t.Context(), shipped)
	assert.Equal(t, messaging.DeliveryUnknown, messaging.DeliveryOf(err))
	assert.False(t, messaging.Retryable(err))

	refusing := service.Client(messaging.WithGuard(func(context.Context, *messaging.Prepared) error { return errors.New("no") }))
	_, err = refusing.Events.Ensure(t.Context(), shipped)
	require.NoError(t, err, "it is there: a lookup is no send")
	_, err = refusing.Events.Ensure(t.Context(), pingEvent)
	var refused *messaging.GuardError
	require.ErrorAs(t, err, &refused)
}
