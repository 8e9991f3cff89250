package messaging_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

func emailTo(to messaging.Audience) scripted.Call {
	return emailWith(func(p *messaging.EmailBroadcastParams) { p.To = to })
}

func pushTo(to messaging.Audience) scripted.Call {
	return pushWith(func(p *messaging.PushBroadcastParams) { p.To = to })
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
			Devices: []messaging.Device{{}, {DeviceType: notUTF8, DeviceToken: notUTF8}}}),
			[]string{
				"recipients.0.customers.0.customer_id must be valid UTF-8", "recipients.0.customers.0.email must be valid UTF-8",
				"recipients.0.customers.0.first_name must be valid UTF-8", "recipients.0.customers.0.last_name must be valid UTF-8",
				"recipients.0.customers.0.phone_no must be valid UTF-8", "recipients.0.customers.0.devices.1.device_type must be valid UTF-8",
				"recipients.0.customers.0.devices.1.device_token must be valid UTF-8",
			}},
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
		refusals = append(refusals,
			invalidCall{"email: " + test.name, emailTo(test.to), test.problems},
			invalidCall{"push: " + test.name, pushTo(test.to), test.problems})
	}
	requireInvalidUnlessLifted(t, refusals)
}

func TestAudienceRefusesAnInvalidJoin(t *testing.T) {
	var nobody messaging.Audience
	everybody, vip := messaging.AllCustomers(), messaging.ToSegments("vip")
	const besideAll = "recipients cannot be combined with AllCustomers"
	const isNobody = "recipients must not combine an empty audience"
	tests := []struct {
		name    string
		to      messaging.Audience
		problem string
	}{
		{"everybody with a segment", messaging.ToEach(everybody, vip), besideAll},
		{"a segment with everybody", messaging.ToEach(vip, everybody), besideAll},
		{"everybody with everybody", messaging.ToEach(everybody, everybody), besideAll},
		{"nobody with everybody", messaging.ToEach(nobody, everybody), besideAll},
		{"everybody within what is joined", messaging.ToEach(messaging.ToEach(everybody), vip), besideAll},
		{"everybody with a segment, joined once more", messaging.ToEach(messaging.ToEach(everybody, vip)), besideAll},
		{"a segment with nobody, who may have been forgotten", messaging.ToEach(vip, nobody), isNobody},
		{"nobody with a segment", messaging.ToEach(nobody, vip), isNobody},
		{"a segment with nothing joined", messaging.ToEach(vip, messaging.ToEach()), isNobody},
		{"nobody within what is joined", messaging.ToEach(messaging.ToEach(vip, nobody), vip), isNobody},
	}
	var refusals []invalidCall
	for _, test := range tests {
		refusals = append(refusals,
			invalidCall{"email: " + test.name, emailTo(test.to), []string{test.problem}},
			invalidCall{"push: " + test.name, pushTo(test.to), []string{test.problem}})
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

func TestAudienceRecipients(t *testing.T) {
	jane := messaging.CustomerParams{CustomerID: "42"}
	toJane := messaging.Recipient{Type: messaging.RecipientCustomer, Customers: []messaging.CustomerParams{jane}}
	vip := messaging.Recipient{Type: messaging.RecipientSegment, Segments: []string{"vip"}}
	tests := []struct {
		name       string
		to         messaging.Audience
		all        bool
		recipients []messaging.Recipient
	}{
		{"nobody", messaging.Audience{}, false, nil},
		{"everybody", messaging.AllCustomers(), true, nil},
		{"customers", messaging.ToCustomers(jane), false, []messaging.Recipient{toJane}},
		{"segments", messaging.ToSegments("vip"), false, []messaging.Recipient{vip}},
		{"both", messaging.ToEach(messaging.ToSegments("vip"), messaging.ToCustomers(jane)), false, []messaging.Recipient{vip, toJane}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.all, test.to.All())
			assert.Equal(t, test.recipients, test.to.Recipients())
		})
	}
}

func TestAudienceCopiesItsArguments(t *testing.T) {
	customers := []messaging.CustomerParams{{CustomerID: "42"}}
	segments := []string{"vip"}
	parts := []messaging.Audience{messaging.ToCustomers(customers...), messaging.ToSegments(segments...)}
	to := messaging.ToEach(parts...)
	before := to.Recipients()

	customers[0].CustomerID, segments[0] = canary, canary
	parts[0] = messaging.AllCustomers()

	assert.Equal(t, "42", before[0].Customers[0].CustomerID)
	assert.Equal(t, before, to.Recipients())
	assert.False(t, to.All())
}

func TestAudienceReturnsACopyOfItsRecipients(t *testing.T) {
	jane := func() messaging.CustomerParams {
		return messaging.CustomerParams{CustomerID: "42", Devices: []messaging.Device{{DeviceType: "ios", DeviceToken: "token"}}}
	}
	to := messaging.ToEach(messaging.ToCustomers(jane()), messaging.ToSegments("vip"))

	spoilt := to.Recipients()
	spoilt[0].Customers[0].Devices[0].DeviceToken = canary
	spoilt[0].Customers[0].CustomerID, spoilt[1].Segments[0] = canary, canary
	spoilt[1].Type = canary

	assert.Equal(t, []messaging.Recipient{
		{Type: messaging.RecipientCustomer, Customers: []messaging.CustomerParams{jane()}},
		{Type: messaging.RecipientSegment, Segments: []string{"vip"}},
	}, to.Recipients())
}

func TestAudiencesThatShareAPartDoNotShareMemory(t *testing.T) {
	shared := messaging.ToEach(messaging.ToSegments("a"), messaging.ToSegments("b"), messaging.ToSegments("c"))
	one := messaging.ToEach(shared, messaging.ToSegments("one"))
	two := messaging.ToEach(shared, messaging.ToSegments("two"))
	assert.Equal(t, []string{"one"}, one.Recipients()[3].Segments)
	assert.Equal(t, []string{"two"}, two.Recipients()[3].Segments)
}

func TestScheduleIsValidated(t *testing.T) {
	const nine = "2027-03-01 09:00:00"
	const unknown = "schedule_date.timezone is not a known IANA time zone name"
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
		{"a path out of the zone database", messaging.Schedule{Date: nine, Timezone: "../../etc/canary"}, []string{unknown}},
		{"a zone that is not UTF-8", messaging.Schedule{Date: nine, Timezone: notUTF8},
			[]string{"schedule_date.timezone must be valid UTF-8, is not a known IANA time zone name"}},
		{"a date that is not UTF-8", messaging.Schedule{Date: notUTF8, Timezone: "UTC"},
			[]string{"schedule_date.schedule_date must be valid UTF-8"}},
		{"an empty schedule is not a broadcast for now", messaging.Schedule{},
			[]string{"schedule_date.schedule_date is required", "schedule_date.timezone is required"}},
	}
	var refusals []invalidCall
	for _, test := range tests {
		refusals = append(refusals,
			invalidCall{"email: " + test.name, emailWith(func(p *messaging.EmailBroadcastParams) { p.Schedule = &test.schedule }), test.problems},
			invalidCall{"push: " + test.name, pushWith(func(p *messaging.PushBroadcastParams) { p.Schedule = &test.schedule }), test.problems})
	}
	requireInvalidUnlessLifted(t, refusals)
}

func TestScheduleWireForm(t *testing.T) {
	tests := []struct {
		name     string
		schedule *messaging.Schedule
		wire     string
	}{
		{"none means now", nil, `"schedule_type":"send-now"`},
		{"a moment means later", &messaging.Schedule{Date: "2027-03-01 09:00:00", Timezone: "Europe/Amsterdam"},
			`"schedule_type":"send-later","schedule_date":{"schedule_date":"2027-03-01 09:00:00","timezone":"Europe/Amsterdam"}`},
		{"a date in a form of your own is sent as it stands", &messaging.Schedule{Date: "next monday", Timezone: "UTC"},
			`"schedule_type":"send-later","schedule_date":{"schedule_date":"next monday","timezone":"UTC"}`},
	}
	g := scripted.NewGate(t)
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

// requireSameMoment reads a schedule as the service does, and holds it to the
// moment that was asked for.
func requireSameMoment(t *testing.T, wanted time.Time, schedule *messaging.Schedule) {
	t.Helper()
	require.NotContains(t, []string{"", "Local"}, schedule.Timezone)
	read, err := time.ParseInLocation("2006-01-02 15:04:05", schedule.Date, zone(t, schedule.Timezone))
	require.NoError(t, err)
	require.True(t, read.Equal(wanted.Truncate(time.Second)), "%v was scheduled for %v", wanted, read)
}

func TestScheduleAtKeepsTheWallClockWhereItCan(t *testing.T) {
	summer := time.Date(2026, 7, 1, 7, 30, 15, 999_999_999, time.UTC)
	inUTC := messaging.Schedule{Date: "2026-07-01 07:30:15", Timezone: "UTC"}
	tests := []struct {
		name   string
		at     time.Time
		wanted messaging.Schedule
	}{
		{"a place, without the fraction of a second", summer.In(zone(t, "Europe/Amsterdam")),
			messaging.Schedule{Date: "2026-07-01 09:30:15", Timezone: "Europe/Amsterdam"}},
		{"UTC", summer, inUTC},
		{"an offset with no name", summer.In(time.FixedZone("", 7200)), inUTC},
		{"no offset and no name, as read from +00:00", summer.In(time.FixedZone("", 0)), inUTC},
		{"an offset with a name of its own", summer.In(time.FixedZone("Head office", 7200)), inUTC},
		{"an offset under the name of a place that has another", summer.In(time.FixedZone("Europe/Amsterdam", 3600)), inUTC},
		{"an offset under the name of UTC", summer.In(time.FixedZone("UTC", 7200)), inUTC},
		{"an offset under the name of this machine's zone", summer.In(time.FixedZone("Local", 7200)), inUTC},
		{"a moment before 1970 is cut to its second, and not rounded up", time.Date(1969, 12, 31, 23, 59, 58, 1, time.UTC),
			messaging.Schedule{Date: "1969-12-31 23:59:58", Timezone: "UTC"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			schedule := messaging.ScheduleAt(test.at)
			assert.Equal(t, test.wanted, *schedule)
			requireSameMoment(t, test.at, schedule)
		})
	}
}

func TestScheduleAtDistinguishesTheTwoHalvesOfARepeatedHour(t *testing.T) {
	newYork := zone(t, "America/New_York")
	first := time.Date(2026, 11, 1, 5, 30, 0, 0, time.UTC).In(newYork)
	second := first.Add(time.Hour)
	require.Equal(t, first.Format(time.TimeOnly), second.Format(time.TimeOnly), "the clock shows the same twice")

	schedules := []*messaging.Schedule{messaging.ScheduleAt(first), messaging.ScheduleAt(second)}
	requireSameMoment(t, first, schedules[0])
	requireSameMoment(t, second, schedules[1])
	assert.ElementsMatch(t, []string{"America/New_York", "UTC"}, []string{schedules[0].Timezone, schedules[1].Timezone})
}

func TestScheduleAtKeepsTheInstant(t *testing.T) {
	newYork := zone(t, "America/New_York")
	tests := []struct {
		name   string
		zone   *time.Location
		around time.Time
	}{
		{"around a wall clock that was skipped", newYork, time.Date(2026, 3, 8, 2, 30, 0, 0, newYork)},
		{"while clocks go forward", zone(t, "Europe/Amsterdam"), time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC)},
		{"while clocks go back", zone(t, "Europe/Amsterdam"), time.Date(2026, 10, 25, 1, 0, 0, 0, time.UTC)},
		{"while clocks go back by half an hour", zone(t, "Australia/Lord_Howe"), time.Date(2026, 4, 4, 15, 0, 0, 0, time.UTC)},
		{"while clocks go back over midnight", zone(t, "America/Sao_Paulo"), time.Date(2019, 2, 17, 2, 0, 0, 0, time.UTC)},
		{"while a whole day is skipped", zone(t, "Pacific/Apia"), time.Date(2011, 12, 30, 10, 0, 0, 0, time.UTC)},
		{"where the offset has seconds", zone(t, "Europe/Amsterdam"), time.Date(1930, 5, 1, 0, 0, 0, 0, time.UTC)},
		{"where the offset has minutes", zone(t, "Asia/Kathmandu"), time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)},
		{"in the zone of this machine", time.Local, time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for shift := -3 * time.Hour; shift <= 3*time.Hour; shift += 5 * time.Minute {
				at := test.around.Add(shift).In(test.zone)
				requireSameMoment(t, at, messaging.ScheduleAt(at))
			}
		})
	}
}
