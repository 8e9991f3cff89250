package messaging

import (
	"context"

	"github.com/messaging-go/messaging/internal/arguments"
	"github.com/messaging-go/messaging/internal/service"
	"github.com/messaging-go/messaging/internal/wire"
)

// BroadcastsService sends email and push broadcasts; see [Client.Broadcasts].
type BroadcastsService resource

// SendEmail sends an email broadcast, now or at p.Schedule. The service creates or
// updates the customers in p.To.
//
// The call is retried only if the service certainly did nothing, so the broadcast is not
// sent twice unless [WithRepeatableSend] allows it. After an error, see [NextStepOf].
//
// API: POST /v1/broadcast/send/email
func (s *BroadcastsService) SendEmail(ctx context.Context, p EmailBroadcastParams, opts ...RequestOption) (*Response, error) {
	return s.core.send(ctx, service.SendEmailBroadcast, &p, nil, opts)
}

// SendPush sends a push notification broadcast, now or at p.Schedule, to the devices of
// the customers in p.To. The service stores the devices that p.To lists.
//
// Retries and errors are like those of [BroadcastsService.SendEmail].
//
// API: POST /v1/broadcast/send/push-notification
func (s *BroadcastsService) SendPush(ctx context.Context, p PushBroadcastParams, opts ...RequestOption) (*Response, error) {
	return s.core.send(ctx, service.SendPushBroadcast, &p, nil, opts)
}

// EmailBroadcastParams describes an email broadcast. SenderEmail, SenderName, Email, Subject,
// Message, MessageType and To are required. SenderName and Subject must be one line.
type EmailBroadcastParams struct {
	SenderEmail string `json:"sender_email"`
	// SenderName is a display name, such as "Acme Billing".
	SenderName string `json:"sender_name"`
	// Email is the recipient address that the service requires in addition to To. The
	// service does not document how the two are related. For a broadcast to many, use
	// your own archive address.
	Email string `json:"email"`
	// Subject must not be blank.
	Subject string   `json:"subject"`
	CC      []string `json:"cc,omitempty"`
	BCC     []string `json:"bcc,omitempty"`
	ReplyTo []string `json:"reply_to,omitempty"`
	// Message is the content. It is required even with a template. The template ids are
	// optional.
	Message    string `json:"message"`
	TemplateID string `json:"template_id,omitempty"`
	// EmailTemplateID is the id of an email template, distinct from TemplateID.
	EmailTemplateID string `json:"email_template_id,omitempty"`
	// Variables are the variables of the template. encoding/json writes the values. A
	// value that it cannot write is invalid.
	Variables map[string]any `json:"variables,omitempty"`
	// MessageType is the kind of message. The service does not document the possible
	// values, so any string is sent.
	MessageType string    `json:"message_type"`
	To          Audience  `json:"-"`
	Schedule    *Schedule `json:"-"` // nil sends now
}

// MarshalJSON returns an error, so that recipients are not lost. Store what Prepare returns.
func (p EmailBroadcastParams) MarshalJSON() ([]byte, error) { return nil, errNoParamsJSON }

// UnmarshalJSON returns an error, like MarshalJSON.
func (p *EmailBroadcastParams) UnmarshalJSON([]byte) error { return errNoParamsJSON }

func (p *EmailBroadcastParams) validate(problems *arguments.Problems) {
	problems.RequiredEmail("sender_email", p.SenderEmail)
	problems.RequiredText("sender_name", p.SenderName)
	problems.RequiredEmail("email", p.Email)
	problems.NotBlank("subject", p.Subject)
	problems.Emails("cc", p.CC)
	problems.Emails("bcc", p.BCC)
	problems.Emails("reply_to", p.ReplyTo)
	problems.RequiredText("message", p.Message)
	problems.Text("template_id", p.TemplateID)
	problems.Text("email_template_id", p.EmailTemplateID)
	problems.RequiredText("message_type", p.MessageType)
	validateAudienceAndSchedule(problems, p.To, p.Schedule)
}

// emailBroadcastBody is the wire form of EmailBroadcastParams.
type emailBroadcastBody struct {
	emailFields
	Variables map[string]any `json:"variables,omitempty"`
	broadcastBody
}

// emailFields are the params without their methods, which would write the whole body.
type emailFields EmailBroadcastParams

// Prepare returns the request of [BroadcastsService.SendEmail], or a [*ValidationError].
func (p EmailBroadcastParams) Prepare() (*Prepared, error) {
	return prepare(service.SendEmailBroadcast, &p)
}

func (p *EmailBroadcastParams) wire(problems *arguments.Problems) any {
	problems.OneLine("sender_name", p.SenderName)
	problems.OneLine("subject", p.Subject)
	return &emailBroadcastBody{
		emailFields:   emailFields(*p),
		Variables:     arguments.TemplateValues(problems.In("variables"), p.Variables),
		broadcastBody: newBroadcastBody(problems, p.To, p.Schedule),
	}
}

// PushBroadcastParams describes a push notification broadcast. Subject, Message
// and To are required.
type PushBroadcastParams struct {
	Subject string `json:"subject"` // one line that is not blank
	Message string `json:"message"`
	// WhatsAppTemplateID is optional: the service lists it as required, but its own
	// samples omit it.
	WhatsAppTemplateID string    `json:"whatsapp_template_id,omitempty"`
	To                 Audience  `json:"-"`
	Schedule           *Schedule `json:"-"` // nil sends now
}

// MarshalJSON returns an error, so that recipients are not lost. Store what Prepare returns.
func (p PushBroadcastParams) MarshalJSON() ([]byte, error) { return nil, errNoParamsJSON }

// UnmarshalJSON returns an error, like MarshalJSON.
func (p *PushBroadcastParams) UnmarshalJSON([]byte) error { return errNoParamsJSON }

func (p *PushBroadcastParams) validate(problems *arguments.Problems) {
	problems.NotBlank("subject", p.Subject)
	problems.RequiredText("message", p.Message)
	problems.Text("whatsapp_template_id", p.WhatsAppTemplateID)
	validateAudienceAndSchedule(problems, p.To, p.Schedule)
}

// pushBroadcastBody is the wire form of PushBroadcastParams.
type pushBroadcastBody struct {
	pushFields
	broadcastBody
}

// pushFields are like emailFields.
type pushFields PushBroadcastParams

// Prepare returns the request of [BroadcastsService.SendPush], or a [*ValidationError].
func (p PushBroadcastParams) Prepare() (*Prepared, error) {
	return prepare(service.SendPushBroadcast, &p)
}

func (p *PushBroadcastParams) wire(problems *arguments.Problems) any {
	problems.OneLine("subject", p.Subject)
	return &pushBroadcastBody{pushFields(*p), newBroadcastBody(problems, p.To, p.Schedule)}
}

// broadcastBody is the part of the body that both kinds of broadcast share.
type broadcastBody struct {
	AllCustomers bool      `json:"all_customers,omitempty"`
	ScheduleType string    `json:"schedule_type"`
	ScheduleDate *Schedule `json:"schedule_date,omitempty"`
	to           Audience  // its recipients are written one by one, after everything else
}

func newBroadcastBody(p *arguments.Problems, to Audience, at *Schedule) broadcastBody {
	to.checkAlways(p)
	at.checkAlways(p)
	return broadcastBody{AllCustomers: to.all, ScheduleType: at.wireType(), ScheduleDate: at, to: to}
}

func (b *broadcastBody) writeRest(w *wire.Writer) { b.to.write(w) }

func validateAudienceAndSchedule(p *arguments.Problems, to Audience, at *Schedule) {
	to.validate(p)
	if at != nil {
		at.validate(p.In("schedule_date"))
	}
}
