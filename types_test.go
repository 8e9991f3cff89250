package messaging_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

func sharedValues() map[string]any {
	at := time.Date(2031, 3, 4, 5, 6, 7, 8, time.FixedZone("one hour east", 60*60))
	return map[string]any{
		"at":    at,
		"order": map[string]any{"lines": []any{"tea", &at, map[string]time.Time{"packed": at}}, "raw": json.RawMessage(`{ "a": 1 }`)},
	}
}

func sharedAudience() ([]messaging.CustomerParams, messaging.Audience) {
	devices := []messaging.Device{{Type: "ios", Token: "token-1"}, {Type: "ios", Token: "beyond"}}
	customers := []messaging.CustomerParams{{CustomerID: "customer-1", Devices: devices[:1]}, {CustomerID: "beyond", Devices: devices}}
	return customers, messaging.ToEach(messaging.ToCustomers(customers[:1]...), messaging.ToSegments("segment-1"))
}

func pushTo(to messaging.Audience) scripted.Call {
	return pushWith(func(p *messaging.PushBroadcastParams) { p.To = to })
}

// ofEachBroadcast are the calls that must not be sent of both kinds of broadcast, to an audience at a time.
func ofEachBroadcast(name string, to messaging.Audience, at *messaging.Schedule, problems ...string) []invalidCall {
	return []invalidCall{
		{"email: " + name, emailWith(func(p *messaging.EmailBroadcastParams) { p.To, p.Schedule = to, at }), problems},
		{"push: " + name, pushWith(func(p *messaging.PushBroadcastParams) { p.To, p.Schedule = to, at }), problems},
	}
}

func TestAudienceThatIsEmptyIsRefused(t *testing.T) {
	jane := messaging.CustomerParams{CustomerID: "42"}
	tests := []struct {
		name     string
		to       messaging.Audience
		problems []string
	}{
		{"the zero audience is nobody, and not everybody", messaging.Audience{},
			[]string{"recipients must be AllCustomers or have at least one recipient"}},
		{"joining nothing is nobody", messaging.ToEach(),
			[]string{"recipients must be AllCustomers or have at least one recipient"}},
		{"no customers", messaging.ToCustomers(),
			[]string{"recipients.0.customers must have at least one customer"}},
		{"no segments", messaging.ToSegments(),
			[]string{"recipients.0.segments must have at least one segment"}},
		{"a segment without an id", messaging.ToSegments("vip", ""),
			[]string{"recipients.0.segments.1 is required"}},
		{"a segment whose id is not UTF-8", messaging.ToSegments(notUTF8),
			[]string{"recipients.0.segments.0 must be valid UTF-8"}},
		{"a customer without an identity", messaging.ToCustomers(jane, messaging.CustomerParams{FirstName: canary, PhoneNo: "+31201234567"}),
			[]string{"recipients.0.customers.1 must have a customer_id or an email"}},
		{"a customer with a malformed address beside an id", messaging.ToCustomers(messaging.CustomerParams{CustomerID: "42", Email: canary}),
			[]string{"recipients.0.customers.0.email must be an email address"}},
		{"a phone number without its country", messaging.ToCustomers(messaging.CustomerParams{CustomerID: "42", PhoneNo: "020" + canary}),
			[]string{"recipients.0.customers.0.phone_no must be in international format, starting with +"}},
		{"a phone number with a blank before the plus", messaging.ToCustomers(messaging.CustomerParams{CustomerID: "42", PhoneNo: " +" + canary}),
			[]string{"recipients.0.customers.0.phone_no must be in international format, starting with +"}},
		{"a customer of whom nothing is UTF-8", messaging.ToCustomers(messaging.CustomerParams{
			CustomerID: notUTF8, Email: notUTF8 + "@example.com", FirstName: notUTF8, LastName: notUTF8, PhoneNo: "+" + notUTF8,
			Devices: []messaging.Device{{Type: "ios", Token: "token"}, {Type: notUTF8, Token: notUTF8}}}),
			[]string{
				"recipients.0.customers.0.customer_id must be valid UTF-8", "recipients.0.customers.0.email must be valid UTF-8",
				"recipients.0.customers.0.first_name must be valid UTF-8", "recipients.0.customers.0.last_name must be valid UTF-8",
				"recipients.0.customers.0.phone_no must be valid UTF-8", "recipients.0.customers.0.devices.1.device_type must be valid UTF-8",
				"recipients.0.customers.0.devices.1.device_token must be valid UTF-8",
			}},
		{"a device without a type, and one without a token", messaging.ToCustomers(messaging.CustomerParams{CustomerID: "42",
			Devices: []messaging.Device{{Token: canary}, {Type: canary}, {}}}),
			[]string{"recipients.0.customers.0.devices.0.device_type is required", "recipients.0.customers.0.devices.1.device_token is required",
				"recipients.0.customers.0.devices.2.device_type is required", "recipients.0.customers.0.devices.2.device_token is required"}},
		{"one bad recipient among those that were joined",
			messaging.ToEach(messaging.ToCustomers(jane), messaging.ToSegments("vip"), messaging.ToSegments("vip", "")),
			[]string{"recipients.2.segments.1 is required"}},
		{"bad recipients at any depth of joining, counted in the order of the wire",
			messaging.ToEach(messaging.ToEach(messaging.ToSegments(), messaging.ToEach(messaging.ToCustomers())), messaging.ToSegments("")),
			[]string{"recipients.0.segments must have at least one segment", "recipients.1.customers must have at least one customer",
				"recipients.2.segments.0 is required"}},
	}
	var refusals []invalidCall
	for _, test := range tests {
		refusals = append(refusals, ofEachBroadcast(test.name, test.to, nil, test.problems...)...)
	}
	requireInvalidUnlessLifted(t, refusals)
}

func TestAudienceRefusesAnInvalidJoin(t *testing.T) {
	var nobody messaging.Audience
	everybody, vip := messaging.AllCustomers(), messaging.ToSegments("vip")
	const besideAll = "recipients cannot be combined with AllCustomers"
	const isNobody = "recipients must not combine an empty audience"
	const both = isNobody + ", cannot be combined with AllCustomers"
	tests := []struct {
		name    string
		to      messaging.Audience
		problem string
	}{
		{"everybody with a segment", messaging.ToEach(everybody, vip), besideAll},
		{"a segment with everybody", messaging.ToEach(vip, everybody), besideAll},
		{"everybody with everybody", messaging.ToEach(everybody, everybody), besideAll},
		{"nobody with everybody", messaging.ToEach(nobody, everybody), both},
		{"everybody with nobody", messaging.ToEach(everybody, nobody), both},
		{"everybody within what is joined", messaging.ToEach(messaging.ToEach(everybody), vip), besideAll},
		{"everybody with a segment, joined once more", messaging.ToEach(messaging.ToEach(everybody, vip)), besideAll},
		{"a segment with nobody, who may have been forgotten", messaging.ToEach(vip, nobody), isNobody},
		{"nobody with a segment", messaging.ToEach(nobody, vip), isNobody},
		{"a segment with nothing joined", messaging.ToEach(vip, messaging.ToEach()), isNobody},
		{"nobody within what is joined", messaging.ToEach(messaging.ToEach(vip, nobody), vip), isNobody},
	}
	var refusals []invalidCall
	for _, test := range tests {
		refusals = append(refusals, ofEachBroadcast(test.name, test.to, nil, test.problem)...)
	}
	requireAlwaysInvalid(t, refusals)
}

func TestAudienceWireForm(t *testing.T) {
	jane, joe := messaging.CustomerParams{CustomerID: "42"}, messaging.CustomerParams{Email: "joe@example.com"}
	const vip, toJane = `{"type":"segment","segments":["vip"]}`, `{"type":"customer","customers":[{"customer_id":"42"}]}`
	tests := []struct {
		name string
		to   messaging.Audience
		wire string
	}{
		{"everybody", messaging.AllCustomers(), `"all_customers":true`},
		{"everybody, joined with nothing", messaging.ToEach(messaging.AllCustomers()), `"all_customers":true`},
		{"customers are one recipient", messaging.ToCustomers(jane, joe),
			`"recipients":{"type":"customer","customers":[{"customer_id":"42"},{"email":"joe@example.com"}]}`},
		{"segments are one recipient", messaging.ToSegments("vip"), `"recipients":` + vip},
		{"several recipients are a list", messaging.ToEach(messaging.ToSegments("vip"), messaging.ToCustomers(jane)),
			`"recipients":[` + vip + `,` + toJane + `]`},
		{"joining again makes one flat list",
			messaging.ToEach(messaging.ToEach(messaging.ToSegments("vip"), messaging.ToCustomers(jane)), messaging.ToSegments("vip")),
			`"recipients":[` + vip + `,` + toJane + `,` + vip + `]`},
	}
	g := scripted.NewGate(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			wanted := `{"subject":"Sale","message":"Today only.","schedule_type":"send-now",` + test.wire + `}`
			assert.JSONEq(t, wanted, g.RequireSent(t, pushTo(test.to)))
		})
	}
}

// bodyTo returns the body of a push to an audience.
func bodyTo(t *testing.T, to messaging.Audience) string {
	t.Helper()
	p, err := messaging.PushBroadcastParams{Subject: "Sale", Message: "Today only.", To: to}.Prepare()
	require.NoError(t, err)
	return string(p.Body())
}

func TestAudienceCopiesItsArguments(t *testing.T) {
	customers := []messaging.CustomerParams{{CustomerID: "42"}}
	segments := []string{"vip"}
	parts := []messaging.Audience{messaging.ToCustomers(customers...), messaging.ToSegments(segments...)}
	to := messaging.ToEach(parts...)
	before := bodyTo(t, to)

	customers[0].CustomerID, segments[0] = canary, canary
	parts[0] = messaging.AllCustomers()

	assert.Contains(t, before, `"42"`)
	assert.Equal(t, before, bodyTo(t, to))
}

func TestAudiencesAreEqualIfTheirRecipientsAre(t *testing.T) {
	ada := messaging.CustomerParams{CustomerID: "1", Email: "ada@example.com", Devices: []messaging.Device{{Type: "ios", Token: "t"}}}
	changed := func(change func(*messaging.CustomerParams)) messaging.Audience {
		c := ada
		change(&c)
		return messaging.ToCustomers(c)
	}
	grace := messaging.CustomerParams{CustomerID: "2"}
	different := []messaging.Audience{
		{}, messaging.AllCustomers(), messaging.ToCustomers(), messaging.ToSegments(), messaging.ToSegments("a"), messaging.ToSegments("a", "b"),
		messaging.ToSegments("b", "a"), messaging.ToCustomers(ada), messaging.ToCustomers(ada, grace), messaging.ToCustomers(grace, ada),
		messaging.ToEach(messaging.ToCustomers(ada), messaging.ToSegments("a")), messaging.ToEach(messaging.ToSegments("a"),
			messaging.ToCustomers(ada)),
		messaging.ToEach(messaging.ToCustomers(ada), messaging.Audience{}), messaging.ToEach(messaging.ToCustomers(ada),
			messaging.AllCustomers()),
		changed(func(c *messaging.CustomerParams) { c.CustomerID = "3" }),
		changed(func(c *messaging.CustomerParams) { c.Email = "ADA@example.com" }),
		changed(func(c *messaging.CustomerParams) { c.FirstName = "A" }), changed(func(c *messaging.CustomerParams) { c.LastName = "L" }),
		changed(func(c *messaging.CustomerParams) { c.PhoneNo = "+1" }), changed(func(c *messaging.CustomerParams) { c.Devices = nil }),
		changed(func(c *messaging.CustomerParams) { c.Devices = []messaging.Device{{Type: "ios", Token: "u"}} }),
	}
	for i, a := range different {
		for j, other := range different {
			assert.Equal(t, i == j, a.Equal(other), "%d and %d", i, j)
		}
	}
	empty := messaging.ToCustomers(messaging.CustomerParams{CustomerID: "2", Devices: []messaging.Device{}})
	assert.True(t, messaging.ToCustomers(grace).Equal(empty), "a nil slice equals an empty one")
}

// Job arguments that are stored as JSON would otherwise lose their recipients, or the types of their values, without
// an error.
func TestParamsOfSendsHaveNoJSONForm(t *testing.T) {
	email, push, audience := messaging.EmailBroadcastParams{}, messaging.PushBroadcastParams{}, messaging.AllCustomers()
	trigger := messaging.EventTriggerParams{}
	const text = "messaging: the params of a send have no JSON form: store Operation() and Body() of what Prepare returns"
	for _, value := range []any{email, &email, push, &push, audience, &audience, trigger, &trigger,
		map[string]any{"args": email}} {
		_, err := json.Marshal(value)
		assert.ErrorContains(t, err, text, "%T", value)
	}
	for _, value := range []any{&email, &push, &trigger, &audience} {
		assert.ErrorContains(t, json.Unmarshal([]byte(`{}`), value), text, "%T", value)
	}
}

func TestASegmentWithABlankAtItsEndIsAlwaysInvalid(t *testing.T) {
	const problem = " must not begin or end with white space, which the service may remove"
	to := messaging.ToEach(messaging.ToCustomers(messaging.CustomerParams{CustomerID: "7"}), messaging.ToSegments("vip", " new",
		"a b", "\tx\n"))
	requireAlwaysInvalid(t, ofEachBroadcast("blanks around it", to, nil,
		"recipients.1.segments.1"+problem, "recipients.1.segments.3"+problem))
}

func TestAnAddressWithABlankAtItsEndIsNamedAsThat(t *testing.T) {
	g := scripted.NewGate(t)
	for _, address := range []string{"ada@example.com ", "\tada@example.com", "ada@example.com\n"} {
		g.RequireInvalid(t, triggerWith(func(p *messaging.EventTriggerParams) { p.Email = address }),
			[]string{"payload.email must not begin or end with white space"})
	}
	g.RequireInvalid(t, triggerWith(func(p *messaging.EventTriggerParams) { p.Email = "ada @example.com" }),
		[]string{"payload.email must be an email address"})
}

func TestModelsEscapeHTMLAsTheEncoderOfTheCallerDoes(t *testing.T) {
	extra := map[string]json.RawMessage{"note": json.RawMessage(`"<&>"`)}
	for name, model := range map[string]any{
		"a customer": messaging.Customer{FirstName: "<&>", Extra: extra}, "an event": messaging.Event{Name: "<&>", Extra: extra},
		"a message":               messaging.TransactionalMessage{Message: "<&>", Extra: extra},
		"a message without Extra": messaging.TransactionalMessage{Message: "<&>"},
	} {
		var plain bytes.Buffer
		encoder := json.NewEncoder(&plain)
		encoder.SetEscapeHTML(false)
		require.NoError(t, encoder.Encode(model), name)
		assert.Contains(t, plain.String(), `"<&>"`, name)
		assert.NotContains(t, plain.String(), `\u0026`, name)
		escaped, err := json.Marshal(model)
		require.NoError(t, err)
		assert.Contains(t, string(escaped), `"\u003c\u0026\u003e"`, name)
		assert.NotContains(t, string(escaped), "&", name)
	}
}

func TestAudiencesThatShareAPartDoNotShareMemory(t *testing.T) {
	shared := messaging.ToEach(messaging.ToSegments("a"), messaging.ToSegments("b"), messaging.ToSegments("c"))
	one := messaging.ToEach(shared, messaging.ToSegments("one"))
	two := messaging.ToEach(shared, messaging.ToSegments("two"))
	assert.Contains(t, bodyTo(t, one), `"one"`)
	assert.Contains(t, bodyTo(t, two), `"two"`)
}

func TestScheduleIsValidated(t *testing.T) {
	const nine = "2099-03-01 09:00:00"
	const unknown = "schedule_date.timezone is not a known IANA time zone name"
	const noDate = "schedule_date.schedule_date must be a date and a time that exist, in the form 2006-01-02 15:04:05"
	tests := []struct {
		name     string
		schedule messaging.Schedule
		problems []string
	}{
		{"a schedule has a date", messaging.Schedule{Timezone: "Europe/Amsterdam"}, []string{"schedule_date.schedule_date is required"}},
		{"a schedule has a zone", messaging.Schedule{Date: nine}, []string{"schedule_date.timezone is required"}},
		{"the zone of this machine means another at the service", messaging.Schedule{Date: nine, Timezone: "Local"}, []string{unknown}},
		{"a misspelt zone", messaging.Schedule{Date: nine, Timezone: "Europe/Canary"}, []string{unknown}},
		{"an offset is no zone", messaging.Schedule{Date: nine, Timezone: "+02:00"}, []string{unknown}},
		{"a zone that is not UTF-8", messaging.Schedule{Date: nine, Timezone: notUTF8},
			[]string{"schedule_date.timezone must be valid UTF-8, is not a known IANA time zone name"}},
		{"a date that is not UTF-8", messaging.Schedule{Date: notUTF8, Timezone: "UTC"}, []string{noDate}},
		{"a date without a time", messaging.Schedule{Date: "2099-03-01", Timezone: "UTC"}, []string{noDate}},
		{"an hour of one digit after two spaces", messaging.Schedule{Date: "2099-03-01  9:00:00", Timezone: "UTC"}, []string{noDate}},
		{"a fraction of a second", messaging.Schedule{Date: nine + ".5", Timezone: "UTC"}, []string{noDate}},
		{"the form of a timestamp", messaging.Schedule{Date: "2099-03-01T09:00:00Z", Timezone: "UTC"}, []string{noDate}},
		{"a blank after it", messaging.Schedule{Date: nine + " ", Timezone: "UTC"}, []string{noDate}},
		{"a line break after it", messaging.Schedule{Date: nine + "\n", Timezone: "UTC"}, []string{noDate}},
		{"a day that does not exist", messaging.Schedule{Date: "2099-02-29 09:00:00", Timezone: "UTC"}, []string{noDate}},
		{"a date of a database that has none", messaging.Schedule{Date: "0000-00-00 00:00:00", Timezone: "UTC"}, []string{noDate}},
		{"an empty schedule is not a broadcast for now", messaging.Schedule{},
			[]string{"schedule_date.schedule_date is required", "schedule_date.timezone is required"}},
		{"a year of five digits", *messaging.ScheduleAt(time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)), []string{noDate}},
		{"a year before the year 0", *messaging.ScheduleAt(time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)), []string{noDate}},
	}
	var refusals []invalidCall
	for _, test := range tests {
		refusals = append(refusals, ofEachBroadcast(test.name, messaging.AllCustomers(), &test.schedule, test.problems...)...)
	}
	requireInvalidUnlessLifted(t, refusals)
}

func TestScheduleForTheZeroTimeIsAlwaysInvalid(t *testing.T) {
	for name, zero := range map[string]time.Time{
		"in UTC": {}, "in a zone": time.Time{}.In(zone(t, "Europe/Amsterdam")), "with a fraction of a second": time.Time{}.Add(1),
	} {
		at := messaging.ScheduleAt(zero)
		assert.Equal(t, messaging.Schedule{Date: "0001-01-01 00:00:00", Timezone: "UTC"}, *at)
		requireAlwaysInvalid(t, ofEachBroadcast(name, messaging.AllCustomers(), at, "schedule_date is the zero time"))
	}
}

// Nobody knows what the service does with a time that has passed. It may send at once.
func TestScheduleMoreThanAMinuteAgoIsInvalid(t *testing.T) {
	scripted.RunInBubble(t, "in a bubble", func(t *testing.T) {
		const past = "schedule_date.schedule_date is more than a minute in the past"
		now := time.Now()
		push := func(at *messaging.Schedule) scripted.Call {
			return pushWith(func(p *messaging.PushBroadcastParams) { p.Schedule = at })
		}
		g := scripted.NewGate(t)
		g.RequireInvalid(t, push(messaging.ScheduleAt(now.Add(-61*time.Second))), []string{past})
		g.RequireInvalid(t, push(&messaging.Schedule{Date: "1900-01-01 00:00:00", Timezone: "Europe/Amsterdam"}), []string{past})
		g.RequireInvalid(t, emailWith(func(p *messaging.EmailBroadcastParams) { p.Schedule = messaging.ScheduleAt(now.Add(-time.Hour)) }),
			[]string{past})
		g.RequireSent(t, push(messaging.ScheduleAt(now.Add(-time.Minute))))
		g.RequireSent(t, push(messaging.ScheduleAt(now)))
		g.RequireSent(t, push(messaging.ScheduleAt(now.Add(-time.Hour))), messaging.WithoutValidation())

		local := func(zoneName string, at time.Time) *messaging.Schedule {
			return &messaging.Schedule{Date: at.In(zone(t, zoneName)).Format("2006-01-02 15:04:05"), Timezone: zoneName}
		}
		for _, zoneName := range []string{"Pacific/Kiritimati", "Pacific/Pago_Pago", "Asia/Kathmandu"} {
			g.RequireSent(t, push(local(zoneName, now)))
			g.RequireInvalid(t, push(local(zoneName, now.Add(-2*time.Minute))), []string{past})
		}

		prepared, err := messaging.PushBroadcastParams{Subject: "s", Message: "m", To: messaging.AllCustomers(),
			Schedule: messaging.ScheduleAt(now)}.Prepare()
		require.NoError(t, err)
		time.Sleep(time.Hour)
		stored, err := messaging.ParsePrepared(prepared.Operation(), prepared.Body())
		require.NoError(t, err, "what was prepared in time is sent")
		_, err = g.Client.Send(t.Context(), stored)
		require.NoError(t, err)
	})
}

// When clocks are set back, they show an hour twice. The schedule is over after the second time.
func TestScheduleInAnHourThatOccursTwiceMeansTheLater(t *testing.T) {
	for zoneName, shown := range map[string][2]string{ // the last time at which it is valid, in UTC
		"America/New_York":    {"2000-10-29 01:30:00", "2000-10-29T06:31:00Z"},
		"Europe/Amsterdam":    {"2000-10-29 02:30:00", "2000-10-29T01:31:00Z"},
		"Australia/Lord_Howe": {"2000-03-26 01:45:00", "2000-03-25T15:16:00Z"}, // by half an hour
	} {
		scripted.RunInBubble(t, zoneName, func(t *testing.T) {
			last, err := time.Parse(time.RFC3339, shown[1])
			require.NoError(t, err)
			schedule := func() error {
				_, err := messaging.PushBroadcastParams{Subject: "s", Message: "m", To: messaging.AllCustomers(),
					Schedule: &messaging.Schedule{Date: shown[0], Timezone: zoneName}}.Prepare()
				return err
			}
			time.Sleep(time.Until(last))
			require.NoError(t, schedule())
			time.Sleep(time.Second)
			require.Error(t, schedule())
		})
	}
}

func TestNamesOfACustomerAreOneLine(t *testing.T) {
	var refusals []invalidCall
	for name, text := range map[string]string{
		"a CR": canary + "\r", "a line break": "\n" + canary, "another header": "A\r\nBcc: canary@example.com", "a NUL": "\x00",
	} {
		ada := messaging.CustomerParams{CustomerID: "42", FirstName: text, LastName: text}
		to := messaging.ToEach(messaging.ToSegments("vip"), messaging.ToCustomers(messaging.CustomerParams{CustomerID: "7"}, ada))
		refusals = append(refusals, ofEachBroadcast(name, to, nil, "recipients.1.customers.1.first_name must not contain a line break or a NUL",
			"recipients.1.customers.1.last_name must not contain a line break or a NUL")...)
		refusals = append(refusals, invalidCall{"trigger: " + name, triggerWith(func(p *messaging.EventTriggerParams) { p.Customer = &ada }),
			[]string{"payload.customer.first_name must not contain a line break or a NUL",
				"payload.customer.last_name must not contain a line break or a NUL"}})
	}
	requireAlwaysInvalid(t, refusals)
}

func TestScheduleWireForm(t *testing.T) {
	tests := []struct {
		name     string
		schedule *messaging.Schedule
		wire     string
	}{
		{"none means now", nil, `"schedule_type":"send-now"`},
		{"a moment means later", &messaging.Schedule{Date: "2099-03-01 09:00:00", Timezone: "Europe/Amsterdam"},
			`"schedule_type":"send-later","schedule_date":{"schedule_date":"2099-03-01 09:00:00","timezone":"Europe/Amsterdam"}`},
		{"a date in a form of your own is sent as it stands without validation", &messaging.Schedule{Date: "next monday", Timezone: "UTC"},
			`"schedule_type":"send-later","schedule_date":{"schedule_date":"next monday","timezone":"UTC"}`},
	}
	g := scripted.NewGate(t, messaging.WithoutValidation())
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			sent := g.RequireSent(t, pushWith(func(p *messaging.PushBroadcastParams) { p.Schedule = test.schedule }))
			assert.JSONEq(t, `{"subject":"Sale","message":"Today only.","all_customers":true,`+test.wire+`}`, sent)
		})
	}
}

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	location, err := time.LoadLocation(name)
	require.NoError(t, err)
	return location
}

func TestScheduleThatClocksSkipIsInvalid(t *testing.T) {
	for date, problem := range map[string]string{
		"2099-03-29 02:30:00": "schedule_date.schedule_date does not exist in the time zone, where clocks skip it",
		"2099-03-29 01:59:59": "", "2099-03-29 03:00:00": "", "2099-10-25 02:30:00": ""} {
		_, err := messaging.PushBroadcastParams{Subject: "s", Message: "m", To: messaging.AllCustomers(),
			Schedule: &messaging.Schedule{Date: date, Timezone: "Europe/Amsterdam"}}.Prepare()
		if problem == "" {
			require.NoError(t, err, date)
			continue
		}
		scripted.RequireProblems(t, err, problem)
	}
}

var oneSecond = time.Date(2026, 5, 1, 10, 20, 30, 0, time.UTC)

func TestModelsHaveTheWireFormOfTheService(t *testing.T) {
	for _, row := range []struct {
		name  string
		value any
		wire  string
	}{
		{name: "an event",
			value: messaging.Event{ID: "8a7e", Name: "Order", Description: "An order was placed",
				Parameters: []messaging.EventParameter{{Name: "total", Type: messaging.ParameterNumeric, Required: true}, {Name: "at", Type: "colour"}},
				CreatedAt:  oneSecond.Add(123456 * time.Microsecond), Extra: map[string]json.RawMessage{"company": json.RawMessage(`{"id":7}`)}},
			wire: `{"id":"8a7e","name":"Order","description":"An order was placed","parameters":[{"name":"total","type":"numeric","required":true},
				{"name":"at","type":"colour","required":false}],"created_at":"2026-05-01T10:20:30.123456Z","company":{"id":7}}`},
		{name: "an event of a whole second", value: messaging.Event{CreatedAt: oneSecond},
			wire: `{"id":"","name":"","description":"","parameters":null,"created_at":"2026-05-01T10:20:30.000000Z"}`},
		{name: "an event without anything", value: messaging.Event{},
			wire: `{"id":"","name":"","description":"","parameters":null}`},
		{name: "a customer",
			value: messaging.Customer{CustomerID: "7", FirstName: "Ada", LastName: "Lovelace", Email: "ada@example.com", PhoneNo: "+441234567890",
				CreatedAt: oneSecond, UpdatedAt: oneSecond.Add(time.Second), Providers: []string{"mailgun", "twilio"},
				LastInteraction: oneSecond.Add(time.Minute),
				Extra:           map[string]json.RawMessage{"score": json.RawMessage(`1.50`)}},
			wire: `{"customer_id":"7","first_name":"Ada","last_name":"Lovelace","email":"ada@example.com","phone_no":"+441234567890",
				"customer_created_at":"2026-05-01T10:20:30Z","updated_at":"2026-05-01T10:20:31Z","providers":"mailgun,twilio",
				"last_interaction":"2026-05-01T10:21:30Z","score":1.50}`},
		{name: "a customer without anything", value: messaging.Customer{},
			wire: `{"customer_id":"","first_name":"","last_name":"","email":"","phone_no":"","providers":""}`},
		{name: "a message",
			value: messaging.TransactionalMessage{ID: "8a7e", Channel: messaging.ChannelSMS, Subject: "s", Title: "t", Message: "<b>m</b>",
				MessageType: "OTP",
				CreatedAt:   oneSecond, TotalSent: 1, TotalDelivered: 2, TotalFailed: 3, TotalComplained: 4, TotalBounced: 5,
				Extra: map[string]json.RawMessage{"sender": json.RawMessage(`null`)}},
			wire: `{"id":"8a7e","channel":"sms","subject":"s","title":"t","message":"<b>m</b>","message_type":"OTP",
				"created_at":"2026-05-01 10:20:30",
				"total_sent":1,"total_delivered":2,"total_failed":3,"total_complained":4,"total_bounced":5,"sender":null}`},
		{name: "a message of no type", value: messaging.TransactionalMessage{},
			wire: `{"id":"","channel":"","subject":"","title":"","message":"","message_type":null,
				"total_sent":0,"total_delivered":0,"total_failed":0,"total_complained":0,"total_bounced":0}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			written, err := json.Marshal(row.value)
			require.NoError(t, err)
			assert.JSONEq(t, row.wire, string(written))

			read := reflect.New(reflect.TypeOf(row.value))
			require.NoError(t, json.Unmarshal([]byte(row.wire), read.Interface()))
			assert.Equal(t, row.value, read.Elem().Interface())
		})
	}
}

func TestModelsAreFilledByTheRowOfTheirList(t *testing.T) {
	for _, list := range scripted.Lists() {
		t.Run(list.Name, func(t *testing.T) {
			model := list.New()
			require.NoError(t, json.Unmarshal([]byte(list.Row), model))
			for field, value := range reflect.ValueOf(model).Elem().Fields() {
				if field.Name == "Extra" {
					assert.Empty(t, value.Interface(), "the model does not read these members of the row")
					continue
				}
				assert.False(t, value.IsZero(), "%s: its row in internal/kit/scripted/operations.go fills every field, and decode reads it", field.Name)
			}
			scripted.RequireRoundTrip(t, model)
			written, err := json.Marshal(model)
			require.NoError(t, err)
			assert.JSONEq(t, list.Row, string(written))
		})
	}
}

func TestModelsSurviveARoundTrip(t *testing.T) {
	for _, row := range []struct{ name, members string }{
		{"nothing", ``},
		{"nulls",
			`"customer_created_at":null,"created_at":null,"providers":null,"message_type":null,"parameters":null,"id":null,"total_sent":null`},
		{"empty values", `"customer_created_at":"","created_at":"","providers":"","message_type":"","parameters":[],"id":"","total_sent":0`},
		{"unreadable dates", `"customer_created_at":"0000-00-00","updated_at":0,"last_interaction":{"a":[1, 2]},"created_at":"<never>"`},
		{"fractions of a second", `"customer_created_at":"2026-05-01T10:20:30.5Z","updated_at":"2026-05-01T10:20:30.000001Z",
			"last_interaction":"2026-05-01T10:20:30.123456789Z","created_at":"2026-05-01T10:20:30.123456789Z"`},
		{"other zones",
			`"customer_created_at":"2026-05-01T12:20:30+02:00","updated_at":"2026-05-01T12:20:30.25+0200","created_at":"2026-05-01 04:50:30-05:30"`},
		{"the earliest instant", `"customer_created_at":"0000-01-01T00:00:00Z","created_at":"0000-01-01 00:00:00"`},
		{"the latest instant", `"customer_created_at":"9999-12-31T23:59:59.999999999Z","created_at":"9999-12-31 23:59:59"`},
		{"an instant of no four digits in UTC", `"customer_created_at":"0000-01-01T00:00:00+02:00","created_at":"9999-12-31T23:59:59-02:00"`},
		{"the zero instant", `"customer_created_at":"0001-01-01T00:00:00Z","created_at":"0001-01-01T00:00:00Z"`},
		{"a date that is there twice, the first unreadable", `"customer_created_at":"soon","customer_created_at":"2026-05-01T10:20:30Z",
			"created_at":"soon","created_at":"2026-05-01T10:20:30Z"`},
		{"a date that is there twice, the last unreadable", `"customer_created_at":"2026-05-01T10:20:30Z","customer_created_at":"soon",
			"created_at":"2026-05-01T10:20:30Z","created_at":"soon"`},
		{"a date that is there twice, the last a number", `"customer_created_at":"2026-05-01T10:20:30Z","customer_created_at":1777630830,
			"created_at":"2026-05-01T10:20:30Z","created_at":1777630830`},
		{"ids that are numbers", `"customer_id":7,"id":1e5,"phone_no":441234567890`},
		{"types in capitals", `"parameters":[{"name":"a","type":"TIMESTAMP","required":1}]`},
		{"providers as an array", `"providers":["a","b"]`},
		{"providers with blanks", `"providers":" a, b,,c "`},
		{"an array of odd providers", `"providers":[" a ","",null,"b,c"]`},
		{"unknown members", `"a":{"b": [1.50, "<&>"]},"":null,"Id":1,"naïve ☃":"\u2028"`},
		{"a member that is unknown and there twice", `"a":1,"a":2`},
	} {
		for _, list := range scripted.Lists() {
			t.Run(row.name+", of "+list.Name, func(t *testing.T) {
				body := list.Response(scripted.Page{Rows: "[{" + row.members + "}]"})
				client, _ := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, body)})
				page, err := list.Page(t.Context(), client, 0, "")
				require.NoError(t, err)
				require.Len(t, page.Items, 1)
				scripted.RequireRoundTrip(t, page.Items[0])
			})
		}
	}
}

func TestModelsEncodeExtraInPlaceOfTheFields(t *testing.T) {
	extra := map[string]json.RawMessage{"created_at": json.RawMessage(`"0000-00-00"`), "more": json.RawMessage(`[1]`)}
	written, err := json.Marshal(messaging.Event{ID: "1", Extra: extra})
	require.NoError(t, err)
	assert.JSONEq(t, `{"id":"1","name":"","description":"","parameters":null,"created_at":"0000-00-00","more":[1]}`, string(written))
	assert.Len(t, extra, 2, "Extra is not written to")
}

func TestModelsRefuseToEncodeAnInvalidExtra(t *testing.T) {
	extra := map[string]json.RawMessage{"more": json.RawMessage(`{`)}
	for _, model := range []any{messaging.Event{Extra: extra}, messaging.Customer{Extra: extra},
		messaging.TransactionalMessage{Extra: extra}} {
		_, err := json.Marshal(model)
		assert.Error(t, err)
	}
}

func TestModelsAreUnchangedByNull(t *testing.T) {
	event := messaging.Event{ID: "1", Extra: map[string]json.RawMessage{"a": json.RawMessage(`1`)}}
	require.NoError(t, json.Unmarshal([]byte(`null`), &event))
	require.NoError(t, event.UnmarshalJSON([]byte(`null`)))
	assert.Equal(t, messaging.Event{ID: "1", Extra: map[string]json.RawMessage{"a": json.RawMessage(`1`)}}, event)

	customer := &messaging.Customer{CustomerID: "1"}
	require.NoError(t, customer.UnmarshalJSON([]byte(`null`)))
	assert.Equal(t, "1", customer.CustomerID)
	require.NoError(t, json.Unmarshal([]byte(`null`), &customer))
	assert.Nil(t, customer)

	message := messaging.TransactionalMessage{ID: "1"}
	require.NoError(t, json.Unmarshal([]byte(` null `), &message))
	assert.Equal(t, messaging.TransactionalMessage{ID: "1"}, message)
}

func TestModelsCannotBeReadIntoNil(t *testing.T) {
	for name, model := range map[string]json.Unmarshaler{
		"Event": (*messaging.Event)(nil), "EventParameter": (*messaging.EventParameter)(nil), "Customer": (*messaging.Customer)(nil),
		"TransactionalMessage": (*messaging.TransactionalMessage)(nil),
	} {
		for _, document := range []string{`{}`, `null`, ``} {
			assert.EqualError(t, model.UnmarshalJSON([]byte(document)), "messaging: cannot read into a nil *messaging."+name)
		}
	}
}

func TestModelsAreUnchangedByInvalidJSON(t *testing.T) {
	for _, row := range []struct {
		name    string
		model   json.Unmarshaler
		wire    string
		problem string
	}{
		{"a list", &messaging.Event{ID: "1"}, `[]`, "messaging: is an array, not an object"},
		{"a text", &messaging.Customer{CustomerID: "1"}, `"2"`, "messaging: is a string, not an object"},
		{"half an object", &messaging.Event{ID: "1"}, `{"id":"2"`, "messaging: is not valid JSON"},
		{"nothing", &messaging.Event{ID: "1"}, ``, "messaging: is not valid JSON"},
		{"two objects", &messaging.TransactionalMessage{ID: "1"}, `{"id":"2"}{}`, "messaging: is followed by more text"},
	} {
		t.Run(row.name, func(t *testing.T) {
			before := reflect.ValueOf(row.model).Elem().Interface()
			require.EqualError(t, row.model.UnmarshalJSON([]byte(row.wire)), row.problem)
			assert.Error(t, json.Unmarshal([]byte(row.wire), row.model))
			assert.Equal(t, before, reflect.ValueOf(row.model).Elem().Interface())
		})
	}
}

func TestModelsListedCustomerBecomesARecipient(t *testing.T) {
	customer := messaging.Customer{CustomerID: "7", FirstName: "Ada", LastName: "Lovelace", Email: "ada@example.com", PhoneNo: "+441234567890",
		CreatedAt: oneSecond, Providers: []string{"mailgun"}, Extra: map[string]json.RawMessage{"score": json.RawMessage(`1`)}}
	assert.Equal(t, messaging.CustomerParams{CustomerID: "7", FirstName: "Ada", LastName: "Lovelace",
		Email: "ada@example.com", PhoneNo: "+441234567890"}, customer.Params())
	assert.Equal(t, messaging.CustomerParams{}, messaging.Customer{}.Params())
}
