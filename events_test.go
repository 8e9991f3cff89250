package messaging_test

import (
	"testing"
	"time"

	"github.com/jarcoal/httpmock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
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
