package messagingtest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

const (
	emailPath = "/v1/broadcast/send/email"

	validEmail = `{"sender_email":"shop@example.com","sender_name":"The Shop","email":"ada@example.com",
		"subject":"Hello","message":"Hello, Ada.","message_type":"otp","all_customers":true,"schedule_type":"send-now"}`
	validPush = `{"subject":"Hello","message":"Hello, everyone.","all_customers":true,"schedule_type":"send-now"}`
)

// audienceCases are the invalid changes that apply to both kinds of broadcast.
var audienceCases = []refusedCase{
	{"neither all customers nor recipients", `{"all_customers":null}`,
		map[string][]string{"recipients": {"is required when all_customers is not true"}}},
	{"all_customers is false and recipients is empty", `{"all_customers":false,"recipients":[]}`,
		map[string][]string{"recipients": {"is required when all_customers is not true"}}},
	{"recipients is not an array", `{"all_customers":false,"recipients":"everyone"}`,
		map[string][]string{"recipients": {"must be an array"}}},
	{"recipients are checked even if all_customers is true", `{"recipients":[{"type":"nobody"}]}`,
		map[string][]string{"recipients.0.type": {"must be customer or segment"}}},
	{"all_customers is a string", `{"all_customers":"true"}`, map[string][]string{
		"all_customers": {"must be a boolean"},
		"recipients":    {"is required when all_customers is not true"}}},
	{"a recipient is not an object", `{"recipients":["ada@example.com"]}`, map[string][]string{
		"recipients.0":      {"must be an object"},
		"recipients.0.type": {"is required"}}},
	{"a recipient has no type", `{"recipients":{"customers":[{"email":"ada@example.com"}]}}`,
		map[string][]string{"recipients.0.type": {"is required"}}},
	{"a customer recipient has no customers", `{"recipients":{"type":"customer","segments":["vip"]}}`,
		map[string][]string{"recipients.0.customers": {"is required when the type is customer"}}},
	{"a segment recipient has no segments", `{"recipients":{"type":"segment","segments":[]}}`,
		map[string][]string{"recipients.0.segments": {"is required when the type is segment"}}},
	{"a segment is empty", `{"recipients":{"type":"segment","segments":["vip",""]}}`,
		map[string][]string{"recipients.0.segments.1": {"is required"}}},
	{"every customer is checked under its own path", `{"recipients":[
			{"type":"segment","segments":["vip"]},
			{"type":"customer","customers":[
				{"email":"ada@example.com"},
				{"first_name":"Grace"},
				{"email":"not an address"},
				{"customer_id":7,"phone_no":"0170","first_name":[],"last_name":{}},
				null,
				{"customer_id":"c","devices":[{"device_type":1,"device_token":2},null]}]}]}`,
		map[string][]string{
			"recipients.1.customers.1.customer_id":            {"is required when there is no email"},
			"recipients.1.customers.1.email":                  {"is required when there is no customer_id"},
			"recipients.1.customers.2.email":                  {"must be an email address"},
			"recipients.1.customers.3.customer_id":            {"must be a string"},
			"recipients.1.customers.3.email":                  {"is required when there is no customer_id"},
			"recipients.1.customers.3.phone_no":               {"must be in international format, starting with +"},
			"recipients.1.customers.3.first_name":             {"must be a string"},
			"recipients.1.customers.3.last_name":              {"must be a string"},
			"recipients.1.customers.4.customer_id":            {"is required when there is no email"},
			"recipients.1.customers.4.email":                  {"is required when there is no customer_id"},
			"recipients.1.customers.5.devices.0.device_type":  {"must be a string"},
			"recipients.1.customers.5.devices.0.device_token": {"must be a string"},
			"recipients.1.customers.5.devices.1":              {"must be an object"},
		}},
	{"the schedule type is missing", `{"schedule_type":null}`,
		map[string][]string{"schedule_type": {"is required"}}},
	{"the schedule type is unknown", `{"schedule_type":"now"}`,
		map[string][]string{"schedule_type": {"must be send-now or send-later"}}},
	{"the schedule date is missing", `{"schedule_type":"send-later"}`,
		map[string][]string{"schedule_date": {"is required when schedule_type is send-later"}}},
	{"the schedule date is a string", `{"schedule_type":"send-later","schedule_date":"2030-05-01"}`, map[string][]string{
		"schedule_date":               {"must be an object"},
		"schedule_date.schedule_date": {"is required"},
		"schedule_date.timezone":      {"is required"}}},
	{"the schedule has no time zone", `{"schedule_type":"send-later","schedule_date":{"schedule_date":"2030-05-01"}}`,
		map[string][]string{"schedule_date.timezone": {"is required"}}},
	{"the schedule has no date", `{"schedule_type":"send-later","schedule_date":{"timezone":"UTC"}}`,
		map[string][]string{"schedule_date.schedule_date": {"is required"}}},
	{"the schedule date is no date", `{"schedule_type":"send-later","schedule_date":{"schedule_date":"tomorrow","timezone":"UTC"}}`,
		map[string][]string{"schedule_date.schedule_date": {"must be a date such as 2030-01-31 09:00:00"}}},
	{"the time zone does not exist",
		`{"schedule_type":"send-later","schedule_date":{"schedule_date":"2030-05-01","timezone":"Europe/Atlantis"}}`,
		map[string][]string{"schedule_date.timezone": {"must be a time zone such as Europe/Berlin"}}},
	{"the schedule date is an array without a time zone", `{"schedule_type":"send-later","schedule_date":[{"schedule_date":"2030-05-01"},7]}`,
		map[string][]string{"schedule_date.timezone": {"is required"}, "schedule_date.1": {"must be an object"}}},
}

func TestBroadcastsCanHaveTheirScheduleAsAnArray(t *testing.T) {
	want := &messaging.Schedule{Date: "2030-05-01 09:30:00", Timezone: "Europe/Paris"}
	for _, date := range []string{`[{"schedule_date":"2030-05-01 09:30:00"},{"timezone":"Europe/Paris"}]`,
		`[{"schedule_date":"2030-05-01 09:30:00","timezone":"Europe/Paris"}]`} {
		s := messagingtest.NewServer(t)
		post(t, s, pushPath, changed(t, validPush, `{"schedule_type":"send-later","schedule_date":`+date+`}`))
		require.Len(t, s.PushBroadcasts(), 1, date)
		assert.Equal(t, want, s.PushBroadcasts()[0].Params.Schedule)
	}
}

func TestBroadcastsByEmailAreValidated(t *testing.T) {
	s := messagingtest.NewServer(t)
	checkRefused(t, s, emailPath, validEmail, append(audienceCases, []refusedCase{
		{"all missing fields are reported together", `{"sender_email":null,"sender_name":"","email":null,
			"subject":null,"message":"","message_type":null,"all_customers":null,"schedule_type":null}`,
			map[string][]string{
				"sender_email": {"is required"}, "sender_name": {"is required"}, "email": {"is required"},
				"subject": {"is required"}, "message": {"is required"}, "message_type": {"is required"},
				"recipients":    {"is required when all_customers is not true"},
				"schedule_type": {"is required"},
			}},
		{"string fields have other types", `{"subject":5,"template_id":[],"email_template_id":{},"message_type":false}`,
			map[string][]string{
				"subject": {"must be a string"}, "template_id": {"must be a string"},
				"email_template_id": {"must be a string"}, "message_type": {"must be a string"},
			}},
		{"keys are case-sensitive", `{"subject":null,"Subject":"Hello"}`,
			map[string][]string{"subject": {"is required"}}},
		{"variables is not an object", `{"variables":["name"]}`,
			map[string][]string{"variables": {"must be an object"}}},
		{"email addresses are invalid", `{"sender_email":"shop","email":"@example.com","cc":["a@b@c"],
			"bcc":["a@example.com","a b@example.com"],"reply_to":["a@",null,""]}`,
			map[string][]string{
				"sender_email": {"must be an email address"}, "email": {"must be an email address"},
				"cc.0": {"must be an email address"}, "bcc.1": {"must be an email address"},
				"reply_to.0": {"must be an email address"}, "reply_to.1": {"is required"}, "reply_to.2": {"is required"},
			}},
		{"cc is not an array", `{"cc":"a@example.com"}`,
			map[string][]string{"cc": {"must be an array"}}},
	}...))
}

func TestBroadcastsByPushAreValidated(t *testing.T) {
	s := messagingtest.NewServer(t)
	checkRefused(t, s, pushPath, validPush, append(audienceCases, []refusedCase{
		{"all missing fields are reported together",
			`{"subject":null,"message":null,"all_customers":null,"schedule_type":null}`,
			map[string][]string{
				"subject": {"is required"}, "message": {"is required"},
				"recipients":    {"is required when all_customers is not true"},
				"schedule_type": {"is required"},
			}},
		{"the template id is not a string", `{"whatsapp_template_id":7}`,
			map[string][]string{"whatsapp_template_id": {"must be a string"}}},
	}...))
}

func TestBroadcastsHaveTheResponseOfTheService(t *testing.T) {
	s := messagingtest.NewServer(t)
	assert.Equal(t, `{"success":true,"data":null,"message":"Email Broadcast sent successfully"}`,
		post(t, s, emailPath, validEmail).Body)
	assert.Equal(t, `{"success":true,"data":null,"message":"Push notification broadcast sent successfully"}`,
		post(t, s, pushPath, validPush).Body)
}

func TestBroadcastsByEmailAreRecordedWithAllFields(t *testing.T) {
	s := messagingtest.NewServer(t)
	ada := messaging.CustomerParams{CustomerID: "c-1", Email: "ada@example.com", FirstName: "Ada",
		LastName: "Lovelace", PhoneNo: "+44123", Devices: []messaging.Device{{DeviceType: "ios", DeviceToken: "t-1"}}}
	before := time.Now()
	params := messaging.EmailBroadcastParams{
		SenderEmail: "shop@example.com", SenderName: "The Shop", Email: "ada@example.com", Subject: "Hello",
		CC: []string{"cc@example.com"}, BCC: []string{"bcc@example.com"}, ReplyTo: []string{"reply@example.com"},
		Message: "<p>Hello & welcome</p>", TemplateID: "template", EmailTemplateID: "email template",
		Variables:   map[string]any{"name": "Ada", "paid": true, "total": 19.5},
		MessageType: "otp",
		To: messaging.ToEach(
			messaging.ToCustomers(ada),
			messaging.ToSegments("vip", "new")),
		Schedule: &messaging.Schedule{Date: "2030-05-01 09:30:00", Timezone: "Europe/Paris"},
	}
	_, err := s.Client().Broadcasts.SendEmail(t.Context(), params)
	require.NoError(t, err)
	sent := s.EmailBroadcasts()
	require.Len(t, sent, 1)
	assert.Equal(t, params, sent[0].Params)
	assert.False(t, sent[0].Everyone)
	assert.Equal(t, []messaging.CustomerParams{ada}, sent[0].Customers)
	assert.Equal(t, []string{"vip", "new"}, sent[0].Segments)
	assert.WithinRange(t, sent[0].At, before, time.Now())
}

func TestBroadcastsByPushAreRecordedWithAllFields(t *testing.T) {
	s := messagingtest.NewServer(t)
	params := messaging.PushBroadcastParams{
		Subject: "Hello", Message: "Hello, Ada.", WhatsAppTemplateID: "template",
		To:       messaging.ToCustomers(messaging.CustomerParams{Email: "ada@example.com"}),
		Schedule: &messaging.Schedule{Date: "2030-05-01 09:30:00", Timezone: "UTC"},
	}
	_, err := s.Client().Broadcasts.SendPush(t.Context(), params)
	require.NoError(t, err)
	sent := s.PushBroadcasts()
	require.Len(t, sent, 1)
	assert.Equal(t, params, sent[0].Params)
	assert.False(t, sent[0].Everyone)
	assert.Equal(t, []messaging.CustomerParams{{Email: "ada@example.com"}}, sent[0].Customers)
	assert.Empty(t, sent[0].Segments)

	_, err = s.Client().Broadcasts.SendPush(t.Context(), toEveryone)
	require.NoError(t, err)
	assert.Equal(t, toEveryone, s.PushBroadcasts()[1].Params)
	assert.True(t, s.PushBroadcasts()[1].Everyone)
}

func TestBroadcastsCreateTheirCustomers(t *testing.T) {
	for path, body := range map[string]string{emailPath: validEmail, pushPath: validPush} {
		t.Run(path, func(t *testing.T) {
			s := messagingtest.NewServer(t)
			post(t, s, path, changed(t, body, `{"recipients":[{"type":"customer","customers":[{"customer_id":"c-1"}]},
				{"type":"customer","customers":[{"customer_id":"c-2"},{"customer_id":"c-3"}]}]}`))
			assert.Equal(t, []messaging.CustomerParams{{CustomerID: "c-1"}, {CustomerID: "c-2"}, {CustomerID: "c-3"}}, storedParams(s))
		})
	}
}

func TestBroadcastsAcceptRecipientsAsAnObjectOrAnArray(t *testing.T) {
	one := `{"type":"segment","segments":["vip"]}`
	for name, recipients := range map[string]string{"an object": one, "an array": "[" + one + "]"} {
		t.Run(name, func(t *testing.T) {
			s := messagingtest.NewServer(t)
			post(t, s, pushPath, changed(t, validPush, `{"all_customers":null,"recipients":`+recipients+`}`))
			require.Len(t, s.PushBroadcasts(), 1)
			assert.Equal(t, messaging.ToSegments("vip"), s.PushBroadcasts()[0].Params.To)
		})
	}
}

func TestBroadcastsAreReturnedAsCopies(t *testing.T) {
	s := messagingtest.NewServer(t)
	audience := `{"all_customers":null,"schedule_type":"send-later","schedule_date":{"schedule_date":"2030-05-01","timezone":"UTC"},
		"recipients":[{"type":"customer","customers":[{"email":"ada@example.com","devices":[{"device_token":"t"}]}]},
			{"type":"segment","segments":["vip"]}]}`
	post(t, s, pushPath, changed(t, validPush, audience))
	email := changed(t, validEmail, `{"cc":["a@example.com"],"bcc":["a@example.com"],"reply_to":["a@example.com"],
		"variables":{"name":"Ada","items":[{"title":"book"}]}}`)
	post(t, s, emailPath, changed(t, email, audience))

	push, mail := s.PushBroadcasts(), s.EmailBroadcasts()
	wantPush, wantMail := snapshot(t, push), snapshot(t, mail)
	push[0].Params.Schedule.Timezone = "changed"
	push[0].Customers[0].Devices[0].DeviceToken = "changed"
	push[0].Segments[0] = "changed"
	mail[0].Params.CC[0], mail[0].Params.BCC[0], mail[0].Params.ReplyTo[0] = "changed", "changed", "changed"
	mail[0].Params.Variables["name"] = "changed"
	mail[0].Params.Variables["items"].([]any)[0].(map[string]any)["title"] = "changed"
	mail[0].Params.Schedule.Date = "changed"
	mail[0].Customers[0].Email = "changed"
	assert.Equal(t, wantPush, snapshot(t, s.PushBroadcasts()))
	assert.Equal(t, wantMail, snapshot(t, s.EmailBroadcasts()))
	assert.Equal(t, "t", s.Customers()[0].Devices[0].DeviceToken)
}
