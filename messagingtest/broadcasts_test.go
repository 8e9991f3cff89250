package messagingtest_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

const (
	emailPath = "/v1/broadcast/send/email"

	soundEmail = `{"sender_email":"shop@example.com","sender_name":"The Shop","email":"ada@example.com",
		"subject":"Hello","message":"Hello, Ada.","message_type":"otp","all_customers":true,"schedule_type":"send-now"}`
	soundPush = `{"subject":"Hello","message":"Hello, everyone.","all_customers":true,"schedule_type":"send-now"}`
)

// audienceCases are about what both kinds of broadcast have in common.
var audienceCases = []refusedCase{
	{"nobody to send to", `{"all_customers":null}`,
		map[string][]string{"recipients": {"is required when all_customers is not true"}}},
	{"no recipient beside false", `{"all_customers":false,"recipients":[]}`,
		map[string][]string{"recipients": {"is required when all_customers is not true"}}},
	{"recipients that are no list", `{"all_customers":false,"recipients":"everyone"}`,
		map[string][]string{"recipients": {"must be an array"}}},
	{"recipients are checked beside all customers too", `{"recipients":[{"type":"nobody"}]}`,
		map[string][]string{"recipients.0.type": {"must be customer or segment"}}},
	{"all_customers as text", `{"all_customers":"true"}`, map[string][]string{
		"all_customers": {"must be a boolean"},
		"recipients":    {"is required when all_customers is not true"}}},
	{"a recipient that is no object", `{"recipients":["ada@example.com"]}`, map[string][]string{
		"recipients.0":      {"must be an object"},
		"recipients.0.type": {"is required"}}},
	{"a recipient of no type", `{"recipients":{"customers":[{"email":"ada@example.com"}]}}`,
		map[string][]string{"recipients.0.type": {"is required"}}},
	{"no customer in a recipient", `{"recipients":{"type":"customer","segments":["vip"]}}`,
		map[string][]string{"recipients.0.customers": {"is required when the type is customer"}}},
	{"no segment in a recipient", `{"recipients":{"type":"segment","segments":[]}}`,
		map[string][]string{"recipients.0.segments": {"is required when the type is segment"}}},
	{"an empty segment", `{"recipients":{"type":"segment","segments":["vip",""]}}`,
		map[string][]string{"recipients.0.segments.1": {"is required"}}},
	{"every customer is checked, each under its own path", `{"recipients":[
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
			"recipients.1.customers.2.email":                  {"must be an e-mail address"},
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
	{"no schedule type", `{"schedule_type":null}`,
		map[string][]string{"schedule_type": {"is required"}}},
	{"an unknown schedule type", `{"schedule_type":"now"}`,
		map[string][]string{"schedule_type": {"must be send-now or send-later"}}},
	{"later, and not when", `{"schedule_type":"send-later"}`,
		map[string][]string{"schedule_date": {"is required when schedule_type is send-later"}}},
	{"a schedule as text", `{"schedule_type":"send-later","schedule_date":"2030-05-01"}`, map[string][]string{
		"schedule_date":               {"must be an object"},
		"schedule_date.schedule_date": {"is required"},
		"schedule_date.timezone":      {"is required"}}},
	{"half a schedule", `{"schedule_type":"send-later","schedule_date":{"schedule_date":"2030-05-01"}}`,
		map[string][]string{"schedule_date.timezone": {"is required"}}},
	{"the other half", `{"schedule_type":"send-later","schedule_date":{"timezone":"UTC"}}`,
		map[string][]string{"schedule_date.schedule_date": {"is required"}}},
}

func TestEmailBroadcastsThatBreakTheRulesAreRefused(t *testing.T) {
	s := messagingtest.NewServer(t)
	checkRefused(t, s, emailPath, soundEmail, append(audienceCases, []refusedCase{
		{"everything that is required and missing is told at once", `{"sender_email":null,"sender_name":"","email":null,
			"subject":null,"message":"","message_type":null,"all_customers":null,"schedule_type":null}`,
			map[string][]string{
				"sender_email": {"is required"}, "sender_name": {"is required"}, "email": {"is required"},
				"subject": {"is required"}, "message": {"is required"}, "message_type": {"is required"},
				"recipients":    {"is required when all_customers is not true"},
				"schedule_type": {"is required"},
			}},
		{"text that is none", `{"subject":5,"template_id":[],"email_template_id":{},"message_type":false}`,
			map[string][]string{
				"subject": {"must be a string"}, "template_id": {"must be a string"},
				"email_template_id": {"must be a string"}, "message_type": {"must be a string"},
			}},
		{"a key in another case is another key", `{"subject":null,"Subject":"Hello"}`,
			map[string][]string{"subject": {"is required"}}},
		{"variables that are no object", `{"variables":["name"]}`,
			map[string][]string{"variables": {"must be an object"}}},
		{"addresses that are none", `{"sender_email":"shop","email":"@example.com","cc":["a@b@c"],
			"bcc":["a@example.com","a b@example.com"],"reply_to":["a@",null,""]}`,
			map[string][]string{
				"sender_email": {"must be an e-mail address"}, "email": {"must be an e-mail address"},
				"cc.0": {"must be an e-mail address"}, "bcc.1": {"must be an e-mail address"},
				"reply_to.0": {"must be an e-mail address"}, "reply_to.1": {"is required"}, "reply_to.2": {"is required"},
			}},
		{"a list of addresses that is none", `{"cc":"a@example.com"}`,
			map[string][]string{"cc": {"must be an array"}}},
	}...))
}

func TestPushBroadcastsThatBreakTheRulesAreRefused(t *testing.T) {
	s := messagingtest.NewServer(t)
	checkRefused(t, s, pushPath, soundPush, append(audienceCases, []refusedCase{
		{"everything that is required and missing is told at once",
			`{"subject":null,"message":null,"all_customers":null,"schedule_type":null}`,
			map[string][]string{
				"subject": {"is required"}, "message": {"is required"},
				"recipients":    {"is required when all_customers is not true"},
				"schedule_type": {"is required"},
			}},
		{"a template id that is no text", `{"whatsapp_template_id":7}`,
			map[string][]string{"whatsapp_template_id": {"must be a string"}}},
	}...))
}

func TestBroadcastsAreAnsweredInTheWordsOfTheService(t *testing.T) {
	s := messagingtest.NewServer(t)
	assert.Equal(t, `{"success":true,"data":null,"message":"Email Broadcast sent successfully"}`,
		post(t, s, emailPath, soundEmail).Body)
	assert.Equal(t, `{"success":true,"data":null,"message":"Push notification broadcast sent successfully"}`,
		post(t, s, pushPath, soundPush).Body)
}

func TestAnEmailBroadcastIsRecordedInFull(t *testing.T) {
	s := messagingtest.NewServer(t)
	params := messaging.EmailBroadcastParams{
		SenderEmail: "shop@example.com", SenderName: "The Shop", Email: "ada@example.com", Subject: "Hello",
		CC: []string{"cc@example.com"}, BCC: []string{"bcc@example.com"}, ReplyTo: []string{"reply@example.com"},
		Message: "<p>Hello & welcome</p>", TemplateID: "template", EmailTemplateID: "email template",
		Variables:   map[string]any{"name": "Ada", "items": []string{"book"}, "total": 19.5},
		MessageType: "otp",
		To: messaging.ToEach(
			messaging.ToCustomers(messaging.CustomerParams{CustomerID: "c-1", Email: "ada@example.com", FirstName: "Ada",
				LastName: "Lovelace", PhoneNo: "+44123", Devices: []messaging.Device{{DeviceType: "ios", DeviceToken: "t-1"}}}),
			messaging.ToSegments("vip", "new")),
		Schedule: &messaging.Schedule{Date: "2030-05-01 09:30:00", Timezone: "Europe/Paris"},
	}
	_, err := s.Client().Broadcasts.SendEmail(t.Context(), params)
	require.NoError(t, err)
	assert.Equal(t, []messagingtest.EmailBroadcast{{
		SenderEmail: params.SenderEmail, SenderName: params.SenderName, Email: params.Email, Subject: params.Subject,
		CC: params.CC, BCC: params.BCC, ReplyTo: params.ReplyTo,
		Message: params.Message, TemplateID: params.TemplateID, EmailTemplateID: params.EmailTemplateID,
		Variables:   map[string]any{"name": "Ada", "items": []any{"book"}, "total": 19.5},
		MessageType: params.MessageType,
		Recipients:  params.To.Recipients(),
		Schedule:    params.Schedule,
	}}, s.EmailBroadcasts())
}

func TestAPushBroadcastIsRecordedInFull(t *testing.T) {
	s := messagingtest.NewServer(t)
	params := messaging.PushBroadcastParams{
		Subject: "Hello", Message: "Hello, Ada.", WhatsAppTemplateID: "template",
		To:       messaging.ToCustomers(messaging.CustomerParams{Email: "ada@example.com"}),
		Schedule: &messaging.Schedule{Date: "2030-05-01", Timezone: "UTC"},
	}
	_, err := s.Client().Broadcasts.SendPush(t.Context(), params)
	require.NoError(t, err)
	assert.Equal(t, []messagingtest.PushBroadcast{{
		Subject: params.Subject, Message: params.Message, WhatsAppTemplateID: params.WhatsAppTemplateID,
		Recipients: params.To.Recipients(), Schedule: params.Schedule,
	}}, s.PushBroadcasts())
}

func TestBothKindsOfBroadcastCreateTheirCustomers(t *testing.T) {
	for path, sound := range map[string]string{emailPath: soundEmail, pushPath: soundPush} {
		t.Run(path, func(t *testing.T) {
			s := messagingtest.NewServer(t)
			post(t, s, path, changed(t, sound, `{"recipients":[{"type":"customer","customers":[{"customer_id":"c-1"}]},
				{"type":"customer","customers":[{"customer_id":"c-2"},{"customer_id":"c-3"}]}]}`))
			assert.Equal(t, []messaging.CustomerParams{{CustomerID: "c-1"}, {CustomerID: "c-2"}, {CustomerID: "c-3"}}, known(s))
		})
	}
}

func TestBroadcastsAreRecordedInOrder(t *testing.T) {
	s := messagingtest.NewServer(t)
	for _, subject := range []string{"first", "second", "third"} {
		post(t, s, emailPath, changed(t, soundEmail, `{"subject":"`+subject+`"}`))
		post(t, s, pushPath, changed(t, soundPush, `{"subject":"`+subject+`"}`))
	}
	require.Len(t, s.EmailBroadcasts(), 3)
	require.Len(t, s.PushBroadcasts(), 3)
	for i, subject := range []string{"first", "second", "third"} {
		assert.Equal(t, subject, s.EmailBroadcasts()[i].Subject)
		assert.True(t, s.EmailBroadcasts()[i].AllCustomers)
		assert.Equal(t, subject, s.PushBroadcasts()[i].Subject)
		assert.True(t, s.PushBroadcasts()[i].AllCustomers)
	}
}

func TestRecipientsAreAnObjectOrAList(t *testing.T) {
	one := `{"type":"segment","segments":["vip"]}`
	for name, recipients := range map[string]string{"an object": one, "a list": "[" + one + "]"} {
		t.Run(name, func(t *testing.T) {
			s := messagingtest.NewServer(t)
			post(t, s, pushPath, changed(t, soundPush, `{"all_customers":null,"recipients":`+recipients+`}`))
			require.Len(t, s.PushBroadcasts(), 1)
			assert.Equal(t, []messaging.Recipient{{Type: messaging.RecipientSegment, Segments: []string{"vip"}}},
				s.PushBroadcasts()[0].Recipients)
		})
	}
}

func TestAScheduleDateCountsOnlyForLater(t *testing.T) {
	s := messagingtest.NewServer(t)
	post(t, s, pushPath, changed(t, soundPush, `{"schedule_date":{"schedule_date":"2030-05-01","timezone":"UTC"}}`))
	require.Len(t, s.PushBroadcasts(), 1)
	assert.Nil(t, s.PushBroadcasts()[0].Schedule)
}

func TestARecordedBroadcastIsACopy(t *testing.T) {
	s := messagingtest.NewServer(t)
	audience := `{"all_customers":null,"schedule_type":"send-later","schedule_date":{"schedule_date":"2030","timezone":"UTC"},
		"recipients":[{"type":"customer","customers":[{"email":"ada@example.com","devices":[{"device_token":"t"}]}]},
			{"type":"segment","segments":["vip"]}]}`
	post(t, s, pushPath, changed(t, soundPush, audience))
	email := changed(t, soundEmail, `{"cc":["a@example.com"],"bcc":["a@example.com"],"reply_to":["a@example.com"],
		"variables":{"name":"Ada","items":[{"title":"book"}]}}`)
	post(t, s, emailPath, changed(t, email, audience))

	push, mail := s.PushBroadcasts(), s.EmailBroadcasts()
	wantPush, wantMail := written(t, push), written(t, mail)
	push[0].Schedule.Timezone = "changed"
	push[0].Recipients[0].Customers[0].Devices[0].DeviceToken = "changed"
	push[0].Recipients[1].Segments[0] = "changed"
	mail[0].CC[0], mail[0].BCC[0], mail[0].ReplyTo[0] = "changed", "changed", "changed"
	mail[0].Variables["name"] = "changed"
	mail[0].Variables["items"].([]any)[0].(map[string]any)["title"] = "changed"
	mail[0].Schedule.Date = "changed"
	mail[0].Recipients[0].Customers[0].Email = "changed"
	assert.Equal(t, wantPush, written(t, s.PushBroadcasts()))
	assert.Equal(t, wantMail, written(t, s.EmailBroadcasts()))
	assert.Equal(t, "t", s.Customers()[0].Devices[0].DeviceToken)
}
