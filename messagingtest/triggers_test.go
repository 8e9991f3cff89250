package messagingtest_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

const triggerPath = "/v1/events/trigger"

var shipped = messaging.Event{ID: "shipped", Name: "order shipped", Parameters: []messaging.EventParameter{
	{Name: "order", Type: messaging.ParameterText, Required: true},
	{Name: "total", Type: messaging.ParameterNumeric},
	{Name: "at", Type: messaging.ParameterTimestamp, Required: true},
	{Name: "due", Type: messaging.ParameterTimestamp},
}}

const validTrigger = `{"event_id":"shipped","payload":{"email":"ada@example.com","order":"A-1","at":"2030-05-01T09:00:00Z"}}`

func newTriggerServer(t *testing.T, opts ...messagingtest.Option) *messagingtest.Server {
	t.Helper()
	s := messagingtest.NewServer(t, opts...)
	s.AddEvents(shipped)
	return s
}

func TestTriggersAreValidated(t *testing.T) {
	checkRefused(t, newTriggerServer(t), triggerPath, validTrigger, map[string]string{
		`{"event_id":null,"payload":null}`: "event_id: is required; payload: is required",
		`{"event_id":"unknown"}`:           "event_id: is not the id of an event",
		`{"event_id":"order shipped"}`:     "event_id: is not the id of an event", // but its name
		`{"event_id":7}`:                   "event_id: must be a string",
		`{"payload":["order"]}`:            "payload: must be an object",
		`{"payload":{}}`: "payload.at: is required by the event; payload.email: is required when there is no customer; " +
			"payload.order: is required by the event",
		`{"payload":{"email":"ada@example.com","order":null,"at":""}}`: "payload.order: is required by the event",
		`{"payload":{"email":"ada","order":"A-1","at":"now"}}`:         "payload.email: must be an email address",
		`{"payload":{"email":7,"order":"A-1","at":"now"}}`:             "payload.email: must be a string",
		`{"payload":{"customer":"ada@example.com","email":"ada@example.com","order":"A-1","at":"now"}}`: "payload.customer: " +
			"must be an object",
		`{"payload":{"customer":{"first_name":"Ada","phone_no":"0170"},"order":"A-1","at":"now"}}`: "payload.customer.customer_id: " +
			"is required when there is no email; " +
			"payload.customer.email: is required when there is no customer_id; " +
			"payload.customer.phone_no: must be in international format, starting with +",
		`{"event_id":"unknown","payload":{}}`: "event_id: is not the id of an event; " +
			"payload.email: is required when there is no customer",
	})
}

func TestTriggersAreRecorded(t *testing.T) {
	before := time.Now()
	s := newTriggerServer(t)
	assert.Equal(t, `{"success":true,"data":true,"message":"Event successfully triggered"}`,
		post(t, s, triggerPath, validTrigger).Body)
	_, err := s.Client().Events.Trigger(t.Context(), messaging.EventTriggerParams{
		Definition: &shipped,
		Customer:   &messaging.CustomerParams{CustomerID: "c-1", Devices: []messaging.Device{{Type: "ios", Token: "t"}}},
		Values: map[string]any{"order": "A-2", "total": 19.5,
			"at": time.Date(2030, 5, 1, 11, 0, 0, 999, time.FixedZone("", 7200)), "due": (*time.Time)(nil)},
	})
	require.NoError(t, err)
	var params []messaging.EventTriggerParams
	for _, trigger := range s.Triggers() {
		params = append(params, trigger.Params)
		assert.WithinRange(t, trigger.At, before, time.Now())
		assert.Empty(t, trigger.Skipped)
	}
	assert.Equal(t, []messaging.EventTriggerParams{{
		EventID: "shipped", Email: "ada@example.com",
		Values: map[string]any{"order": "A-1", "at": "2030-05-01T09:00:00Z"},
	}, {
		EventID:  "shipped",
		Customer: &messaging.CustomerParams{CustomerID: "c-1", Devices: []messaging.Device{{Type: "ios", Token: "t"}}},
		Values:   map[string]any{"order": "A-2", "total": 19.5, "at": "2030-05-01T09:00:00Z", "due": nil},
	}}, params)
}

func TestTriggersSkipTimestampsInAnotherForm(t *testing.T) {
	s := newTriggerServer(t)
	for value, skipped := range map[string]bool{
		`"2030-05-01T09:00:00Z"`: false,
		`"0000-01-01T00:00:00Z"`: false,
		`null`:                   false, // a missing value

		`"2030-05-01T09:00:00+00:00"`: true,
		`"2030-05-01T09:00:00.5Z"`:    true,
		`"2030-05-01T09:00:00"`:       true,
		`"2030-05-01 09:00:00Z"`:      true,
		`"2030-05-01t09:00:00z"`:      true,
		`"2030-05-01T9:00:00Z"`:       true,
		`"2030-02-30T09:00:00Z"`:      true, // a day that does not exist
		`"2030-05-01"`:                true,
		`"2030-05-01T09:00:00Z "`:     true,
		`1904461200`:                  true,
		`""`:                          true,
	} {
		s.Reset()
		s.AddEvents(shipped)
		post(t, s, triggerPath, `{"event_id":"shipped","payload":{"email":"ada@example.com","order":"A-1","at":"2030-05-01T09:00:00Z",
			"due":`+value+`}}`)
		require.Len(t, s.Triggers(), 1)
		trigger := s.Triggers()[0]
		if skipped {
			assert.Equal(t, []string{"due"}, trigger.Skipped, value)
			assert.NotContains(t, trigger.Params.Values, "due", value)
		} else {
			assert.Empty(t, trigger.Skipped, value)
			assert.Contains(t, trigger.Params.Values, "due", value)
		}
	}
	post(t, s, triggerPath, `{"event_id":"shipped","payload":{"email":"ada@example.com","order":"A-1","due":"soon","at":"now"}}`)
	require.Len(t, s.Triggers(), 2)
	assert.Equal(t, []string{"at", "due"}, s.Triggers()[1].Skipped, "required ones too, in the order of the event definition")
	assert.Equal(t, map[string]any{"order": "A-1"}, s.Triggers()[1].Params.Values)
}

func TestTriggersDoNotCheckOtherValues(t *testing.T) {
	s := newTriggerServer(t)
	post(t, s, triggerPath, `{"event_id":"shipped","payload":{"email":"ada@example.com","order":{"number":1},
		"total":"cheap","at":"2030-05-01T09:00:00Z","unknown":[true]}}`)
	require.Len(t, s.Triggers(), 1)
	assert.Equal(t, map[string]any{"order": map[string]any{"number": 1.0}, "total": "cheap",
		"at": "2030-05-01T09:00:00Z", "unknown": []any{true}}, s.Triggers()[0].Params.Values)
}

func TestTriggersReadAParameterNamedEmailFromTheCustomer(t *testing.T) {
	s := messagingtest.NewServer(t)
	s.AddEvents(messaging.Event{ID: "signed up", Parameters: []messaging.EventParameter{
		{Name: "email", Type: messaging.ParameterTimestamp, Required: true}}})
	refused := post(t, s, triggerPath, `{"event_id":"signed up","payload":{"customer":{"customer_id":"c-1"}}}`)
	assert.Equal(t, "payload.email: is required by the event", refused.problems(t))
	refused = post(t, s, triggerPath, `{"event_id":"signed up","payload":{}}`)
	assert.Equal(t, "payload.email: is required when there is no customer", refused.problems(t))
	post(t, s, triggerPath, `{"event_id":"signed up","payload":{"email":"ada@example.com"}}`)
	require.Len(t, s.Triggers(), 1)
	assert.Equal(t, "ada@example.com", s.Triggers()[0].Params.Email)
	assert.Empty(t, s.Triggers()[0].Skipped)
}

func TestTriggersCreateOrUpdateTheirCustomer(t *testing.T) {
	byID, byEmail := messagingtest.IdentifyByCustomerID(), messagingtest.IdentifyByEmail()
	tests := []struct {
		name    string
		options []messagingtest.Option
		who     string
		want    []messaging.CustomerParams
		problem string
	}{
		{"a new email address", nil, `"email":"grace@example.com"`,
			[]messaging.CustomerParams{{CustomerID: "c-1", Email: "ada@example.com"}, {Email: "grace@example.com"}}, ""},
		{"a known email address", nil, `"email":"ada@example.com"`,
			[]messaging.CustomerParams{{CustomerID: "c-1", Email: "ada@example.com"}}, ""},
		{"a known customer id", nil, `"customer":{"customer_id":"c-1","first_name":"Ada"}`,
			[]messaging.CustomerParams{{CustomerID: "c-1", Email: "ada@example.com", FirstName: "Ada"}}, ""},
		{"the payload's email address applies to a customer without one", nil, `"email":"new@example.com","customer":{"customer_id":"c-1"}`,
			[]messaging.CustomerParams{{CustomerID: "c-1", Email: "new@example.com"}}, ""},
		{"the customer's own email address takes precedence", nil, `"email":"other@example.com","customer":{"email":"ada@example.com"}`,
			[]messaging.CustomerParams{{CustomerID: "c-1", Email: "ada@example.com"}}, ""},
		{"the payload's email address identifies with Email", []messagingtest.Option{byEmail},
			`"email":"ada@example.com","customer":{"first_name":"Ada"}`,
			[]messaging.CustomerParams{{CustomerID: "c-1", Email: "ada@example.com", FirstName: "Ada"}}, ""},
		{"a customer id is not sufficient with Email", []messagingtest.Option{byEmail}, `"customer":{"customer_id":"c-1"}`,
			nil, "payload.customer.email"},
		{"an email address is not sufficient with CustomerID", []messagingtest.Option{byID}, `"email":"ada@example.com"`,
			nil, "payload.customer.customer_id"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newTriggerServer(t, test.options...)
			s.AddCustomers(messaging.Customer{CustomerID: "c-1", Email: "ada@example.com"})
			response := post(t, s, triggerPath, `{"event_id":"shipped","payload":{"order":"A-1","at":"now",`+test.who+`}}`)
			if test.problem != "" {
				assert.Equal(t, test.problem+": is required as the customer identifier", response.problems(t))
				assert.Empty(t, s.Triggers())
				return
			}
			require.Equal(t, http.StatusOK, response.StatusCode, response.Body)
			assert.Equal(t, test.want, storedParams(s))
		})
	}
}

func TestTriggersRecordTheCustomerOfThePayload(t *testing.T) {
	s := newTriggerServer(t)
	post(t, s, triggerPath, `{"event_id":"shipped","payload":{"email":"ada@example.com","customer":{"customer_id":"c-1"},
		"order":"A-1","at":"now"}}`)
	require.Len(t, s.Triggers(), 1)
	assert.Equal(t, &messaging.CustomerParams{CustomerID: "c-1"}, s.Triggers()[0].Params.Customer, "without the email address of the payload")
	assert.Equal(t, []messaging.CustomerParams{{CustomerID: "c-1", Email: "ada@example.com"}}, storedParams(s))
}
