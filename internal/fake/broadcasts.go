package fake

import (
	"encoding/json"
	"maps"
	"slices"
	"time"
)

func sendEmail(s *state, in *input) response {
	body := in.body
	broadcast := &EmailBroadcast{
		At:              in.exchange.At,
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
		Variables:       read[Values](body, "variables", "an object"),
		MessageType:     body.requiredString("message_type"),
		Schedule:        readSchedule(body),
	}
	broadcast.AllCustomers, broadcast.Recipients = readAudience(body, s.identifier)
	return s.carryOut(in, broadcast, customersOf(broadcast.Recipients), successResponse("Email Broadcast sent successfully", nil))
}

func sendPush(s *state, in *input) response {
	body := in.body
	broadcast := &PushBroadcast{
		At:                 in.exchange.At,
		Subject:            body.requiredString("subject"),
		Message:            body.requiredString("message"),
		WhatsAppTemplateID: body.string("whatsapp_template_id"),
		Schedule:           readSchedule(body),
	}
	broadcast.AllCustomers, broadcast.Recipients = readAudience(body, s.identifier)
	return s.carryOut(in, broadcast, customersOf(broadcast.Recipients), successResponse("Push notification broadcast sent successfully", nil))
}

// customersOf returns the customers of all recipients.
func customersOf(recipients []Recipient) (all []CustomerParams) {
	for _, recipient := range recipients {
		all = append(all, recipient.Customers...)
	}
	return all
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
	recipient.Customers = each(customers, customerCount, func(index string) CustomerParams {
		customer := customers.object(index)
		params := readCustomer(customer)
		identifier.check(customer, params)
		return params
	})
	segments, segmentCount := o.array("segments")
	recipient.Segments = each(segments, segmentCount, segments.requiredString)
	switch recipient.Type {
	case "customer":
		o.invalidIf(customerCount == 0, "customers", "is required when the type is customer")
	case "segment":
		o.invalidIf(segmentCount == 0, "segments", "is required when the type is segment")
	default:
		o.invalidIf(true, "type", "must be customer or segment")
	}
	return recipient
}

// readSchedule returns nil for an immediate broadcast.
func readSchedule(body object) *Schedule {
	kind := body.requiredString("schedule_type")
	body.invalidIf(kind != "send-now" && kind != "send-later", "schedule_type", "must be send-now or send-later")
	if kind == "send-later" && body.has("schedule_date") {
		return readScheduleDate(body)
	}
	body.invalidIf(kind == "send-later", "schedule_date", "is required when schedule_type is send-later")
	return nil
}

// readScheduleDate reads the time of a scheduled broadcast. The service documents an array
// of its two entries, and its samples send an object.
func readScheduleDate(body object) *Schedule {
	date := body.object("schedule_date")
	if raw := body.members["schedule_date"]; raw[0] == '[' {
		delete(body.problems, body.pathOf("schedule_date"))
		elements, length := body.array("schedule_date")
		date.members = make(map[string]json.RawMessage)
		for _, element := range each(elements, length, elements.object) {
			maps.Copy(date.members, element.members)
		}
	}
	s := &Schedule{Date: date.requiredString("schedule_date"), Timezone: date.requiredString("timezone")}
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
