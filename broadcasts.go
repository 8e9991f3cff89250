package messaging

import (
	"context"
	"net/http"
)

// BroadcastsService sends e-mail and push broadcasts; see [Client.Broadcasts].
type BroadcastsService service

var (
	sendEmail = operation{name: "send email broadcast", method: http.MethodPost, path: "/v1/broadcast/send/email",
		subject: "the broadcast", done: "sent"}
	sendPush = operation{name: "send push broadcast", method: http.MethodPost, path: "/v1/broadcast/send/push-notification",
		subject: "the broadcast", done: "sent"}
)

// SendEmail sends an e-mail broadcast, now or at p.Schedule. The service creates or
// updates the customers in p.To.
//
// The call is retried only where the service certainly did nothing, so that the
// broadcast is not sent twice unless [WithRepeatableSend] allows it. On an error,
// [DeliveryOf] tells whether the broadcast may have been sent, and [Retryable]
// whether to send it again. Invalid arguments are a [*ValidationError].
//
// API: POST /v1/broadcast/send/email
func (s *BroadcastsService) SendEmail(ctx context.Context, p EmailBroadcastParams, opts ...RequestOption) (*Response, error) {
	return s.core.call(ctx, call{operation: sendEmail, params: &p}, opts)
}

// SendPush sends a push notification broadcast, now or at p.Schedule, to the
// devices of the customers in p.To. The service stores the devices given there.
//
// Retries and errors are those of [BroadcastsService.SendEmail].
//
// API: POST /v1/broadcast/send/push-notification
func (s *BroadcastsService) SendPush(ctx context.Context, p PushBroadcastParams, opts ...RequestOption) (*Response, error) {
	return s.core.call(ctx, call{operation: sendPush, params: &p}, opts)
}

// EmailBroadcastParams describes an e-mail broadcast. SenderEmail, SenderName,
// Email, Subject, Message, MessageType and To are required.
type EmailBroadcastParams struct {
	SenderEmail string
	// SenderName is a display name, such as "Acme Billing".
	SenderName string
	// Email is the recipient address. The service does not document how it relates
	// to To; its samples have both.
	Email   string
	Subject string
	// CC, BCC and ReplyTo are e-mail addresses.
	CC, BCC, ReplyTo []string
	// Message is the content. It is required even with a template; the template ids
	// are optional.
	Message    string
	TemplateID string
	// EmailTemplateID is the id of an e-mail template, distinct from TemplateID.
	EmailTemplateID string
	// Variables are the variables of the template. encoding/json writes the values;
	// one that it can't write is a [*ValidationError].
	Variables map[string]any
	// MessageType is the kind of message. The service does not document its
	// values, so any string is sent.
	MessageType string
	// To is the audience. The zero Audience is refused.
	To Audience
	// Schedule is the time to send; nil sends now.
	Schedule *Schedule
}

func (p *EmailBroadcastParams) validate(problems *problems) {
	problems.requiredEmail("sender_email", p.SenderEmail)
	problems.requiredText("sender_name", p.SenderName)
	problems.requiredEmail("email", p.Email)
	problems.requiredText("subject", p.Subject)
	problems.emails("cc", p.CC)
	problems.emails("bcc", p.BCC)
	problems.emails("reply_to", p.ReplyTo)
	problems.requiredText("message", p.Message)
	problems.text("template_id", p.TemplateID)
	problems.text("email_template_id", p.EmailTemplateID)
	problems.requiredText("message_type", p.MessageType)
	validateAudienceAndSchedule(problems, p.To, p.Schedule)
}

// emailBroadcastBody is the wire form of EmailBroadcastParams.
type emailBroadcastBody struct {
	SenderEmail     string         `json:"sender_email"`
	SenderName      string         `json:"sender_name"`
	Email           string         `json:"email"`
	Subject         string         `json:"subject"`
	CC              []string       `json:"cc,omitempty"`
	BCC             []string       `json:"bcc,omitempty"`
	ReplyTo         []string       `json:"reply_to,omitempty"`
	Message         string         `json:"message"`
	TemplateID      string         `json:"template_id,omitempty"`
	EmailTemplateID string         `json:"email_template_id,omitempty"`
	Variables       map[string]any `json:"variables,omitempty"`
	MessageType     string         `json:"message_type"`
	broadcastBody
}

func (p *EmailBroadcastParams) wire(problems *problems) any {
	return &emailBroadcastBody{
		SenderEmail: p.SenderEmail, SenderName: p.SenderName, Email: p.Email, Subject: p.Subject,
		CC: p.CC, BCC: p.BCC, ReplyTo: p.ReplyTo,
		Message: p.Message, TemplateID: p.TemplateID, EmailTemplateID: p.EmailTemplateID,
		Variables:     templateValues(problems.in("variables"), p.Variables),
		MessageType:   p.MessageType,
		broadcastBody: newBroadcastBody(problems, p.To, p.Schedule),
	}
}

// PushBroadcastParams describes a push notification broadcast. Subject, Message
// and To are required.
type PushBroadcastParams struct {
	Subject string
	Message string
	// WhatsAppTemplateID is optional: the service lists it as required, but its own
	// samples omit it.
	WhatsAppTemplateID string
	// To is the audience: all customers, customers or segments. The zero Audience is
	// refused.
	To Audience
	// Schedule is the time to send; nil sends now.
	Schedule *Schedule
}

func (p *PushBroadcastParams) validate(problems *problems) {
	problems.requiredText("subject", p.Subject)
	problems.requiredText("message", p.Message)
	problems.text("whatsapp_template_id", p.WhatsAppTemplateID)
	validateAudienceAndSchedule(problems, p.To, p.Schedule)
}

// pushBroadcastBody is the wire form of PushBroadcastParams.
type pushBroadcastBody struct {
	Subject            string `json:"subject"`
	Message            string `json:"message"`
	WhatsAppTemplateID string `json:"whatsapp_template_id,omitempty"`
	broadcastBody
}

func (p *PushBroadcastParams) wire(problems *problems) any {
	return &pushBroadcastBody{
		Subject: p.Subject, Message: p.Message, WhatsAppTemplateID: p.WhatsAppTemplateID,
		broadcastBody: newBroadcastBody(problems, p.To, p.Schedule),
	}
}

func (p *EmailBroadcastParams) audience() Audience { return p.To }
func (p *PushBroadcastParams) audience() Audience  { return p.To }

// broadcastBody is the part that both kinds of broadcast share, without the
// recipients, which are written after it.
type broadcastBody struct {
	AllCustomers bool      `json:"all_customers,omitempty"`
	ScheduleType string    `json:"schedule_type"`
	ScheduleDate *Schedule `json:"schedule_date,omitempty"`
}

func newBroadcastBody(p *problems, to Audience, at *Schedule) broadcastBody {
	if to.problem != "" {
		p.add("recipients", to.problem)
	}
	return broadcastBody{AllCustomers: to.all, ScheduleType: at.wireType(), ScheduleDate: at}
}

func validateAudienceAndSchedule(p *problems, to Audience, at *Schedule) {
	to.validate(p)
	if at != nil {
		at.validate(p.in("schedule_date"))
	}
}
