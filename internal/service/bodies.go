package service

import "slices"

// Object is a JSON object in a request or a response. It is declared here once: guards find by
// it whom a send addresses, and the sandbox describes the service by it.
type Object struct {
	Name    string // of its schema, or "" for a whole body
	Members []Member
	// Any names members of which at least one is required.
	Any []string
	// Open means that the object can have members of any other name, which address nobody. The
	// service may ignore the case of the names that it knows.
	Open bool
}

// Member is a member of an object.
type Member struct {
	Name     string
	Kind     Kind
	Required bool
	Role     Role     // whom the value names; every member of the body of a send states it
	Of       *Object  // the value, or each element of it; nil if it is no object
	Values   []string // if the service documents them
	Note     string   // for people
}

// Kind is the form of a value.
type Kind uint8

// The kinds of values. OneOrList is an object, or an array of such objects.
const (
	Text Kind = iota
	Email
	Boolean
	Number
	Map
	Single
	Texts
	Emails
	List
	OneOrList
)

// IsList reports whether a value can be an array.
func (k Kind) IsList() bool { return k >= Texts }

// Role is whom a value names.
type Role uint8

// The roles of values. Nobody is stated too, since the zero Role is that of a member whose role
// was forgotten.
const (
	_             Role = iota
	Nobody             // names nobody who receives the send
	Within             // is or holds objects, whose members have roles
	Everyone           // all customers, if it is true
	Segment            // the customers of a segment
	RecipientType      // which list of a recipient counts
	CustomerID         // a customer
	CustomerEmail      // the address of a customer
	Address            // an address, which alone makes a send valid
	CopyAddress        // an address in addition to those who make a send valid
	Phone
	DeviceToken
)

// AddressesSomebody reports whether a member of the object can name somebody.
func (o *Object) AddressesSomebody() bool {
	return slices.ContainsFunc(o.Members, func(m Member) bool {
		return m.Role != Nobody && (m.Role != Within || m.Of.AddressesSomebody())
	})
}

// The objects within bodies.
var (
	Device = &Object{Name: "Device", Members: []Member{
		{Name: "device_type", Role: Nobody},
		{Name: "device_token", Role: DeviceToken},
	}}
	Customer = &Object{Name: "Customer", Any: []string{"customer_id", "email"}, Members: []Member{
		{Name: "customer_id", Role: CustomerID, Note: "The id of the customer in your own system."},
		{Name: "email", Kind: Email, Role: CustomerEmail},
		{Name: "first_name", Role: Nobody},
		{Name: "last_name", Role: Nobody},
		{Name: "phone_no", Role: Phone, Note: "In international format, with a leading plus."},
		{Name: "devices", Kind: List, Role: Within, Of: Device},
	}}
	Recipient = &Object{Name: "Recipient", Members: []Member{
		{Name: "type", Required: true, Role: RecipientType, Values: []string{CustomerType, SegmentType}},
		{Name: "customers", Kind: List, Role: Within, Of: Customer},
		{Name: "segments", Kind: Texts, Role: Segment},
	}}
	Schedule = &Object{Name: "ScheduleDate", Members: []Member{
		{Name: "schedule_date", Role: Nobody, Note: "Such as 2099-01-31 09:00:00."},
		{Name: "timezone", Role: Nobody, Note: "An IANA time zone, such as Europe/Paris."},
	}}
	Parameter = &Object{Name: "EventParameter", Members: []Member{
		{Name: "name", Required: true, Role: Nobody},
		{Name: "type", Required: true, Role: Nobody, Note: "Seen: text, numeric and timestamp."},
		{Name: "required", Kind: Boolean, Role: Nobody},
	}}
	Payload = &Object{Name: "Payload", Open: true, Any: []string{"email", "customer"}, Members: []Member{
		{Name: "email", Kind: Email, Role: Address},
		{Name: "customer", Kind: Single, Role: Within, Of: Customer},
	}}
)

// The types of a recipient.
const (
	CustomerType = "customer"
	SegmentType  = "segment"
)

// The bodies of the sends.
var (
	emailBroadcast = broadcast(
		Member{Name: "sender_email", Kind: Email, Required: true, Role: Nobody},
		Member{Name: "sender_name", Required: true, Role: Nobody},
		Member{Name: "email", Kind: Email, Required: true, Role: CopyAddress},
		Member{Name: "subject", Required: true, Role: Nobody},
		Member{Name: "cc", Kind: Emails, Role: CopyAddress},
		Member{Name: "bcc", Kind: Emails, Role: CopyAddress},
		Member{Name: "reply_to", Kind: Emails, Role: Nobody},
		Member{Name: "message", Required: true, Role: Nobody},
		Member{Name: "template_id", Role: Nobody},
		Member{Name: "email_template_id", Role: Nobody},
		Member{Name: "message_type", Required: true, Role: Nobody},
		Member{Name: "variables", Kind: Map, Role: Nobody})
	pushBroadcast = broadcast(
		Member{Name: "subject", Required: true, Role: Nobody},
		Member{Name: "message", Required: true, Role: Nobody},
		Member{Name: "whatsapp_template_id", Role: Nobody,
			Note: "Documented as required; the samples of the service leave it out."})
	event = &Object{Members: []Member{
		{Name: "name", Required: true, Role: Nobody},
		{Name: "description", Required: true, Role: Nobody},
		{Name: "parameters", Kind: List, Required: true, Role: Within, Of: Parameter},
	}}
	trigger = &Object{Members: []Member{
		{Name: "event_id", Required: true, Role: Nobody},
		{Name: "payload", Kind: Single, Required: true, Role: Within, Of: Payload,
			Note: "The customer, and the values of the event's parameters. " +
				"A timestamp in another form than YYYY-MM-DDThh:mm:ssZ is ignored."},
	}}
)

// broadcast returns the body of a broadcast: its own members, and those that every broadcast
// has.
func broadcast(own ...Member) *Object {
	return &Object{Members: append(own,
		Member{Name: "all_customers", Kind: Boolean, Role: Everyone, Note: "True sends to all customers."},
		Member{Name: "schedule_type", Required: true, Role: Nobody, Values: []string{"send-now", "send-later"}},
		Member{Name: "schedule_date", Kind: OneOrList, Role: Within, Of: Schedule,
			Note: "Required for send-later. Documented as an array; the samples send an object."},
		Member{Name: "recipients", Kind: OneOrList, Role: Within, Of: Recipient})}
}
