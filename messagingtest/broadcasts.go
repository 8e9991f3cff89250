package messagingtest

import (
	"slices"

	"github.com/messaging-go/messaging"
)

// EmailBroadcast is an e-mail broadcast that was sent.
type EmailBroadcast struct {
	SenderEmail      string
	SenderName       string
	Email            string
	Subject          string
	CC, BCC, ReplyTo []string
	Message          string
	TemplateID       string
	EmailTemplateID  string
	// Variables are as encoding/json decodes them: numbers are float64.
	Variables   map[string]any
	MessageType string
	// AllCustomers means that it went to everyone.
	AllCustomers bool
	Recipients   []messaging.Recipient
	// Schedule is nil for a broadcast that was sent at once. One that is due
	// later is recorded at once as well.
	Schedule *messaging.Schedule
}

// PushBroadcast is a push notification broadcast that was sent.
type PushBroadcast struct {
	Subject            string
	Message            string
	WhatsAppTemplateID string
	// AllCustomers means that it went to everyone.
	AllCustomers bool
	Recipients   []messaging.Recipient
	// Schedule is nil for a broadcast that was sent at once. One that is due
	// later is recorded at once as well.
	Schedule *messaging.Schedule
}

// EmailBroadcasts returns the e-mail broadcasts that were sent, in order.
func (s *Server) EmailBroadcasts() []EmailBroadcast {
	s.mu.Lock()
	defer s.mu.Unlock()
	return copied(s.emailBroadcasts, EmailBroadcast.copy)
}

// PushBroadcasts returns the push notification broadcasts that were sent, in
// order.
func (s *Server) PushBroadcasts() []PushBroadcast {
	s.mu.Lock()
	defer s.mu.Unlock()
	return copied(s.pushBroadcasts, PushBroadcast.copy)
}

func (s *Server) sendEmail(in received) answer {
	body := in.body
	broadcast := EmailBroadcast{
		SenderEmail:     body.requiredEmail("sender_email"),
		SenderName:      body.requiredText("sender_name"),
		Email:           body.requiredEmail("email"),
		Subject:         body.requiredText("subject"),
		CC:              body.emails("cc"),
		BCC:             body.emails("bcc"),
		ReplyTo:         body.emails("reply_to"),
		Message:         body.requiredText("message"),
		TemplateID:      body.text("template_id"),
		EmailTemplateID: body.text("email_template_id"),
		Variables:       read[map[string]any](body, "variables", "an object"),
		MessageType:     body.requiredText("message_type"),
		Schedule:        readSchedule(body),
	}
	broadcast.AllCustomers, broadcast.Recipients = s.readAudience(body)
	if len(in.problems) > 0 {
		return invalid(in.problems)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.customers.meetAll(broadcast.Recipients)
	s.emailBroadcasts = append(s.emailBroadcasts, broadcast)
	return done("Email Broadcast sent successfully", nil)
}

func (s *Server) sendPush(in received) answer {
	body := in.body
	broadcast := PushBroadcast{
		Subject:            body.requiredText("subject"),
		Message:            body.requiredText("message"),
		WhatsAppTemplateID: body.text("whatsapp_template_id"),
		Schedule:           readSchedule(body),
	}
	broadcast.AllCustomers, broadcast.Recipients = s.readAudience(body)
	if len(in.problems) > 0 {
		return invalid(in.problems)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.customers.meetAll(broadcast.Recipients)
	s.pushBroadcasts = append(s.pushBroadcasts, broadcast)
	return done("Push notification broadcast sent successfully", nil)
}

func (s *Server) readAudience(body object) (everyone bool, recipients []messaging.Recipient) {
	everyone = body.boolean("all_customers")
	elements, length := body.oneOrMore("recipients")
	body.refuseIf(length == 0 && !everyone, "recipients", "is required when all_customers is not true")
	return everyone, each(elements, length, func(position string) messaging.Recipient {
		return s.readRecipient(elements.object(position))
	})
}

func (s *Server) readRecipient(o object) messaging.Recipient {
	recipient := messaging.Recipient{Type: messaging.RecipientType(o.requiredText("type"))}
	customers, customerCount := o.list("customers")
	recipient.Customers = each(customers, customerCount, func(position string) messaging.CustomerParams {
		customer := customers.object(position)
		params := readCustomer(customer)
		s.customers.identifier.check(customer, params)
		return params
	})
	segments, segmentCount := o.list("segments")
	recipient.Segments = each(segments, segmentCount, segments.requiredText)
	switch recipient.Type {
	case messaging.RecipientCustomer:
		o.refuseIf(customerCount == 0, "customers", "is required when the type is customer")
	case messaging.RecipientSegment:
		o.refuseIf(segmentCount == 0, "segments", "is required when the type is segment")
	default:
		o.refuseIf(true, "type", "must be customer or segment")
	}
	return recipient
}

// readSchedule returns nil for a broadcast that is due at once.
func readSchedule(body object) *messaging.Schedule {
	switch body.requiredText("schedule_type") {
	case "send-now":
		return nil
	case "send-later":
		date := body.object("schedule_date")
		if !body.has("schedule_date") {
			body.complain("schedule_date", "is required when schedule_type is send-later")
			return nil
		}
		return &messaging.Schedule{Date: date.requiredText("schedule_date"), Timezone: date.requiredText("timezone")}
	default:
		body.refuseIf(true, "schedule_type", "must be send-now or send-later")
		return nil
	}
}

func (b EmailBroadcast) copy() EmailBroadcast {
	b.CC, b.BCC, b.ReplyTo = slices.Clone(b.CC), slices.Clone(b.BCC), slices.Clone(b.ReplyTo)
	b.Variables = copiedObject(b.Variables)
	b.Recipients = copied(b.Recipients, copiedRecipient)
	b.Schedule = copiedPointer(b.Schedule)
	return b
}

func (b PushBroadcast) copy() PushBroadcast {
	b.Recipients = copied(b.Recipients, copiedRecipient)
	b.Schedule = copiedPointer(b.Schedule)
	return b
}

func copiedRecipient(r messaging.Recipient) messaging.Recipient {
	r.Customers = copied(r.Customers, copiedParams)
	r.Segments = slices.Clone(r.Segments)
	return r
}
