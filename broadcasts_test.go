package messaging_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

// emailWith is an email broadcast in order, but for one change.
func emailWith(change func(*messaging.EmailBroadcastParams)) scripted.Call {
	p := messaging.EmailBroadcastParams{
		SenderEmail: "billing@example.com", SenderName: "Acme Billing", Email: "jane@example.com",
		Subject: "Your invoice", Message: "It is due.", MessageType: "invoice", To: messaging.AllCustomers(),
	}
	change(&p)
	return func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
		_, err := c.Broadcasts.SendEmail(ctx, p, opts...)
		return err
	}
}

// pushWith is a push broadcast in order, but for one change.
func pushWith(change func(*messaging.PushBroadcastParams)) scripted.Call {
	p := messaging.PushBroadcastParams{Subject: "Sale", Message: "Today only.", To: messaging.AllCustomers()}
	change(&p)
	return func(ctx context.Context, c *messaging.Client, opts ...messaging.RequestOption) error {
		_, err := c.Broadcasts.SendPush(ctx, p, opts...)
		return err
	}
}

func TestValidationOfAnEmailBroadcast(t *testing.T) {
	type params = messaging.EmailBroadcastParams
	requireInvalidUnlessLifted(t, []invalidCall{
		{"the sender has an address",
			emailWith(func(p *params) { p.SenderEmail = "" }), []string{"sender_email is required"}},
		{"the address of the sender is well-formed",
			emailWith(func(p *params) { p.SenderEmail = "Canary <canary@example.com>" }), []string{"sender_email must be an email address"}},
		{"the sender has a name",
			emailWith(func(p *params) { p.SenderName = "" }), []string{"sender_name is required"}},
		{"the recipient has an address",
			emailWith(func(p *params) { p.Email = "" }), []string{"email is required"}},
		{"the address of the recipient is well-formed",
			emailWith(func(p *params) { p.Email = "canary@@example.com" }), []string{"email must be an email address"}},
		{"there is a subject",
			emailWith(func(p *params) { p.Subject = "" }), []string{"subject is required"}},
		{"the subject is not blank",
			emailWith(func(p *params) { p.Subject = " \t\u00a0" }), []string{"subject must not be blank"}},
		{"there is a message",
			emailWith(func(p *params) { p.Message = "" }), []string{"message is required"}},
		{"a template does not stand in for the message",
			emailWith(func(p *params) { p.Message, p.TemplateID, p.EmailTemplateID = "", canary, canary }), []string{"message is required"}},
		{"there is a message type",
			emailWith(func(p *params) { p.MessageType = "" }), []string{"message_type is required"}},
		{"every copied address is well-formed",
			emailWith(func(p *params) { p.CC = []string{"jane@example.com", canary} }), []string{"cc.1 must be an email address"}},
		{"no copied address is empty",
			emailWith(func(p *params) { p.CC = []string{""} }), []string{"cc.0 is required"}},
		{"every blindly copied address is well-formed",
			emailWith(func(p *params) { p.BCC = []string{"jane@example.com", "", "@canary"} }),
			[]string{"bcc.1 is required", "bcc.2 must be an email address"}},
		{"every address to reply to is well-formed",
			emailWith(func(p *params) { p.ReplyTo = []string{"canary@", "jane@example.com", ""} }),
			[]string{"reply_to.0 must be an email address", "reply_to.2 is required"}},
		{"every text is valid UTF-8", emailWith(func(p *params) {
			address := notUTF8 + "@example.com"
			*p = params{SenderEmail: address, SenderName: notUTF8, Email: address, Subject: notUTF8,
				CC: []string{address}, BCC: []string{address}, ReplyTo: []string{address},
				Message: notUTF8, TemplateID: notUTF8, EmailTemplateID: notUTF8, MessageType: notUTF8, To: messaging.AllCustomers()}
		}), []string{
			"sender_email must be valid UTF-8", "sender_name must be valid UTF-8", "email must be valid UTF-8", "subject must be valid UTF-8",
			"cc.0 must be valid UTF-8", "bcc.0 must be valid UTF-8", "reply_to.0 must be valid UTF-8",
			"message must be valid UTF-8", "template_id must be valid UTF-8", "email_template_id must be valid UTF-8",
			"message_type must be valid UTF-8",
		}},
		{"everything that is wrong is reported at once, in the order of the fields", emailWith(func(p *params) {
			*p = params{CC: []string{canary}, BCC: []string{canary}, ReplyTo: []string{canary}, Schedule: new(messaging.Schedule)}
		}), []string{
			"sender_email is required", "sender_name is required", "email is required", "subject is required",
			"cc.0 must be an email address", "bcc.0 must be an email address", "reply_to.0 must be an email address",
			"message is required", "message_type is required", "recipients must be AllCustomers or have at least one recipient",
			"schedule_date.schedule_date is required", "schedule_date.timezone is required",
		}},
	})
}

func TestValidationOfAPushBroadcast(t *testing.T) {
	type params = messaging.PushBroadcastParams
	requireInvalidUnlessLifted(t, []invalidCall{
		{"there is a subject",
			pushWith(func(p *params) { p.Subject = "" }), []string{"subject is required"}},
		{"the subject is not blank",
			pushWith(func(p *params) { p.Subject = " " }), []string{"subject must not be blank"}},
		{"there is a message",
			pushWith(func(p *params) { p.Message = "" }), []string{"message is required"}},
		{"every text is valid UTF-8",
			pushWith(func(p *params) { p.Subject, p.Message, p.WhatsAppTemplateID = notUTF8, notUTF8, notUTF8 }),
			[]string{"subject must be valid UTF-8", "message must be valid UTF-8", "whatsapp_template_id must be valid UTF-8"}},
		{"everything that is wrong is reported at once, in the order of the fields",
			pushWith(func(p *params) { *p = params{Schedule: new(messaging.Schedule)} }),
			[]string{"subject is required", "message is required", "recipients must be AllCustomers or have at least one recipient",
				"schedule_date.schedule_date is required", "schedule_date.timezone is required"}},
	})
}

func TestSubjectAndSenderNameAreOneLine(t *testing.T) {
	var refusals []invalidCall
	for name, text := range map[string]string{
		"a CR": canary + "\r", "a line break": "\n" + canary, "a NUL": canary + "\x00", "another header": "Sale\r\nBcc: canary@example.com",
	} {
		refusals = append(refusals,
			invalidCall{"email: " + name, emailWith(func(p *messaging.EmailBroadcastParams) { p.SenderName, p.Subject = text, text }),
				[]string{"sender_name must not contain a line break or a NUL", "subject must not contain a line break or a NUL"}},
			invalidCall{"push: " + name, pushWith(func(p *messaging.PushBroadcastParams) { p.Subject = text }),
				[]string{"subject must not contain a line break or a NUL"}})
	}
	requireAlwaysInvalid(t, refusals)
	scripted.NewGate(t).RequireSent(t, emailWith(func(p *messaging.EmailBroadcastParams) { p.Message = "a\r\nb" }))
}

func TestValidationOfTenThousandCustomers(t *testing.T) {
	customers := make([]messaging.CustomerParams, 10_000)
	for i := range customers {
		customers[i] = messaging.CustomerParams{CustomerID: "42", Email: "jane@example.com", PhoneNo: "+31201234567"}
	}
	toThem := func() scripted.Call {
		return pushWith(func(p *messaging.PushBroadcastParams) { p.To = messaging.ToCustomers(customers...) })
	}
	g := scripted.NewGate(t)
	g.RequireSent(t, toThem())

	customers[9_999].Email = canary
	g.RequireInvalid(t, toThem(), []string{"recipients.0.customers.9999.email must be an email address"})

	for i := range customers {
		customers[i].Email = canary
	}
	refused := scripted.RequireValidationError(t, toThem()(t.Context(), g.Client))
	assert.Equal(t, 10_000, len(refused.Fields))
	assert.Contains(t, refused.Error(), "recipients.0.customers.0.email must be an email address")
}
