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

const soundTrigger = `{"event_id":"shipped","payload":{"email":"ada@example.com","order":"A-1","at":"2030-05-01T09:00:00Z"}}`

func newTriggerServer(t *testing.T, opts ...messagingtest.Option) *messagingtest.Server {
	t.Helper()
	s := messagingtest.NewServer(t, opts...)
	s.AddEvents(shipped)
	return s
}

func TestTriggersThatBreakTheRulesAreRefused(t *testing.T) {
	s := newTriggerServer(t)
	checkRefused(t, s, triggerPath, soundTrigger, []refusedCase{
		{"nothing at all", `{"event_id":null,"payload":null}`,
			map[string][]string{"event_id": {"is required"}, "payload": {"is required"}}},
		{"an event that nobody has created", `{"event_id":"unknown"}`,
			map[string][]string{"event_id": {"is not the id of an event"}}},
		{"the name of an event is not its id", `{"event_id":"order shipped"}`,
			map[string][]string{"event_id": {"is not the id of an event"}}},
		{"an id that is no text", `{"event_id":7}`,
			map[string][]string{"event_id": {"must be a string"}}},
		{"a payload that is no object", `{"payload":["order"]}`,
			map[string][]string{"payload": {"must be an object"}}},
		{"an empty payload lacks the customer and every required parameter", `{"payload":{}}`,
			map[string][]string{
				"payload.email": {"is required when there is no customer"},
				"payload.order": {"is required by the event"}, "payload.at": {"is required by the event"},
			}},
		{"a required parameter that is null is missing", `{"payload":{"email":"ada@example.com","order":null,"at":""}}`,
			map[string][]string{"payload.order": {"is required by the event"}}},
		{"an address that is none", `{"payload":{"email":"ada","order":"A-1","at":"now"}}`,
			map[string][]string{"payload.email": {"must be an e-mail address"}}},
		{"an address that is no text", `{"payload":{"email":7,"order":"A-1","at":"now"}}`,
			map[string][]string{"payload.email": {"must be a string"}}},
		{"a customer that is no object", `{"payload":{"customer":"ada@example.com","email":"ada@example.com","order":"A-1","at":"now"}}`,
			map[string][]string{"payload.customer": {"must be an object"}}},
		{"a customer without an identity", `{"payload":{"customer":{"first_name":"Ada","phone_no":"0170"},"order":"A-1","at":"now"}}`,
			map[string][]string{
				"payload.customer.customer_id": {"is required when there is no email"},
				"payload.customer.email":       {"is required when there is no customer_id"},
				"payload.customer.phone_no":    {"must be in international format, starting with +"},
			}},
		{"the event and the payload are checked together", `{"event_id":"unknown","payload":{}}`,
			map[string][]string{
				"event_id":      {"is not the id of an event"},
				"payload.email": {"is required when there is no customer"},
			}},
	})
}

func TestATriggerIsAnsweredAndRecorded(t *testing.T) {
	s := newTriggerServer(t)
	assert.Equal(t, `{"success":true,"data":true,"message":"Event successfully triggered"}`, post(t, s, triggerPath, soundTrigger).Body)
	_, err := s.Client().Events.Trigger(t.Context(), messaging.EventTriggerParams{
		Definition: &shipped,
		Customer:   &messaging.CustomerParams{CustomerID: "c-1", Devices: []messaging.Device{{DeviceType: "ios", DeviceToken: "t"}}},
		Values: map[string]any{"order": "A-2", "total": 19.5,
			"at": time.Date(2030, 5, 1, 11, 0, 0, 999, time.FixedZone("", 7200)), "due": (*time.Time)(nil)},
	})
	require.NoError(t, err)
	assert.Equal(t, []messagingtest.Trigger{{
		EventID: "shipped", EventName: "order shipped", Email: "ada@example.com",
		Values: map[string]any{"order": "A-1", "at": "2030-05-01T09:00:00Z"},
	}, {
		EventID: "shipped", EventName: "order shipped",
		Customer: &messaging.CustomerParams{CustomerID: "c-1", Devices: []messaging.Device{{DeviceType: "ios", DeviceToken: "t"}}},
		Values:   map[string]any{"order": "A-2", "total": 19.5, "at": "2030-05-01T09:00:00Z", "due": nil},
	}}, s.Triggers())
}

func TestATimestampInAnotherFormIsSkipped(t *testing.T) {
	tests := []struct {
		name, value string
		skipped     bool
	}{
		{"the form of the service", `"2030-05-01T09:00:00Z"`, false},
		{"the first second of all", `"0000-01-01T00:00:00Z"`, false},
		{"an offset", `"2030-05-01T09:00:00+00:00"`, true},
		{"a fraction of a second", `"2030-05-01T09:00:00.5Z"`, true},
		{"no zone", `"2030-05-01T09:00:00"`, true},
		{"a blank for the T", `"2030-05-01 09:00:00Z"`, true},
		{"lower case", `"2030-05-01t09:00:00z"`, true},
		{"a digit too few", `"2030-05-01T9:00:00Z"`, true},
		{"a day that does not exist", `"2030-02-30T09:00:00Z"`, true},
		{"a date alone", `"2030-05-01"`, true},
		{"a blank at the end", `"2030-05-01T09:00:00Z "`, true},
		{"a number", `1904461200`, true},
		{"an empty text", `""`, true},
		{"null is a value that is missing", `null`, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newTriggerServer(t)
			triggered := post(t, s, triggerPath, `{"event_id":"shipped","payload":{"email":"ada@example.com",
				"order":"A-1","at":"2030-05-01T09:00:00Z","due":`+test.value+`}}`)
			require.Equal(t, http.StatusOK, triggered.StatusCode, triggered.Body)
			require.Len(t, s.Triggers(), 1)
			trigger := s.Triggers()[0]
			if test.skipped {
				assert.Equal(t, []string{"due"}, trigger.Skipped)
				assert.NotContains(t, trigger.Values, "due")
			} else {
				assert.Empty(t, trigger.Skipped)
				assert.Contains(t, trigger.Values, "due")
			}
		})
	}
}

func TestARequiredTimestampInAnotherFormIsSkippedToo(t *testing.T) {
	s := newTriggerServer(t)
	post(t, s, triggerPath, `{"event_id":"shipped","payload":{"email":"ada@example.com","order":"A-1","due":"soon","at":"now"}}`)
	require.Len(t, s.Triggers(), 1)
	assert.Equal(t, []string{"at", "due"}, s.Triggers()[0].Skipped, "in the order of the event")
	assert.Equal(t, map[string]any{"order": "A-1"}, s.Triggers()[0].Values)
}

func TestOtherValuesAreTakenAsTheyCome(t *testing.T) {
	s := newTriggerServer(t)
	post(t, s, triggerPath, `{"event_id":"shipped","payload":{"email":"ada@example.com","order":{"number":1},
		"total":"cheap","at":"2030-05-01T09:00:00Z","unknown":[true]}}`)
	require.Len(t, s.Triggers(), 1)
	assert.Equal(t, map[string]any{"order": map[string]any{"number": 1.0}, "total": "cheap",
		"at": "2030-05-01T09:00:00Z", "unknown": []any{true}}, s.Triggers()[0].Values)
}

func TestAParameterNamedEmailIsTheCustomersAddress(t *testing.T) {
	s := messagingtest.NewServer(t)
	s.AddEvents(messaging.Event{ID: "signed up", Parameters: []messaging.EventParameter{
		{Name: "email", Type: messaging.ParameterTimestamp, Required: true}}})
	refused := post(t, s, triggerPath, `{"event_id":"signed up","payload":{"customer":{"customer_id":"c-1"}}}`)
	assert.Equal(t, map[string][]string{"payload.email": {"is required by the event"}}, refused.problems(t))
	refused = post(t, s, triggerPath, `{"event_id":"signed up","payload":{}}`)
	assert.Equal(t, map[string][]string{"payload.email": {"is required when there is no customer"}}, refused.problems(t))
	post(t, s, triggerPath, `{"event_id":"signed up","payload":{"email":"ada@example.com"}}`)
	require.Len(t, s.Triggers(), 1)
	assert.Equal(t, "ada@example.com", s.Triggers()[0].Email)
	assert.Empty(t, s.Triggers()[0].Skipped)
}

func TestATriggerCreatesOrUpdatesItsCustomer(t *testing.T) {
	byID, byEmail := messagingtest.WithIdentifier(messagingtest.CustomerID), messagingtest.WithIdentifier(messagingtest.Email)
	tests := []struct {
		name    string
		options []messagingtest.Option
		who     string
		want    []messaging.CustomerParams
		problem string
	}{
		{"an address alone", nil, `"email":"grace@example.com"`,
			[]messaging.CustomerParams{{CustomerID: "c-1", Email: "ada@example.com"}, {Email: "grace@example.com"}}, ""},
		{"an address that is known", nil, `"email":"ada@example.com"`,
			[]messaging.CustomerParams{{CustomerID: "c-1", Email: "ada@example.com"}}, ""},
		{"a customer that is known", nil, `"customer":{"customer_id":"c-1","first_name":"Ada"}`,
			[]messaging.CustomerParams{{CustomerID: "c-1", Email: "ada@example.com", FirstName: "Ada"}}, ""},
		{"an address beside a customer without one is theirs", nil, `"email":"new@example.com","customer":{"customer_id":"c-1"}`,
			[]messaging.CustomerParams{{CustomerID: "c-1", Email: "new@example.com"}}, ""},
		{"an address beside a customer who has one is not", nil, `"email":"other@example.com","customer":{"email":"ada@example.com"}`,
			[]messaging.CustomerParams{{CustomerID: "c-1", Email: "ada@example.com"}}, ""},
		{"an address beside a customer gives the identity", []messagingtest.Option{byEmail}, `"email":"ada@example.com","customer":{"first_name":"Ada"}`,
			[]messaging.CustomerParams{{CustomerID: "c-1", Email: "ada@example.com", FirstName: "Ada"}}, ""},
		{"a customer id alone is refused where addresses identify", []messagingtest.Option{byEmail}, `"customer":{"customer_id":"c-1"}`,
			nil, "payload.customer.email"},
		{"an address alone is refused where customer ids identify", []messagingtest.Option{byID}, `"email":"ada@example.com"`,
			nil, "payload.customer.customer_id"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newTriggerServer(t, test.options...)
			s.AddCustomers(messaging.Customer{CustomerID: "c-1", Email: "ada@example.com"})
			answer := post(t, s, triggerPath, `{"event_id":"shipped","payload":{"order":"A-1","at":"now",`+test.who+`}}`)
			if test.problem != "" {
				assert.Equal(t, map[string][]string{test.problem: {"is required as the customer identifier"}}, answer.problems(t))
				assert.Empty(t, s.Triggers())
				return
			}
			require.Equal(t, http.StatusOK, answer.StatusCode, answer.Body)
			assert.Equal(t, test.want, known(s))
		})
	}
}

func TestATriggerIsRecordedAsItCame(t *testing.T) {
	s := newTriggerServer(t)
	post(t, s, triggerPath, `{"event_id":"shipped","payload":{"email":"ada@example.com","customer":{"customer_id":"c-1"},"order":"A-1","at":"now"}}`)
	require.Len(t, s.Triggers(), 1)
	assert.Equal(t, &messaging.CustomerParams{CustomerID: "c-1"}, s.Triggers()[0].Customer, "the address beside it is not written into it")
	assert.Equal(t, []messaging.CustomerParams{{CustomerID: "c-1", Email: "ada@example.com"}}, known(s))
}

func TestARecordedTriggerIsACopy(t *testing.T) {
	s := newTriggerServer(t)
	post(t, s, triggerPath, `{"event_id":"shipped","payload":{"customer":{"customer_id":"c-1","devices":[{"device_token":"t"}]},
		"order":{"items":["book"]},"at":"now"}}`)
	mine := s.Triggers()
	require.Len(t, mine, 1)
	want := written(t, mine)
	mine[0].Customer.CustomerID = "changed"
	mine[0].Customer.Devices[0].DeviceToken = "changed"
	mine[0].Values["order"].(map[string]any)["items"].([]any)[0] = "changed"
	mine[0].Skipped[0] = "changed"
	assert.Equal(t, want, written(t, s.Triggers()))
	assert.Equal(t, "t", s.Customers()[0].Devices[0].DeviceToken)
}
