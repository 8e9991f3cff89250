package fake

import (
	"encoding/json"
	"maps"
	"time"

	"github.com/messaging-go/messaging"
)

func sendEmail(s *state, in *input) response {
	broadcast := readEmail(in.body, s.identifier)
	broadcast.At = in.exchange.At
	in.refusePast(broadcast.Params.Schedule)
	return s.carryOut(in, broadcast, broadcast.Customers, successResponse("Email Broadcast sent successfully", nil))
}

func sendPush(s *state, in *input) response {
	broadcast := readPush(in.body, s.identifier)
	broadcast.At = in.exchange.At
	in.refusePast(broadcast.Params.Schedule)
	return s.carryOut(in, broadcast, broadcast.Customers, successResponse("Push notification broadcast sent successfully", nil))
}

func readEmail(body object, identifier Identifier) *EmailBroadcast {
	to := readAudience(body, identifier)
	return &EmailBroadcast{Everyone: to.everyone, Customers: to.customers, Segments: to.segments, Params: messaging.EmailBroadcastParams{
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
		To:              to.audience,
		Schedule:        readSchedule(body),
	}}
}

func readPush(body object, identifier Identifier) *PushBroadcast {
	to := readAudience(body, identifier)
	return &PushBroadcast{Everyone: to.everyone, Customers: to.customers, Segments: to.segments, Params: messaging.PushBroadcastParams{
		Subject:            body.requiredString("subject"),
		Message:            body.requiredString("message"),
		WhatsAppTemplateID: body.string("whatsapp_template_id"),
		To:                 to.audience,
		Schedule:           readSchedule(body),
	}}
}

// audience is whom a broadcast names: as the client has it, and as lists.
type audience struct {
	audience  messaging.Audience
	everyone  bool
	customers []messaging.CustomerParams
	segments  []string
}

func readAudience(body object, identifier Identifier) (to audience) {
	to.everyone = body.boolean("all_customers")
	elements, length := body.objectOrArray("recipients")
	body.invalidIf(length == 0 && !to.everyone, "recipients", "is required when all_customers is not true")
	to.audience = messaging.ToEach(each(elements, length, func(index string) messaging.Audience {
		return to.readRecipient(elements.object(index), identifier)
	})...)
	if to.everyone {
		to.audience = messaging.AllCustomers()
	}
	return to
}

// readRecipient adds a recipient to the lists, and returns it.
func (to *audience) readRecipient(o object, identifier Identifier) messaging.Audience {
	kind := o.requiredString("type")
	elements, customerCount := o.array("customers")
	customers := each(elements, customerCount, func(index string) messaging.CustomerParams {
		customer := elements.object(index)
		params := readCustomer(customer)
		identifier.check(customer, params)
		return params
	})
	ids, segmentCount := o.array("segments")
	segments := each(ids, segmentCount, ids.requiredString)
	to.customers, to.segments = append(to.customers, customers...), append(to.segments, segments...)
	switch kind {
	case "segment":
		o.invalidIf(segmentCount == 0, "segments", "is required when the type is segment")
		return messaging.ToSegments(segments...)
	case "customer":
		o.invalidIf(customerCount == 0, "customers", "is required when the type is customer")
	default:
		o.invalidIf(true, "type", "must be customer or segment")
	}
	return messaging.ToCustomers(customers...)
}

// readSchedule returns nil for an immediate broadcast.
func readSchedule(body object) *messaging.Schedule {
	kind := body.requiredString("schedule_type")
	body.invalidIf(kind != "send-now" && kind != "send-later", "schedule_type", "must be send-now or send-later")
	if kind == "send-later" && body.has("schedule_date") {
		return readScheduleDate(body)
	}
	body.invalidIf(kind == "send-later", "schedule_date", "is required when schedule_type is send-later")
	return nil
}

// refusePast adds a problem if a schedule was over for more than a minute when the request
// arrived. Where the time zone is not known, neither is the time.
func (in *input) refusePast(s *messaging.Schedule) {
	if s == nil {
		return
	}
	if zone, known := timezone(s.Timezone); known {
		at, ok := parseDate(s.Date, zone)
		past := ok && at.Before(in.exchange.At.Add(-time.Minute))
		in.body.invalidIf(past, "schedule_date.schedule_date", "must not be in the past")
	}
}

// latest returns the later of the two times at which a clock shows the same as at t, in an
// hour that occurs twice. At any other time, it returns t.
func latest(t time.Time) time.Time {
	_, end := t.ZoneBounds()
	_, offset := t.Zone()
	_, nextOffset := end.Zone()
	again := t.Add(time.Duration(offset-nextOffset) * time.Second)
	if end.IsZero() || offset <= nextOffset || again.Before(end) {
		return t
	}
	return again
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
	_, isDate := parseDate(s.Date, time.UTC)
	date.invalidIf(!isDate, "schedule_date", "must be a date such as 2099-01-31 09:00:00")
	date.invalidIf(!isTimezone(s.Timezone), "timezone", "must be a time zone such as Europe/Berlin")
	return s
}

// parseDate parses a date with or without a time of day. Without one, it is the start of the
// day. An offset in the date takes precedence over the zone.
func parseDate(s string, zone *time.Location) (t time.Time, ok bool) {
	for _, layout := range []string{wallClockLayout, "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, s, zone); err == nil {
			return latest(t), true
		}
	}
	t, err := time.Parse(time.RFC3339, s)
	return t, err == nil
}

// isTimezone reports whether s is the name of a time zone. Without a database of time
// zones, every name is accepted.
func isTimezone(s string) bool {
	if _, err := time.LoadLocation("Europe/Paris"); err != nil {
		return true
	}
	_, known := timezone(s)
	return known
}

// timezone returns the time zone with a name. Local is another one on each machine.
func timezone(name string) (zone *time.Location, known bool) {
	zone, err := time.LoadLocation(name)
	return zone, err == nil && name != "" && name != "Local"
}
