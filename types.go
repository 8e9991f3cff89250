package messaging

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/messaging-go/messaging/internal/arguments"
	"github.com/messaging-go/messaging/internal/service"
	"github.com/messaging-go/messaging/internal/wire"
)

// Audience is the set of customers that a broadcast is sent to: all customers, or a list of
// recipients. Create one with [AllCustomers], [ToCustomers], [ToSegments] or [ToEach].
//
// The zero Audience is empty and invalid, so that a forgotten field does not send to all
// customers.
type Audience struct {
	all        bool
	recipients []recipient
	// ToEach combined an empty audience, or AllCustomers, with another audience.
	emptyPart, allPart bool
}

// AllCustomers addresses every customer of the account.
func AllCustomers() Audience { return Audience{all: true} }

// ToCustomers addresses the given customers. The service creates or updates each customer,
// together with its devices. The service documents no limit; 100,000 customers in one
// request were tried. Split a large send into parts that are small enough to check by hand if
// a delivery is unknown.
func ToCustomers(customers ...CustomerParams) Audience {
	return Audience{recipients: []recipient{{Type: service.CustomerType, Customers: slices.Clone(customers)}}}
}

// ToSegments addresses the customers of the segments with the given ids. An id with white space
// at either end is invalid.
func ToSegments(ids ...string) Audience {
	return Audience{recipients: []recipient{{Type: service.SegmentType, Segments: slices.Clone(ids)}}}
}

// ToEach combines audiences, for a broadcast to customers and to segments. Combining
// [AllCustomers] or the zero Audience with another audience makes the broadcast invalid.
func ToEach(audiences ...Audience) Audience {
	var joined Audience
	for _, a := range audiences {
		joined.all = joined.all || a.all
		joined.recipients = append(joined.recipients, a.recipients...)
		joined.emptyPart = joined.emptyPart || a.emptyPart || !a.all && len(a.recipients) == 0
		joined.allPart = joined.allPart || a.allPart || a.all && len(audiences) > 1
	}
	return joined
}

// Equal reports whether two audiences have equal recipients in the same order. A nil slice
// equals an empty one.
func (a Audience) Equal(other Audience) bool {
	return a.all == other.all && a.emptyPart == other.emptyPart && a.allPart == other.allPart &&
		slices.EqualFunc(a.recipients, other.recipients, recipient.equal)
}

var errNoParamsJSON = errors.New("messaging: the params of a send have no JSON form: store Operation() and Body() of what Prepare returns")

// MarshalJSON returns an error, so that recipients are not lost. Store what Prepare returns.
func (a Audience) MarshalJSON() ([]byte, error) { return nil, errNoParamsJSON }

// UnmarshalJSON returns an error, like MarshalJSON.
func (a *Audience) UnmarshalJSON([]byte) error { return errNoParamsJSON }

// write writes the recipients as the service reads them: one as an object, several as an
// array, and none for all customers.
func (a Audience) write(w *wire.Writer) {
	switch len(a.recipients) {
	case 0:
	case 1:
		w.Member("recipients", func() { a.recipients[0].write(w) })
	default:
		w.Member("recipients", func() {
			w.List(len(a.recipients), func(i int) { a.recipients[i].write(w) })
		})
	}
}

// checkAlways makes the checks that are made even without validation.
func (a Audience) checkAlways(p *arguments.Problems) {
	if a.emptyPart {
		p.Add("recipients", "must not combine an empty audience")
	}
	if a.allPart {
		p.Add("recipients", "cannot be combined with AllCustomers")
	}
	for i, r := range a.recipients {
		at := p.In("recipients").Index(i)
		for j := range r.Customers {
			r.Customers[j].checkAlways(at.In("customers").Index(j))
		}
		for j, id := range r.Segments {
			at.In("segments").Index(j).Trimmed("", id)
		}
	}
}

func (a Audience) validate(p *arguments.Problems) {
	switch {
	case a.all:
		return
	case len(a.recipients) == 0:
		p.Add("recipients", "must be AllCustomers or have at least one recipient")
		return
	}
	for i, r := range a.recipients {
		r.validate(p.In("recipients").Index(i))
	}
}

// recipient is one group of customers within an audience.
type recipient struct {
	Type      string           `json:"type"`
	Customers []CustomerParams `json:"customers,omitempty"`
	Segments  []string         `json:"segments,omitempty"` // their ids
}

func (r recipient) equal(other recipient) bool {
	return r.Type == other.Type && slices.Equal(r.Segments, other.Segments) &&
		slices.EqualFunc(r.Customers, other.Customers, CustomerParams.equal)
}

// write writes the customers one by one, since there can be very many.
func (r *recipient) write(w *wire.Writer) {
	w.Value(recipient{Type: r.Type, Segments: r.Segments})
	if len(r.Customers) > 0 {
		w.Member("customers", func() {
			w.List(len(r.Customers), func(i int) { r.Customers[i].write(w) })
		})
	}
}

func (r *recipient) validate(p *arguments.Problems) {
	if r.Type == service.SegmentType {
		if len(r.Segments) == 0 {
			p.Add("segments", "must have at least one segment")
		}
		for i, id := range r.Segments {
			p.In("segments").Index(i).RequiredText("", id)
		}
		return
	}
	if len(r.Customers) == 0 {
		p.Add("customers", "must have at least one customer")
	}
	customers := p.In("customers")
	for i := range r.Customers {
		r.Customers[i].validate(customers.Index(i))
	}
}

// CustomerParams is a customer in a request. CustomerID or Email is required,
// whichever identifies customers in your account. The other fields are optional, and
// empty fields are not sent. A name must be one line.
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

func (c CustomerParams) equal(other CustomerParams) bool {
	return c.CustomerID == other.CustomerID && c.Email == other.Email && c.FirstName == other.FirstName &&
		c.LastName == other.LastName && c.PhoneNo == other.PhoneNo && slices.Equal(c.Devices, other.Devices)
}

// write writes the customer as encoding/json does.
func (c *CustomerParams) write(w *wire.Writer) {
	w.Begin()
	optional := func(name, value string) {
		if value != "" {
			w.TextMember(name, value)
		}
	}
	optional("customer_id", c.CustomerID)
	optional("email", c.Email)
	optional("first_name", c.FirstName)
	optional("last_name", c.LastName)
	optional("phone_no", c.PhoneNo)
	if len(c.Devices) > 0 {
		w.Name("devices")
		w.List(len(c.Devices), func(i int) { c.Devices[i].write(w) })
	}
	w.End()
}

func (c *CustomerParams) validate(p *arguments.Problems) {
	if c.CustomerID == "" && c.Email == "" {
		p.Add("", "must have a customer_id or an email")
	}
	p.Text("customer_id", c.CustomerID)
	p.Email("email", c.Email)
	p.Text("first_name", c.FirstName)
	p.Text("last_name", c.LastName)
	p.Text("phone_no", c.PhoneNo)
	if c.PhoneNo != "" && !strings.HasPrefix(c.PhoneNo, "+") {
		p.Add("phone_no", "must be in international format, starting with +")
	}
	for i, d := range c.Devices {
		device := p.In("devices").Index(i)
		device.RequiredText("device_type", d.Type)
		device.RequiredText("device_token", d.Token)
	}
}

func (c *CustomerParams) checkAlways(p *arguments.Problems) {
	p.OneLine("first_name", c.FirstName)
	p.OneLine("last_name", c.LastName)
}

// Device is an app installation that can receive push notifications. Both fields are
// required.
type Device struct {
	// Type is the platform, for example "ios" or "android".
	Type string `json:"device_type"`
	// Token is the push token that the platform gave to the app.
	Token string `json:"device_token"`
}

func (d *Device) write(w *wire.Writer) {
	w.Begin()
	w.TextMember("device_type", d.Type)
	w.TextMember("device_token", d.Token)
	w.End()
}

// Schedule is the time at which a broadcast is sent. A nil *Schedule means now.
type Schedule struct {
	// Date is the local time in Timezone, in the form "2006-01-02 15:04:05". Any other
	// form is invalid, and so is a date that does not exist, such as one in the hour that
	// clocks skip, or one that is more than a minute in the past: it is unknown what the service
	// does then. The date is checked only by Prepare, so keep a [Prepared] that you may have to
	// enqueue again.
	Date string `json:"schedule_date"`
	// Timezone is an IANA name such as "Europe/Paris", or "UTC". It must be a name
	// that [time.LoadLocation] knows. On a machine without a time zone database, any
	// name except "Local" is accepted.
	Timezone string `json:"timezone"`
}

// ScheduleAt returns the schedule for t in UTC, truncated to the second. For the time of a
// wall clock, write a Schedule with the Date and the Timezone. If t is the zero time, or its
// year is below 0 or above 9999, the schedule is invalid, and so is a broadcast that uses it.
func ScheduleAt(t time.Time) *Schedule {
	return &Schedule{Date: t.UTC().Format(wire.LocalForm), Timezone: "UTC"}
}

func (s *Schedule) validate(p *arguments.Problems) {
	switch {
	case s.Date == "":
		p.Add("schedule_date", "is required")
	case !wire.IsLocal(s.Date):
		p.Add("schedule_date", "must be a date and a time that exist, in the form "+wire.LocalForm)
	}
	p.RequiredText("timezone", s.Timezone)
	zone, err := time.LoadLocation(s.Timezone)
	switch {
	case s.Timezone == "":
	case s.Timezone == "Local", err != nil && hasZoneDatabase(): // Local is another zone on each machine
		p.Add("timezone", "is not a known IANA time zone name")
	case err == nil && wire.IsLocal(s.Date) && !s.isZeroTime():
		switch at, exists := lastTime(zone, s.Date); {
		case !exists:
			p.Add("schedule_date", "does not exist in the time zone, where clocks skip it")
		case time.Since(at) > time.Minute:
			p.Add("schedule_date", "is more than a minute in the past")
		}
	}
}

func (s *Schedule) isZeroTime() bool { return s.Date == (time.Time{}).Format(wire.LocalForm) }

func (s *Schedule) checkAlways(p *arguments.Problems) {
	if s != nil && s.isZeroTime() { // which the service might take for now
		p.Add("schedule_date", "is the zero time")
	}
}

// wireType returns the schedule_type of the schedule.
func (s *Schedule) wireType() string {
	if s == nil {
		return "send-now"
	}
	return "send-later"
}

// lastTime returns the last time at which clocks in a zone show a date, and whether they do so at
// all. They show it twice when they are set back.
func lastTime(zone *time.Location, date string) (last time.Time, exists bool) {
	inUTC, err := time.Parse(wire.LocalForm, date)
	if err != nil {
		return time.Time{}, false
	}
	const day = 24 * time.Hour
	for _, nearby := range []time.Time{inUTC.Add(-day), inUTC.Add(day)} { // with the offsets before and after a change
		_, offset := nearby.In(zone).Zone()
		t := inUTC.Add(-time.Duration(offset) * time.Second)
		if t.In(zone).Format(wire.LocalForm) == date && (!exists || t.After(last)) {
			last, exists = t, true
		}
	}
	return last, exists
}

// hasZoneDatabase reports whether zones can be looked up at all. In a minimal container
// they cannot, so no name can be shown to be wrong.
func hasZoneDatabase() bool {
	_, err := time.LoadLocation("Europe/London")
	return err == nil
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

// ParameterType is the type of an event parameter. It is read in any case, and stored and
// sent in lower case. The list is open: the service may use types that have no constant
// here.
type ParameterType string

// The parameter types that the service is known to use.
const (
	ParameterText    ParameterType = "text"
	ParameterNumeric ParameterType = "numeric"
	// ParameterTimestamp takes a [time.Time], or a string in exactly the form
	// 2006-01-02T15:04:05Z. The service silently ignores any other form.
	ParameterTimestamp ParameterType = "timestamp"
)

// model is a type that reads itself from JSON.
type model[T any] interface {
	*T
	decode(*wire.Reader) error
}

// readModel reads a document that is one model. If there is an error, into does not change.
func readModel[T any, M model[T]](document []byte, into M) error {
	r := wire.NewReader()
	defer r.Free()
	r.Reset(document)
	var value T
	err := M(&value).decode(r)
	if err == nil {
		err = r.End()
	}
	if err == nil {
		*into = value
	}
	return err
}

// unmarshalModel implements UnmarshalJSON of the models. As encoding/json requires,
// null changes nothing.
func unmarshalModel[T any, M model[T]](data []byte, into M) error {
	if into == nil {
		return fmt.Errorf("messaging: cannot read into a nil %T", into)
	}
	if string(data) == "null" {
		return nil
	}
	if err := readModel(data, into); err != nil {
		return fmt.Errorf("messaging: %w", err)
	}
	return nil
}

// marshalModel implements MarshalJSON of the models. A member of extra replaces a field of
// the same name, which is zero since the member did not fit.
func marshalModel(body any, extra map[string]json.RawMessage) ([]byte, error) {
	written, err := marshal(body)
	if err != nil || len(extra) == 0 {
		return written, err
	}
	members := make(map[string]json.RawMessage)
	if err := json.Unmarshal(written, &members); err != nil {
		return nil, err
	}
	maps.Copy(members, extra)
	return marshal(members)
}

// marshal returns what encoding/json writes without escaping HTML. Whether it is escaped is up
// to the encoder of the caller.
func marshal(value any) ([]byte, error) {
	w := wire.NewWriter()
	w.Value(value)
	return w.Finish()
}
