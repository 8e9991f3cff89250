package messaging_test

import (
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

var oneSecond = time.Date(2026, 5, 1, 10, 20, 30, 0, time.UTC)

func TestModelsHaveTheWireFormOfTheService(t *testing.T) {
	empty, oneTime := "", "OTP"
	for _, row := range []struct {
		name  string
		value any
		wire  string
	}{
		{name: "an event",
			value: messaging.Event{ID: "8a7e", Name: "Order", Description: "An order was placed",
				Parameters: []messaging.EventParameter{{Name: "total", Type: messaging.ParameterNumeric, Required: true}, {Name: "at", Type: "colour"}},
				CreatedAt:  oneSecond.Add(123456 * time.Microsecond), Extra: messaging.Extra{"company": json.RawMessage(`{"id":7}`)}},
			wire: `{"id":"8a7e","name":"Order","description":"An order was placed","parameters":[{"name":"total","type":"numeric","required":true},
				{"name":"at","type":"colour","required":false}],"created_at":"2026-05-01T10:20:30.123456Z","company":{"id":7}}`},
		{name: "an event of a whole second", value: messaging.Event{CreatedAt: oneSecond},
			wire: `{"id":"","name":"","description":"","parameters":null,"created_at":"2026-05-01T10:20:30.000000Z"}`},
		{name: "an event without anything", value: messaging.Event{},
			wire: `{"id":"","name":"","description":"","parameters":null}`},
		{name: "a customer",
			value: messaging.Customer{CustomerID: "7", FirstName: "Ada", LastName: "Lovelace", Email: "ada@example.com", PhoneNo: "+441234567890",
				CreatedAt: oneSecond, UpdatedAt: oneSecond.Add(time.Second), Providers: []string{"mailgun", "twilio"},
				LastInteraction: oneSecond.Add(time.Minute),
				Extra:           messaging.Extra{"score": json.RawMessage(`1.50`)}},
			wire: `{"customer_id":"7","first_name":"Ada","last_name":"Lovelace","email":"ada@example.com","phone_no":"+441234567890",
				"customer_created_at":"2026-05-01T10:20:30Z","updated_at":"2026-05-01T10:20:31Z","providers":"mailgun,twilio",
				"last_interaction":"2026-05-01T10:21:30Z","score":1.50}`},
		{name: "a customer without anything", value: messaging.Customer{},
			wire: `{"customer_id":"","first_name":"","last_name":"","email":"","phone_no":"","providers":""}`},
		{name: "a message",
			value: messaging.TransactionalMessage{ID: "8a7e", Channel: messaging.ChannelSMS, Subject: "s", Title: "t", Message: "<b>m</b>",
				MessageType: &oneTime,
				CreatedAt:   oneSecond, TotalSent: 1, TotalDelivered: 2, TotalFailed: 3, TotalComplained: 4, TotalBounced: 5,
				Extra: messaging.Extra{"sender": json.RawMessage(`null`)}},
			wire: `{"id":"8a7e","channel":"sms","subject":"s","title":"t","message":"<b>m</b>","message_type":"OTP",
				"created_at":"2026-05-01 10:20:30",
				"total_sent":1,"total_delivered":2,"total_failed":3,"total_complained":4,"total_bounced":5,"sender":null}`},
		{name: "a message of the empty type", value: messaging.TransactionalMessage{MessageType: &empty},
			wire: `{"id":"","channel":"","subject":"","title":"","message":"","message_type":"",
				"total_sent":0,"total_delivered":0,"total_failed":0,"total_complained":0,"total_bounced":0}`},
		{name: "a message of no type", value: messaging.TransactionalMessage{},
			wire: `{"id":"","channel":"","subject":"","title":"","message":"","message_type":null,
				"total_sent":0,"total_delivered":0,"total_failed":0,"total_complained":0,"total_bounced":0}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			written, err := json.Marshal(row.value)
			require.NoError(t, err)
			assert.JSONEq(t, row.wire, string(written))

			read := reflect.New(reflect.TypeOf(row.value))
			require.NoError(t, json.Unmarshal([]byte(row.wire), read.Interface()))
			assert.Equal(t, row.value, read.Elem().Interface())
		})
	}
}

func TestModelsAreFilledByTheRowOfTheirList(t *testing.T) {
	for _, list := range scripted.Lists() {
		t.Run(list.Name, func(t *testing.T) {
			model := list.New()
			require.NoError(t, json.Unmarshal([]byte(list.Row), model))
			for field, value := range reflect.ValueOf(model).Elem().Fields() {
				if field.Name == "Extra" {
					assert.Empty(t, value.Interface(), "the model does not read these members of the row")
					continue
				}
				assert.False(t, value.IsZero(), "%s: its row in internal/kit/scripted/operations.go fills every field, and decode reads it", field.Name)
			}
			scripted.RequireRoundTrip(t, model)
			written, err := json.Marshal(model)
			require.NoError(t, err)
			assert.JSONEq(t, list.Row, string(written))
		})
	}
}

func TestModelsSurviveARoundTrip(t *testing.T) {
	for _, row := range []struct{ name, members string }{
		{"nothing", ``},
		{"nulls",
			`"customer_created_at":null,"created_at":null,"providers":null,"message_type":null,"parameters":null,"id":null,"total_sent":null`},
		{"empty values", `"customer_created_at":"","created_at":"","providers":"","message_type":"","parameters":[],"id":"","total_sent":0`},
		{"unreadable dates", `"customer_created_at":"0000-00-00","updated_at":0,"last_interaction":{"a":[1, 2]},"created_at":"<never>"`},
		{"fractions of a second", `"customer_created_at":"2026-05-01T10:20:30.5Z","updated_at":"2026-05-01T10:20:30.000001Z",
			"last_interaction":"2026-05-01T10:20:30.123456789Z","created_at":"2026-05-01T10:20:30.123456789Z"`},
		{"other zones",
			`"customer_created_at":"2026-05-01T12:20:30+02:00","updated_at":"2026-05-01T12:20:30.25+0200","created_at":"2026-05-01 04:50:30-05:30"`},
		{"the earliest instant", `"customer_created_at":"0000-01-01T00:00:00Z","created_at":"0000-01-01 00:00:00"`},
		{"the latest instant", `"customer_created_at":"9999-12-31T23:59:59.999999999Z","created_at":"9999-12-31 23:59:59"`},
		{"an instant of no four digits in UTC", `"customer_created_at":"0000-01-01T00:00:00+02:00","created_at":"9999-12-31T23:59:59-02:00"`},
		{"the zero instant", `"customer_created_at":"0001-01-01T00:00:00Z","created_at":"0001-01-01T00:00:00Z"`},
		{"a date that is there twice, the first unreadable", `"customer_created_at":"soon","customer_created_at":"2026-05-01T10:20:30Z",
			"created_at":"soon","created_at":"2026-05-01T10:20:30Z"`},
		{"a date that is there twice, the last unreadable", `"customer_created_at":"2026-05-01T10:20:30Z","customer_created_at":"soon",
			"created_at":"2026-05-01T10:20:30Z","created_at":"soon"`},
		{"a date that is there twice, the last a number", `"customer_created_at":"2026-05-01T10:20:30Z","customer_created_at":1777630830,
			"created_at":"2026-05-01T10:20:30Z","created_at":1777630830`},
		{"ids that are numbers", `"customer_id":7,"id":1e5,"phone_no":441234567890`},
		{"types in capitals", `"parameters":[{"name":"a","type":"TIMESTAMP","required":1}]`},
		{"providers as an array", `"providers":["a","b"]`},
		{"providers with blanks", `"providers":" a, b,,c "`},
		{"an array of odd providers", `"providers":[" a ","",null,"b,c"]`},
		{"unknown members", `"a":{"b": [1.50, "<&>"]},"":null,"Id":1,"naïve ☃":"\u2028"`},
		{"a member that is unknown and there twice", `"a":1,"a":2`},
	} {
		t.Run(row.name+", of an event", func(t *testing.T) {
			event, err := eventIn(t, row.members)
			require.NoError(t, err)
			scripted.RequireRoundTrip(t, &event)
		})
		t.Run(row.name+", of a customer", func(t *testing.T) {
			customer, err := customerIn(t, row.members)
			require.NoError(t, err)
			scripted.RequireRoundTrip(t, &customer)
		})
		t.Run(row.name+", of a message", func(t *testing.T) {
			message, err := messageIn(t, row.members)
			require.NoError(t, err)
			scripted.RequireRoundTrip(t, &message)
		})
	}
}

func TestModelsEncodeTimesInUTC(t *testing.T) {
	elsewhere := oneSecond.In(time.FixedZone("two hours east", 2*60*60))
	for wire, model := range map[string]json.Marshaler{
		`"created_at":"2026-05-01T10:20:30.000000Z"`:    messaging.Event{CreatedAt: elsewhere},
		`"customer_created_at":"2026-05-01T10:20:30Z"`:  messaging.Customer{CreatedAt: elsewhere},
		`"updated_at":"2026-05-01T10:20:30Z"`:           messaging.Customer{UpdatedAt: elsewhere},
		`"last_interaction":"2026-05-01T10:20:30Z"`:     messaging.Customer{LastInteraction: elsewhere},
		`"created_at":"2026-05-01 10:20:30"`:            messaging.TransactionalMessage{CreatedAt: elsewhere},
		`"created_at":"2026-05-01T10:20:30.000000001Z"`: messaging.TransactionalMessage{CreatedAt: elsewhere.Add(1)},
	} {
		t.Run(wire, func(t *testing.T) {
			written, err := json.Marshal(model)
			require.NoError(t, err)
			assert.Contains(t, string(written), wire)
		})
	}
}

func TestModelsEncodeExtraBesideTheFields(t *testing.T) {
	extra := messaging.Extra{"id": json.RawMessage(`"extra"`), "customer_id": json.RawMessage(`"extra"`), "email": json.RawMessage(`"extra"`),
		"created_at": json.RawMessage(`"0000-00-00"`), "customer_created_at": json.RawMessage(`"0000-00-00"`), "more": json.RawMessage(`[1]`)}
	for _, row := range []struct {
		name  string
		model json.Marshaler
		wire  string
	}{
		{"an event", messaging.Event{ID: "1", Extra: extra},
			`{"id":"1","name":"","description":"","parameters":null,"created_at":"0000-00-00","more":[1],
				"customer_id":"extra","email":"extra","customer_created_at":"0000-00-00"}`},
		{"an event with a date", messaging.Event{CreatedAt: oneSecond, Extra: extra},
			`{"id":"","name":"","description":"","parameters":null,"created_at":"2026-05-01T10:20:30.000000Z","more":[1],
				"customer_id":"extra","email":"extra","customer_created_at":"0000-00-00"}`},
		{"a customer", messaging.Customer{CustomerID: "1", CreatedAt: oneSecond, Extra: extra},
			`{"customer_id":"1","first_name":"","last_name":"","email":"","phone_no":"","providers":"","customer_created_at":"2026-05-01T10:20:30Z",
				"more":[1],"id":"extra","created_at":"0000-00-00"}`},
		{"a message", messaging.TransactionalMessage{ID: "1", CreatedAt: oneSecond, Extra: extra},
			`{"id":"1","channel":"","subject":"","title":"","message":"","message_type":null,"created_at":"2026-05-01 10:20:30",
				"total_sent":0,"total_delivered":0,"total_failed":0,"total_complained":0,"total_bounced":0,"more":[1],
				"customer_id":"extra","email":"extra","customer_created_at":"0000-00-00"}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			written, err := json.Marshal(row.model)
			require.NoError(t, err)
			assert.JSONEq(t, row.wire, string(written))
		})
	}
	assert.Equal(t, `"extra"`, string(extra["id"]), "Extra is not written to")
}

func TestModelsRefuseToEncodeAnInvalidExtra(t *testing.T) {
	extra := messaging.Extra{"more": json.RawMessage(`{`)}
	for _, model := range []any{messaging.Event{Extra: extra}, messaging.Customer{Extra: extra},
		messaging.TransactionalMessage{Extra: extra}} {
		_, err := json.Marshal(model)
		assert.Error(t, err)
	}
}

func TestModelsAreMarshalledByValueByPointerAndNested(t *testing.T) {
	customer := messaging.Customer{CustomerID: "1"}
	const wire = `{"customer_id":"1","first_name":"","last_name":"","email":"","phone_no":"","providers":""}`
	for want, value := range map[string]any{
		wire: &customer, "[" + wire + "]": []messaging.Customer{customer}, `{"a":` + wire + `}`: map[string]messaging.Customer{"a": customer},
	} {
		written, err := json.Marshal(value)
		require.NoError(t, err)
		assert.JSONEq(t, want, string(written))
	}
}

func TestModelsAreUnchangedByNull(t *testing.T) {
	event := messaging.Event{ID: "1", Extra: messaging.Extra{"a": json.RawMessage(`1`)}}
	require.NoError(t, json.Unmarshal([]byte(`null`), &event))
	require.NoError(t, event.UnmarshalJSON([]byte(`null`)))
	assert.Equal(t, messaging.Event{ID: "1", Extra: messaging.Extra{"a": json.RawMessage(`1`)}}, event)

	customer := &messaging.Customer{CustomerID: "1"}
	require.NoError(t, customer.UnmarshalJSON([]byte(`null`)))
	assert.Equal(t, "1", customer.CustomerID)
	require.NoError(t, json.Unmarshal([]byte(`null`), &customer))
	assert.Nil(t, customer)

	message := messaging.TransactionalMessage{ID: "1"}
	require.NoError(t, json.Unmarshal([]byte(` null `), &message))
	assert.Equal(t, messaging.TransactionalMessage{ID: "1"}, message)
}

func TestModelsAreUnmarshalledNested(t *testing.T) {
	var events []messaging.Event
	require.NoError(t, json.Unmarshal([]byte(`[{"id":1},null,{"id":"2"}]`), &events))
	assert.Equal(t, []messaging.Event{{ID: "1"}, {}, {ID: "2"}}, events)

	var customers map[string]*messaging.Customer
	require.NoError(t, json.Unmarshal([]byte(`{"a":{"customer_id":1},"b":null}`), &customers))
	assert.Equal(t, map[string]*messaging.Customer{"a": {CustomerID: "1"}, "b": nil}, customers)

	var holder struct {
		Messages [2]messaging.TransactionalMessage
	}
	require.NoError(t, json.Unmarshal([]byte(`{"messages":[{"total_sent":"3"}]}`), &holder))
	assert.Equal(t, 3, holder.Messages[0].TotalSent)
}

func TestModelsAreUnchangedByInvalidJSON(t *testing.T) {
	for _, row := range []struct {
		name    string
		model   json.Unmarshaler
		wire    string
		problem string
	}{
		{"an event", &messaging.Event{ID: "1"}, `{"id":"2","name":{}}`, "messaging: name is an object, not a string"},
		{"a parameter", &messaging.Event{ID: "1"}, `{"id":"2","parameters":[{},5]}`,
			"messaging: parameters.1 is a number, not an object"},
		{"a customer", &messaging.Customer{CustomerID: "1"}, `{"customer_id":"2","email":[]}`, "messaging: email is an array, not a string"},
		{"a message", &messaging.TransactionalMessage{ID: "1"}, `{"id":"2","total_sent":1.5}`, "messaging: total_sent is not an integer"},
		{"a list", &messaging.Event{ID: "1"}, `[]`, "messaging: is an array, not an object"},
		{"a text", &messaging.Customer{CustomerID: "1"}, `"2"`, "messaging: is a string, not an object"},
		{"half an object", &messaging.Event{ID: "1"}, `{"id":"2"`, "messaging: is not valid JSON"},
		{"nothing", &messaging.Event{ID: "1"}, ``, "messaging: is not valid JSON"},
		{"two objects", &messaging.TransactionalMessage{ID: "1"}, `{"id":"2"}{}`, "messaging: is followed by more text"},
	} {
		t.Run(row.name, func(t *testing.T) {
			before := reflect.ValueOf(row.model).Elem().Interface()
			require.EqualError(t, row.model.UnmarshalJSON([]byte(row.wire)), row.problem)
			assert.Error(t, json.Unmarshal([]byte(row.wire), row.model))
			assert.Equal(t, before, reflect.ValueOf(row.model).Elem().Interface())
		})
	}
}

func TestModelsListedCustomerBecomesARecipient(t *testing.T) {
	customer := messaging.Customer{CustomerID: "7", FirstName: "Ada", LastName: "Lovelace", Email: "ada@example.com", PhoneNo: "+441234567890",
		CreatedAt: oneSecond, Providers: []string{"mailgun"}, Extra: messaging.Extra{"score": json.RawMessage(`1`)}}
	assert.Equal(t, messaging.CustomerParams{CustomerID: "7", FirstName: "Ada", LastName: "Lovelace",
		Email: "ada@example.com", PhoneNo: "+441234567890"}, customer.Params())
	assert.Equal(t, messaging.CustomerParams{}, messaging.Customer{}.Params())
}

func TestParameterTypeIsEncodedInLowerCase(t *testing.T) {
	sent := make(chan string, 1)
	client := scripted.NewInMemoryClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent <- string(body)
		_, _ = io.WriteString(w,
			`{"success":true,"data":{"id":"1","parameters":[{"type":"Text"},{"type":"NUMERIC"},{"type":"timestamp"},{"type":"Colour"}]}}`)
	}))
	given := []messaging.EventParameter{{Name: "a", Type: "Text"}, {Name: "b", Type: messaging.ParameterTimestamp},
		{Name: "c", Type: "COLOUR"}}
	event, err := client.Events.Create(t.Context(), messaging.EventCreateParams{Name: "n", Description: "d", Parameters: given})
	require.NoError(t, err)
	assert.JSONEq(t, `{"name":"n","description":"d","parameters":[{"name":"a","type":"text","required":false},
		{"name":"b","type":"timestamp","required":false},{"name":"c","type":"colour","required":false}]}`, <-sent)
	assert.Equal(t, []messaging.EventParameter{{Type: messaging.ParameterText}, {Type: messaging.ParameterNumeric},
		{Type: messaging.ParameterTimestamp}, {Type: "colour"}}, event.Parameters)
	assert.Equal(t, messaging.ParameterType("Text"), given[0].Type, "the params are not written to")
}

func TestParameterTypeIsDecodedInLowerCase(t *testing.T) {
	var parameter messaging.EventParameter
	require.NoError(t, json.Unmarshal([]byte(`{"name":"at","type":"Timestamp","required":1}`), &parameter))
	require.Equal(t, messaging.EventParameter{Name: "at", Type: messaging.ParameterTimestamp, Required: true}, parameter)
}
