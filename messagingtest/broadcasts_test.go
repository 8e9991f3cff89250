package messagingtest_test

import (
	"strings"
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

// later returns the change of a broadcast that is sent at a date.
func later(date string) string { return `{"schedule_type":"send-later","schedule_date":` + date + `}` }

// audienceProblems are the problems of invalid changes that apply to both kinds of broadcast.
var audienceProblems = map[string]string{
	`{"all_customers":null}`:                          "recipients: is required when all_customers is not true",
	`{"all_customers":false,"recipients":[]}`:         "recipients: is required when all_customers is not true",
	`{"all_customers":false,"recipients":"everyone"}`: "recipients: must be an array",
	`{"recipients":[{"type":"nobody"}]}`: "recipients.0.type: " +
		"must be customer or segment", // checked beside all_customers too
	`{"all_customers":"true"}`: "all_customers: " +
		"must be a boolean; recipients: is required when all_customers is not true",
	`{"recipients":["ada@example.com"]}`:                         "recipients.0: must be an object; recipients.0.type: is required",
	`{"recipients":{"customers":[{"email":"ada@example.com"}]}}`: "recipients.0.type: is required",
	`{"recipients":{"type":"customer","segments":["vip"]}}`:      "recipients.0.customers: is required when the type is customer",
	`{"recipients":{"type":"segment","segments":[]}}`:            "recipients.0.segments: is required when the type is segment",
	`{"recipients":{"type":"segment","segments":["vip",""]}}`:    "recipients.0.segments.1: is required",
	`{"recipients":[{"type":"segment","segments":["vip"]},{"type":"customer","customers":[{"email":"ada@example.com"},` +
		`{"first_name":"Grace"},{"email":"not an address"},{"customer_id":7,"phone_no":"0170","first_name":[],"last_name":{}},null,` +
		`{"customer_id":"c","devices":[{"device_type":1,"device_token":2},null]}]}]}`: strings.Join([]string{
		"recipients.1.customers.1.customer_id: is required when there is no email",
		"recipients.1.customers.1.email: is required when there is no customer_id",
		"recipients.1.customers.2.email: must be an email address",
		"recipients.1.customers.3.customer_id: must be a string",
		"recipients.1.customers.3.email: is required when there is no customer_id",
		"recipients.1.customers.3.first_name: must be a string",
		"recipients.1.customers.3.last_name: must be a string",
		"recipients.1.customers.3.phone_no: must be in international format, starting with +",
		"recipients.1.customers.4.customer_id: is required when there is no email",
		"recipients.1.customers.4.email: is required when there is no customer_id",
		"recipients.1.customers.5.devices.0.device_token: must be a string",
		"recipients.1.customers.5.devices.0.device_type: must be a string",
		"recipients.1.customers.5.devices.1: must be an object"}, "; "),
	`{"schedule_type":null}`:         "schedule_type: is required",
	`{"schedule_type":"now"}`:        "schedule_type: must be send-now or send-later",
	`{"schedule_type":"send-later"}`: "schedule_date: is required when schedule_type is send-later",
	later(`"2099-05-01"`): "schedule_date: must be an object; schedule_date.schedule_date: is required; " +
		"schedule_date.timezone: is required",
	later(`{"schedule_date":"2099-05-01"}`):                "schedule_date.timezone: is required",
	later(`{"timezone":"UTC"}`):                            "schedule_date.schedule_date: is required",
	later(`{"schedule_date":"tomorrow","timezone":"UTC"}`): "schedule_date.schedule_date: must be a date such as 2099-01-31 09:00:00",
	later(`{"schedule_date":"2099-05-01","timezone":"Europe/Atlantis"}`): "schedule_date.timezone: must be a time zone such as " +
		"Europe/Berlin",
	later(`[{"schedule_date":"2099-05-01"},7]`): "schedule_date.1: must be an object; schedule_date.timezone: is required",
}

func TestBroadcastsCanHaveObjectsAsArrays(t *testing.T) {
	const object = `{"schedule_date":"2099-05-01 09:30:00","timezone":"Europe/Paris"}`
	const segment = `{"type":"segment","segments":["vip"]}`
	for date, recipients := range map[string]string{object: segment, "[" + object + "]": "[" + segment + "]",
		`[{"schedule_date":"2099-05-01 09:30:00"},{"timezone":"Europe/Paris"}]`: segment} {
		s := messagingtest.NewServer(t)
		post(t, s, pushPath, changed(t, changed(t, validPush, `{"all_customers":null,"recipients":`+recipients+`}`), later(date)))
		require.Len(t, s.PushBroadcasts(), 1, date)
		assert.Equal(t, &messaging.Schedule{Date: "2099-05-01 09:30:00", Timezone: "Europe/Paris"}, s.PushBroadcasts()[0].Params.Schedule)
		assert.Equal(t, messaging.ToSegments("vip"), s.PushBroadcasts()[0].Params.To)
	}
}

func TestBroadcastsByEmailAreValidated(t *testing.T) {
	checkRefused(t, messagingtest.NewServer(t), emailPath, validEmail, audienceProblems, map[string]string{
		`{"sender_email":null,"sender_name":"","email":null,"subject":null,"message":"","message_type":null,"all_customers":null,` +
			`"schedule_type":null}`: "email: is required; message: is required; message_type: is required; " +
			"recipients: is required when all_customers is not true; schedule_type: is required; sender_email: is required; " +
			"sender_name: is required; subject: is required",
		`{"subject":5,"template_id":[],"email_template_id":{},"message_type":false}`: "email_template_id: must be a string; " +
			"message_type: must be a string; subject: must be a string; template_id: must be a string",
		`{"subject":null,"Subject":"Hello"}`: "subject: is required", // keys are case-sensitive
		`{"variables":["name"]}`:             "variables: must be an object",
		`{"sender_email":"shop","email":"@example.com","cc":["a@b@c"],"bcc":["a@example.com","a b@example.com"],` +
			`"reply_to":["a@",null,""]}`: "bcc.1: must be an email address; cc.0: must be an email address; " +
			"email: must be an email address; reply_to.0: must be an email address; reply_to.1: is required; reply_to.2: is required; " +
			"sender_email: must be an email address",
		`{"cc":"a@example.com"}`: "cc: must be an array",
	})
}

func TestBroadcastsByPushAreValidated(t *testing.T) {
	checkRefused(t, messagingtest.NewServer(t), pushPath, validPush, audienceProblems, map[string]string{
		`{"subject":null,"message":null,"all_customers":null,"schedule_type":null}`: "message: is required; " +
			"recipients: is required when all_customers is not true; schedule_type: is required; subject: is required",
		`{"whatsapp_template_id":7}`: "whatsapp_template_id: must be a string",
	})
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
		LastName: "Lovelace", PhoneNo: "+44123", Devices: []messaging.Device{{Type: "ios", Token: "t-1"}}}
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
		Schedule: &messaging.Schedule{Date: "2099-05-01 09:30:00", Timezone: "Europe/Paris"},
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
		Schedule: &messaging.Schedule{Date: "2099-05-01 09:30:00", Timezone: "UTC"},
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
		s := messagingtest.NewServer(t)
		post(t, s, path, changed(t, body, `{"recipients":[{"type":"customer","customers":[{"customer_id":"c-1"}]},
			{"type":"customer","customers":[{"customer_id":"c-2"},{"customer_id":"c-3"}]}]}`))
		assert.Equal(t, []messaging.CustomerParams{{CustomerID: "c-1"}, {CustomerID: "c-2"}, {CustomerID: "c-3"}}, storedParams(s), path)
	}
}
