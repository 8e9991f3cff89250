package messagingtest

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/service"
)

var (
	emailBroadcasts = keep(history[EmailBroadcast])
	pushBroadcasts  = keep(history[PushBroadcast])
)

func init() {
	handle(service.SendEmailBroadcast, sendEmail)
	handle(service.SendPushBroadcast, sendPush)
}

// EmailBroadcast is an email broadcast that the service accepted.
type EmailBroadcast struct {
	SenderEmail      string
	SenderName       string
	Email            string
	Subject          string
	CC, BCC, ReplyTo []string
	Message          string
	TemplateID       string
	EmailTemplateID  string
	// Variables has the types of encoding/json: numbers are float64.
	Variables   map[string]any
	MessageType string
	// AllCustomers reports whether the broadcast was sent to all customers.
	AllCustomers bool
	Recipients   []Recipient
	// Schedule is nil for an immediate broadcast. A scheduled broadcast is recorded when
	// the request arrives, not when it is due.
	Schedule *messaging.Schedule
}

// PushBroadcast is a push notification broadcast that the service accepted.
type PushBroadcast struct {
	Subject            string
	Message            string
	WhatsAppTemplateID string
	// AllCustomers reports whether the broadcast was sent to all customers.
	AllCustomers bool
	Recipients   []Recipient
	// Schedule is nil for an immediate broadcast. A scheduled broadcast is recorded when
	// the request arrives, not when it is due.
	Schedule *messaging.Schedule
}

// EmailBroadcasts returns the accepted email broadcasts, in order.
func (s *Server) EmailBroadcasts() []EmailBroadcast {
	return copies(s, emailBroadcasts, EmailBroadcast.clone)
}

// PushBroadcasts returns the accepted push notification broadcasts, in order.
func (s *Server) PushBroadcasts() []PushBroadcast {
	return copies(s, pushBroadcasts, PushBroadcast.clone)
}

func sendEmail(s *Server, in input) response {
	body := in.body
	broadcast := EmailBroadcast{
		SenderEmail:     body.requiredEmail("sender_email"),
		SenderName:      body.requiredString("sender_name"),
		Email:           body.requiredEmail("email"),
		Subject:         body.requiredString("subject"),
		CC:              body.emails("cc"),
		BCC:             body.emails("bcc"),
		ReplyTo:         body.emails("reply_to"),
		Message:         body.requiredString("message"),
		TemplateID:      body.string("template_id"),
		EmailTemplateID: body.string("email_template_id"),
		Variables:       read[map[string]any](body, "variables", "an object"),
		MessageType:     body.requiredString("message_type"),
		Schedule:        readSchedule(body),
	}
	broadcast.AllCustomers, broadcast.Recipients = readAudience(body, s.config.identifier)
	if len(in.problems) > 0 {
		return invalidResponse(in.problems)
	}
	s.lock()
	defer s.mu.Unlock()
	if full, ok := s.roomForCustomers(customersOf(broadcast.Recipients)); !ok {
		return full
	}
	s.upsertRecipients(in.exchange, broadcast.Recipients)
	emailBroadcasts.of(s).add(broadcast)
	setEffect(in.exchange, broadcast)
	return successResponse("Email Broadcast sent successfully", nil)
}

func sendPush(s *Server, in input) response {
	body := in.body
	broadcast := PushBroadcast{
		Subject:            body.requiredString("subject"),
		Message:            body.requiredString("message"),
		WhatsAppTemplateID: body.string("whatsapp_template_id"),
		Schedule:           readSchedule(body),
	}
	broadcast.AllCustomers, broadcast.Recipients = readAudience(body, s.config.identifier)
	if len(in.problems) > 0 {
		return invalidResponse(in.problems)
	}
	s.lock()
	defer s.mu.Unlock()
	if full, ok := s.roomForCustomers(customersOf(broadcast.Recipients)); !ok {
		return full
	}
	s.upsertRecipients(in.exchange, broadcast.Recipients)
	pushBroadcasts.of(s).add(broadcast)
	setEffect(in.exchange, broadcast)
	return successResponse("Push notification broadcast sent successfully", nil)
}

func readAudience(body object, identifier Identifier) (all bool, recipients []Recipient) {
	all = body.boolean("all_customers")
	elements, length := body.objectOrArray("recipients")
	body.invalidIf(length == 0 && !all, "recipients", "is required when all_customers is not true")
	return all, each(elements, length, func(index string) Recipient {
		return readRecipient(elements.object(index), identifier)
	})
}

func readRecipient(o object, identifier Identifier) Recipient {
	recipient := Recipient{Type: o.requiredString("type")}
	customers, customerCount := o.array("customers")
	recipient.Customers = each(customers, customerCount, func(index string) messaging.CustomerParams {
		customer := customers.object(index)
		params := readCustomer(customer)
		identifier.check(customer, params)
		return params
	})
	segments, segmentCount := o.array("segments")
	recipient.Segments = each(segments, segmentCount, segments.requiredString)
	switch recipient.Type {
	case RecipientCustomer:
		o.invalidIf(customerCount == 0, "customers", "is required when the type is customer")
	case RecipientSegment:
		o.invalidIf(segmentCount == 0, "segments", "is required when the type is segment")
	default:
		o.invalidIf(true, "type", "must be customer or segment")
	}
	return recipient
}

// readSchedule returns nil for an immediate broadcast.
func readSchedule(body object) *messaging.Schedule {
	switch body.requiredString("schedule_type") {
	case "send-now":
		return nil
	case "send-later":
		if !body.has("schedule_date") {
			body.addProblem("schedule_date", "is required when schedule_type is send-later")
			return nil
		}
		return readScheduleDate(body)
	default:
		body.invalidIf(true, "schedule_type", "must be send-now or send-later")
		return nil
	}
}

// readScheduleDate reads the time of a scheduled broadcast. The service documents an array
// of its two entries, and its samples send an object.
func readScheduleDate(body object) *messaging.Schedule {
	date := body.object("schedule_date")
	if raw := body.members["schedule_date"]; raw[0] == '[' {
		delete(body.problems, body.pathOf("schedule_date"))
		elements, length := body.array("schedule_date")
		date.members = make(map[string]json.RawMessage)
		for _, element := range each(elements, length, elements.object) {
			maps.Copy(date.members, element.members)
		}
	}
	s := &messaging.Schedule{Date: date.requiredString("schedule_date"), Timezone: date.requiredString("timezone")}
	date.invalidIf(!isDate(s.Date), "schedule_date", "must be a date such as 2030-01-31 09:00:00")
	date.invalidIf(!isTimezone(s.Timezone), "timezone", "must be a time zone such as Europe/Berlin")
	return s
}

// isDate reports whether s is a date, with or without a time of day.
func isDate(s string) bool {
	return slices.ContainsFunc([]string{wallClockLayout, "2006-01-02 15:04", "2006-01-02", time.RFC3339}, func(layout string) bool {
		_, err := time.Parse(layout, s)
		return err == nil
	})
}

// isTimezone reports whether s is the name of a time zone. Without a database of time
// zones, every name is accepted.
func isTimezone(s string) bool {
	if _, err := time.LoadLocation("Europe/Paris"); err != nil {
		return true
	}
	_, err := time.LoadLocation(s)
	return err == nil && s != "" && s != "Local"
}

func (b EmailBroadcast) clone() EmailBroadcast {
	b.CC, b.BCC, b.ReplyTo = slices.Clone(b.CC), slices.Clone(b.BCC), slices.Clone(b.ReplyTo)
	b.Variables = cloneObject(b.Variables)
	b.Recipients = cloneSlice(b.Recipients, cloneRecipient)
	b.Schedule = clonePointer(b.Schedule)
	return b
}

func (b PushBroadcast) clone() PushBroadcast {
	b.Recipients = cloneSlice(b.Recipients, cloneRecipient)
	b.Schedule = clonePointer(b.Schedule)
	return b
}

func cloneRecipient(r Recipient) Recipient {
	r.Customers = cloneSlice(r.Customers, cloneParams)
	r.Segments = slices.Clone(r.Segments)
	return r
}
