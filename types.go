package messaging

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
)

// Audience is who a broadcast goes to: everyone, or named recipients. Build one
// with [AllCustomers], [ToCustomers], [ToSegments] or [ToEach].
//
// The zero Audience is nobody and is refused, so that everyone is never one
// forgotten field away.
type Audience struct {
	all        bool
	recipients []Recipient
	// flaw is what ToEach found wrong, "" for nothing.
	flaw string
}

// AllCustomers addresses every customer of the account.
func AllCustomers() Audience { return Audience{all: true} }

// ToCustomers addresses the given customers. The service creates a customer it
// does not know yet and updates one that it does, together with its devices.
func ToCustomers(customers ...CustomerParams) Audience {
	return Audience{recipients: []Recipient{{Type: RecipientCustomer, Customers: slices.Clone(customers)}}}
}

// ToSegments addresses the customers of the given segments, named by segment id.
func ToSegments(ids ...string) Audience {
	return Audience{recipients: []Recipient{{Type: RecipientSegment, Segments: slices.Clone(ids)}}}
}

// ToEach joins audiences into one, for a broadcast that goes to named customers
// and to segments. [AllCustomers] leaves nobody to add, and the zero Audience has
// nobody to give: joining either with another audience is refused when the
// broadcast is sent.
func ToEach(audiences ...Audience) Audience {
	var joined Audience
	for _, a := range audiences {
		joined.all = joined.all || a.all
		joined.recipients = append(joined.recipients, a.recipients...)
		switch {
		case a.flaw != "":
			joined.flaw = a.flaw
		case !a.all && len(a.recipients) == 0:
			joined.flaw = "must not join an audience that is nobody"
		}
	}
	if joined.all && len(audiences) > 1 {
		joined.flaw = "can't name anybody beside all customers"
	}
	return joined
}

// All reports whether the audience is every customer of the account.
func (a Audience) All() bool { return a.all }

// Recipients returns a copy of the named recipients, nil for [AllCustomers].
func (a Audience) Recipients() []Recipient {
	recipients := slices.Clone(a.recipients)
	for i, r := range recipients {
		recipients[i].Customers = slices.Clone(r.Customers)
		for j, c := range r.Customers {
			recipients[i].Customers[j].Devices = slices.Clone(c.Devices)
		}
		recipients[i].Segments = slices.Clone(r.Segments)
	}
	return recipients
}

// write adds the recipients as the service reads them: one as an object, several
// as an array, nobody left out.
func (a Audience) write(w *bodyWriter) {
	switch len(a.recipients) {
	case 0:
	case 1:
		w.member("recipients", func() { a.recipients[0].write(w) })
	default:
		w.member("recipients", func() {
			w.list(len(a.recipients), func(i int) { a.recipients[i].write(w) })
		})
	}
}

func (a Audience) validate(p *problems) {
	switch {
	case a.all:
		return
	case len(a.recipients) == 0:
		p.add("recipients", "must be all customers or at least one recipient")
		return
	}
	for i, r := range a.recipients {
		r.validate(p.in("recipients").index(i))
	}
}

// Recipient is one group of people within an [Audience].
type Recipient struct {
	Type RecipientType `json:"type"`
	// Customers are the people addressed when Type is [RecipientCustomer].
	Customers []CustomerParams `json:"customers,omitempty"`
	// Segments are the ids of the segments addressed when Type is [RecipientSegment].
	Segments []string `json:"segments,omitempty"`
}

// write writes the customers, who can be many, one by one.
func (r *Recipient) write(w *bodyWriter) {
	w.value(Recipient{Type: r.Type, Segments: r.Segments})
	if len(r.Customers) > 0 {
		w.member("customers", func() {
			w.list(len(r.Customers), func(i int) { w.value(&r.Customers[i]) })
		})
	}
}

func (r *Recipient) validate(p *problems) {
	if r.Type == RecipientSegment {
		if len(r.Segments) == 0 {
			p.add("segments", "must name at least one segment")
		}
		for i, id := range r.Segments {
			p.in("segments").index(i).requiredText("", id)
		}
		return
	}
	if len(r.Customers) == 0 {
		p.add("customers", "must name at least one customer")
	}
	for i := range r.Customers {
		r.Customers[i].validate(p.in("customers").index(i))
	}
}

// CustomerParams is a customer as an integration names it: by CustomerID or by
// Email, whichever the account is set up to identify customers with. Every
// other field is optional, and an empty one is not sent.
type CustomerParams struct {
	// CustomerID is the customer's id in your own system.
	CustomerID string `json:"customer_id,omitempty"`
	Email      string `json:"email,omitempty"`
	FirstName  string `json:"first_name,omitempty"`
	LastName   string `json:"last_name,omitempty"`
	// PhoneNo is in international format and starts with a plus sign.
	PhoneNo string `json:"phone_no,omitempty"`
	// Devices are stored for the customer and receive its push notifications.
	Devices []Device `json:"devices,omitempty"`
}

func (c *CustomerParams) validate(p *problems) {
	if c.CustomerID == "" && c.Email == "" {
		p.add("", "must have a customer_id or an email")
	}
	p.text("customer_id", c.CustomerID)
	p.email("email", c.Email)
	p.text("first_name", c.FirstName)
	p.text("last_name", c.LastName)
	p.text("phone_no", c.PhoneNo)
	if c.PhoneNo != "" && !strings.HasPrefix(c.PhoneNo, "+") {
		p.add("phone_no", "must be in international format, starting with +")
	}
	for i, d := range c.Devices {
		p.in("devices").index(i).text("device_type", d.DeviceType)
		p.in("devices").index(i).text("device_token", d.DeviceToken)
	}
}

// Device is an app installation that can receive push notifications.
type Device struct {
	// DeviceType is the platform, for example "ios" or "android".
	DeviceType string `json:"device_type"`
	// DeviceToken is the push token that the platform gave to the app.
	DeviceToken string `json:"device_token"`
}

// Schedule is when a broadcast goes out. A nil *Schedule means now.
type Schedule struct {
	// Date is the wall clock in Timezone. [ScheduleAt] writes it as
	// "2006-01-02 15:04:05"; any other form is sent as it stands.
	Date string `json:"schedule_date"`
	// Timezone is an IANA name such as "Europe/Paris", or "UTC". It must be one
	// that [time.LoadLocation] knows; where the machine has no zone database at
	// all, every name is accepted.
	Timezone string `json:"timezone"`
}

// ScheduleAt schedules for t, to the second. The date is written as the wall
// clock of t's location under its IANA name, provided that reading both back
// gives the same instant. For other locations ([time.Local], a fixed zone) and
// for the half of a repeated hour that can't be told from the other, it is
// written in UTC. The zero time, and one that takes more than four digits for
// the year, have no date and are refused when the broadcast is sent.
func ScheduleAt(t time.Time) *Schedule {
	if t.IsZero() || t.UTC().Year() < 1 || t.UTC().Year() > 9999 {
		return &Schedule{Timezone: "UTC"}
	}
	t = t.Truncate(time.Second)
	name := t.Location().String()
	if loc, err := loadZone(name); err == nil {
		date := t.Format(localForm)
		if again, err := time.ParseInLocation(localForm, date, loc); err == nil && again.Equal(t) {
			return &Schedule{Date: date, Timezone: name}
		}
	}
	return &Schedule{Date: t.UTC().Format(localForm), Timezone: "UTC"}
}

func (s *Schedule) validate(p *problems) {
	p.requiredText("schedule_date", s.Date)
	p.requiredText("timezone", s.Timezone)
	if s.Timezone == "" {
		return
	}
	if _, err := loadZone(s.Timezone); err != nil && (s.Timezone == "Local" || hasZoneDatabase()) {
		p.add("timezone", "is not a known IANA time zone name")
	}
}

// wireType is the schedule_type that goes with the schedule.
func (s *Schedule) wireType() string {
	if s == nil {
		return "send-now"
	}
	return "send-later"
}

var errNoZone = errors.New("not a place")

// loadZone is time.LoadLocation without the two names that are not places:
// "" and "Local" mean one thing on this machine and another at the service.
func loadZone(name string) (*time.Location, error) {
	if name == "" || name == "Local" {
		return nil, errNoZone
	}
	return time.LoadLocation(name)
}

// hasZoneDatabase tells a misspelt zone from a machine, such as a minimal
// container, on which no zone can be looked up.
func hasZoneDatabase() bool {
	return slices.ContainsFunc([]string{"Europe/London", "America/New_York"}, func(name string) bool {
		_, err := time.LoadLocation(name)
		return err == nil
	})
}

// Channel is the medium of a transactional message. The list is open: the
// service may use values that have no constant here.
type Channel string

// The channels that the service is known to use.
const (
	ChannelEmail    Channel = "email"
	ChannelSMS      Channel = "sms"
	ChannelWhatsApp Channel = "whatsapp"
)

// ParameterType is the type of an event parameter. It is read in any case, and
// kept and sent in lower case. The list is open: the service may know types
// that have no constant here.
type ParameterType string

// The parameter types that the service is known to use.
const (
	ParameterText    ParameterType = "text"
	ParameterNumeric ParameterType = "numeric"
	// ParameterTimestamp takes a [time.Time], or a string in exactly the form
	// 2006-01-02T15:04:05Z. The service skips any other form in silence.
	ParameterTimestamp ParameterType = "timestamp"
)

// RecipientType says what a [Recipient] lists.
type RecipientType string

// The recipient types of the service.
const (
	RecipientCustomer RecipientType = "customer"
	RecipientSegment  RecipientType = "segment"
)

// Extra holds the members of an answer that a model has no field for, or could
// not read into its field, such as a date of 0000-00-00. It is nil when there
// are none, and is written back when the model is marshalled.
type Extra map[string]json.RawMessage
