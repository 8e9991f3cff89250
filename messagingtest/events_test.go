package messagingtest_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

const validEvent = `{"name":"order shipped","description":"An order has left the warehouse",
	"parameters":[{"name":"order","type":"text","required":true}]}`

func TestEventsAreValidated(t *testing.T) {
	s := messagingtest.NewServer(t)
	checkRefused(t, s, "/v1/events", validEvent, map[string]string{
		`{"name":null,"description":"","parameters":null}`: "description: is required; name: is required; parameters: is required",
		`{"parameters":{"name":"order"}}`:                  "parameters: must be an array",
		`{"parameters":[{},"order",{"name":1,"type":2,"required":"yes"}]}`: "parameters.0.name: is required; " +
			"parameters.0.type: is required; parameters.1: must be an object; parameters.1.name: is required; " +
			"parameters.1.type: is required; parameters.2.name: must be a string; parameters.2.required: must be a boolean; " +
			"parameters.2.type: must be a string",
		`{"parameters":[{"name":"order","type":"text"},{"name":"Order","type":"text"},{"name":"order","type":"numeric"}]}`: "" +
			"parameters.2.name: duplicates an earlier parameter",
		`{"parameters":[{"name":"email","type":"text"},{"name":"customer","type":"text"}]}`: "parameters.0.name: is reserved; " +
			"parameters.1.name: is reserved",
	})
	page, err := s.Client().Events.List(t.Context(), messaging.EventListParams{})
	require.NoError(t, err)
	assert.Len(t, page.Items, 1, "the invalid events were not created")
}

func TestEventsAreReturnedInTheFormOfTheService(t *testing.T) {
	s := messagingtest.NewServer(t)
	created := post(t, s, "/v1/events", `{"name":"order shipped","description":"d","parameters":[
		{"name":"order","type":"Text","required":true},{"name":"total","type":"NUMERIC"},{"name":"at","type":"Timestamp","required":false}]}`)
	var response struct {
		Data struct {
			ID        string
			CreatedAt string `json:"created_at"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(created.Body), &response))
	assert.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$`, response.Data.ID)
	assert.Regexp(t, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$`, response.Data.CreatedAt)
	row := `{"id":"` + response.Data.ID + `","created_at":"` + response.Data.CreatedAt + `",
		"name":"order shipped","description":"d","parameters":[
		{"name":"order","type":"text","required":true},{"name":"total","type":"numeric","required":false},
		{"name":"at","type":"timestamp","required":false}]}`
	assert.JSONEq(t, `{"success":true,"message":"Event created successfully","data":`+row+`}`, created.Body)
	assert.JSONEq(t, `{"success":true,"message":"Company events fetched successfully","data":[`+row+`],
		"meta":{"has_next_page":false,"has_prev_page":false,"next_page_cursor":null,"prev_page_cursor":null,"per_page":20}}`,
		get(t, s, "/v1/events").Body)
}

func TestEventsMayHaveNoParameters(t *testing.T) {
	s := messagingtest.NewServer(t)
	event, err := s.Client().Events.Create(t.Context(), messaging.EventCreateParams{
		Name: "signed in", Description: "d", Parameters: []messaging.EventParameter{}})
	require.NoError(t, err)
	assert.Empty(t, event.Parameters)
	assert.Contains(t, get(t, s, "/v1/events").Body, `"parameters":[]`)
}

func TestEventsThatWereAddedGetDefaults(t *testing.T) {
	s := messagingtest.NewServer(t)
	at := time.Date(2030, 5, 1, 9, 0, 0, 123_456_789, time.FixedZone("", 3600))
	parameters := []messaging.EventParameter{{Name: "order", Type: "Text"}}
	extra := map[string]json.RawMessage{"created_at": json.RawMessage(`"0000-00-00"`), "owner": json.RawMessage(`"shop"`)}
	s.AddEvents(
		messaging.Event{Name: "first"},
		messaging.Event{Name: "second"},
		messaging.Event{ID: "own-id", CreatedAt: at, Parameters: parameters},
		messaging.Event{ID: "odd", Extra: extra},
	)
	parameters[0].Name, extra["owner"][1] = "changed", 'x'

	listed, err := messaging.Collect(s.Client().Events.All(t.Context(), messaging.EventListParams{}))
	require.NoError(t, err)
	require.Len(t, listed, 4)
	assert.Len(t, listed[0].ID, 36)
	assert.NotEqual(t, listed[0].ID, listed[1].ID)
	assert.False(t, listed[0].CreatedAt.IsZero())
	assert.Equal(t, messaging.Event{ID: "own-id", CreatedAt: at.Truncate(time.Microsecond).UTC(),
		Parameters: []messaging.EventParameter{{Name: "order", Type: "text"}}}, listed[2])
	assert.Equal(t, map[string]json.RawMessage{"created_at": json.RawMessage(`"0000-00-00"`), "owner": json.RawMessage(`"shop"`)},
		listed[3].Extra)
}
