package messaging_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

func TestRecipientsAreThoseOfTheBody(t *testing.T) {
	ada := messaging.CustomerParams{CustomerID: "c-1", Email: "ada@example.com", PhoneNo: "+331",
		Devices: []messaging.Device{{DeviceType: "ios", DeviceToken: "t-1"}, {DeviceType: "ios", DeviceToken: "t-2"}}}
	grace := messaging.CustomerParams{CustomerID: "c-2"}
	email := messaging.EmailBroadcastParams{SenderEmail: "sender@acme.test", SenderName: "Acme", Email: "list@acme.test", Subject: "s",
		Message: "m", MessageType: "t", ReplyTo: []string{"reply@acme.test"}, CC: []string{"cc@acme.test"},
		BCC: []string{"b1@acme.test", "b2@acme.test"}}
	withAudience := func(to messaging.Audience) messaging.EmailBroadcastParams { p := email; p.To = to; return p }
	deep := any("x")
	for range 99 {
		deep = []any{deep}
	}
	tests := []struct {
		name    string
		prepare func() (*messaging.Prepared, error)
		want    messaging.Recipients
	}{
		{"an email to customers and segments",
			withAudience(messaging.ToEach(messaging.ToCustomers(ada, grace), messaging.ToSegments("s-1"))).Prepare,
			messaging.Recipients{Segments: []string{"s-1"}, Customers: 2, CustomerIDs: []string{"c-1", "c-2"}, Phones: []string{"+331"}, Devices: 2,
				Emails: []string{"list@acme.test", "cc@acme.test", "b1@acme.test", "b2@acme.test", "ada@example.com"}}},
		{"an email to everyone", withAudience(messaging.AllCustomers()).Prepare,
			messaging.Recipients{Everyone: true, Emails: []string{"list@acme.test", "cc@acme.test", "b1@acme.test", "b2@acme.test"}}},
		{"a push to one customer", messaging.PushBroadcastParams{Subject: "s", Message: "m", To: messaging.ToCustomers(grace)}.Prepare,
			messaging.Recipients{Customers: 1, CustomerIDs: []string{"c-2"}}},
		{"a push to segments", messaging.PushBroadcastParams{Subject: "s", Message: "m", To: messaging.ToSegments("s-1", "s-2"),
			Schedule: &messaging.Schedule{Date: "2031-03-04", Timezone: "UTC"}}.Prepare, messaging.Recipients{Segments: []string{"s-1", "s-2"}}},
		{"a trigger by address", messaging.EventTriggerParams{EventID: "e", Email: "ada@example.com", Values: map[string]any{
			"cc": []any{"value@acme.test"}, "deep": deep}}.Prepare, messaging.Recipients{Emails: []string{"ada@example.com"}}},
		{"a trigger by customer and address", messaging.EventTriggerParams{EventID: "e", Email: "ada@example.com", Customer: &grace}.Prepare,
			messaging.Recipients{Customers: 1, CustomerIDs: []string{"c-2"}, Emails: []string{"ada@example.com"}}},
		{"an event to create", pingEvent.Prepare,
			messaging.Recipients{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, err := test.prepare()
			require.NoError(t, err)
			assert.Equal(t, test.want, p.Recipients())
		})
	}
}

func TestRecipientsOfAStoredBodyAreReadStrictly(t *testing.T) {
	const email, push, trigger, create = "send email broadcast", "send push broadcast", "trigger event", "create event"
	unmodelled := messaging.Recipients{Unmodelled: true}
	tests := []struct {
		name, operation, body string
		want                  messaging.Recipients
	}{
		{"a member that the SDK does not write", push, `{"all_customers":true,"audience":"vip"}`, unmodelled},
		{"a member in capitals", push, `{"All_Customers":true}`, unmodelled},
		{"a member spelled with an escape", push, `{"all\u005fcustomers":true}`, messaging.Recipients{Everyone: true}},
		{"all customers as text", push, `{"all_customers":"true"}`, unmodelled},
		{"all customers twice", push, `{"all_customers":true,"all_customers":false}`, messaging.Recipients{Everyone: true}},
		{"nobody", push, `{"subject":"s"}`, unmodelled},
		{"all customers false and nobody", push, `{"all_customers":false,"recipients":[]}`, unmodelled},
		{"a recipient of another type", push, `{"recipients":{"type":"list","segments":["a"]}}`, unmodelled},
		{"a recipient that is empty", push, `{"recipients":[{"type":"segment","segments":["a"]},{"type":"segment"}]}`, unmodelled},
		{"a recipient without a type", push, `{"recipients":{"customers":[{"customer_id":"c"}]}}`, unmodelled},
		{"a recipient with two types", push, `{"recipients":{"type":"segment","type":"customer","customers":[{"customer_id":"c"}]}}`, unmodelled},
		{"a segment with customers", push, `{"recipients":{"type":"segment","segments":["s"],"customers":[{"customer_id":"c"}]}}`, unmodelled},
		{"a segment that lists customers alone", push, `{"recipients":{"type":"segment","customers":[{"customer_id":"c"}]}}`, unmodelled},
		{"an empty segment", push, `{"recipients":{"type":"segment","segments":["s",""]}}`, unmodelled},
		{"a null segment", push, `{"recipients":{"type":"segment","segments":[null]}}`, unmodelled},
		{"an empty address", push, `{"recipients":{"type":"customer","customers":[{"customer_id":"c","email":""}]}}`, unmodelled},
		{"a customer without an identity", push, `{"recipients":{"type":"customer","customers":[{"first_name":"Ada"}]}}`, unmodelled},
		{"a customer with another member", push, `{"recipients":{"type":"customer","customers":[{"customer_id":"c","alias":"x"}]}}`, unmodelled},
		{"a customer with an id that is a number", push, `{"recipients":{"type":"customer","customers":[{"customer_id":7}]}}`,
			messaging.Recipients{Customers: 1, CustomerIDs: []string{"7"}}},
		{"a customer with two addresses", push, `{"recipients":{"type":"customer","customers":[{"email":"a@b.c","email":"d@e.f"}]}}`,
			messaging.Recipients{Customers: 1, Emails: []string{"a@b.c", "d@e.f"}}},
		{"a list in the place of an address", email, `{"all_customers":true,"email":["a@b.c"]}`, unmodelled},
		{"an address in the place of a list", email, `{"all_customers":true,"cc":"a@b.c"}`, unmodelled},
		{"an address that is not in UTF-8", trigger, `{"payload":{"email":"a@b.\ud800"}}`, unmodelled},
		{"a trigger for nobody", trigger, `{"event_id":"e","payload":{"sku":"x"}}`, unmodelled},
		{"a trigger without a payload", trigger, `{"event_id":"e"}`, unmodelled},
		{"a trigger with another member", trigger, `{"event_id":"e","payload":{"email":"a@b.c"},"customer":{}}`, unmodelled},
		{"a trigger with two payloads", trigger, `{"payload":{"email":"a@b.c"},"payload":{"email":"d@e.f"}}`,
			messaging.Recipients{Emails: []string{"a@b.c", "d@e.f"}}},
		{"an event with recipients", create, `{"name":"n","recipients":{"type":"segment","segments":["a"]}}`, unmodelled},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.want, stored(t, test.operation, test.body).Recipients())
		})
	}
}

// stored is a Prepared that another program may have stored.
func stored(t *testing.T, operation, body string) *messaging.Prepared {
	t.Helper()
	data, err := json.Marshal(map[string]string{"operation": operation, "body": body})
	require.NoError(t, err)
	p := new(messaging.Prepared)
	require.NoError(t, json.Unmarshal(data, p))
	return p
}

func TestRecipientsOfDoAreUnmodelledWhateverItsName(t *testing.T) {
	var asked []*messaging.Prepared
	client, _ := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, scripted.Success)},
		messaging.WithGuard(func(_ context.Context, p *messaging.Prepared) error { asked = append(asked, p); return nil }))
	for _, name := range []string{"create event", "trigger event", ""} {
		_, err := client.Do(t.Context(), messaging.Request{Op: name, Method: "POST", Path: "/v1/events",
			Body: map[string]any{"name": "n", "description": "d", "parameters": []string{}}})
		require.NoError(t, err)
	}
	require.Len(t, asked, 3)
	for _, p := range asked {
		assert.Equal(t, messaging.Recipients{Unmodelled: true}, p.Recipients())
	}
}
