package messaging

import (
	"errors"
	"slices"
	"strings"

	"github.com/messaging-go/messaging/internal/arguments"
	"github.com/messaging-go/messaging/internal/service"
	"github.com/messaging-go/messaging/internal/wire"
)

// Recipients lists whom a [Prepared] addresses, as read from its body.
type Recipients struct {
	// Everyone is true if the request is addressed to all customers.
	Everyone bool
	// Segments are the ids of segments. The number of their customers is unknown.
	Segments []string
	// CustomerCount is the number of customer objects.
	CustomerCount int
	// CustomerIDs, Emails, Phones and DeviceTokens hold those of all customers, in order.
	// Emails also holds the addresses in email, cc and bcc, but not the address of the sender
	// or the addresses in reply_to.
	CustomerIDs, Emails, Phones, DeviceTokens []string
	// Count is the number that [WithMaxRecipients] compares with its limit: the customers, and
	// the addresses that no customer has. Two customers are one if both their ids and their
	// addresses are equal. The case of ASCII letters in an address does not matter. Phone
	// numbers and devices do not count, and neither do Everyone and Segments.
	Count int
}

func (r *Recipients) add(f field) {
	switch f.role {
	case service.Everyone:
		r.Everyone = true
	case service.Segment:
		r.Segments = append(r.Segments, f.text)
	case oneCustomer:
		r.CustomerCount++
	case service.CustomerID:
		r.CustomerIDs = append(r.CustomerIDs, f.text)
	case service.CustomerEmail, service.Address, service.CopyAddress:
		r.Emails = append(r.Emails, f.text)
	case service.Phone:
		r.Phones = append(r.Phones, f.text)
	case service.DeviceToken:
		r.DeviceTokens = append(r.DeviceTokens, f.text)
	}
}

// field is a part of a body that names somebody.
type field struct {
	role service.Role
	text string // "" for Everyone and oneCustomer
}

// oneCustomer is the role of a field for a customer object. The fields of the object follow it.
const oneCustomer = service.Within

func (f field) isAddress() bool {
	return f.role == service.CustomerEmail || f.role == service.Address || f.role == service.CopyAddress
}

// isNotCountable reports whether the number of people whom a field names is unknown.
func (f field) isNotCountable() bool {
	return f.role == service.Everyone || f.role == service.Segment || f.isAddress() && !arguments.IsEmail(f.text)
}

// count returns the number of customers, and of addresses that no customer has.
func count(fields []field) int {
	counted := recipientCount{customers: make(map[countedCustomer]bool), addresses: make(map[string]bool)}
	for _, f := range fields {
		counted.add(f)
	}
	counted.finish()
	for known := range counted.customers {
		delete(counted.addresses, known.email)
	}
	return len(counted.customers) + len(counted.addresses)
}

// recipientCount counts customers, and addresses that no customer has.
type recipientCount struct {
	customers map[countedCustomer]bool
	addresses map[string]bool
	current   countedCustomer // of the fields that follow a customer
}

type countedCustomer struct{ id, email string }

// add adds a field. A customer with two ids or two addresses counts as two.
func (c *recipientCount) add(f field) {
	switch {
	case f.role == oneCustomer:
		c.finish()
	case f.role == service.CustomerID:
		if c.current.id != "" {
			c.finish()
		}
		c.current.id = f.text
	case f.role == service.CustomerEmail && c.current.email == "":
		c.current.email = arguments.LowerASCII(f.text)
	case f.isAddress():
		c.addresses[arguments.LowerASCII(f.text)] = true
	}
}

// finish adds the current customer.
func (c *recipientCount) finish() {
	if c.current != (countedCustomer{}) {
		c.customers[c.current] = true
		c.current = countedCustomer{}
	}
}

var errUnmodelled = errors.New("cannot tell who would receive this request")

// readFields calls visit with each field of a body, in order. If visit returns an error,
// readFields ends and returns it with the path of the field. If the body does not fit the
// object, or names nobody although it should, it returns errUnmodelled.
func readFields(of *service.Object, body []byte, visit func(field) error) error {
	if of == nil { // the request is not in the catalog
		return errUnmodelled
	}
	r := fieldReader{Reader: wire.NewReader(), visit: visit}
	defer r.Free()
	r.Reset(body)
	err := r.object(of)
	switch {
	case r.stopped:
		return err
	case err != nil || r.End() != nil || !r.namesSomebody && of.AddressesSomebody():
		return errUnmodelled // the path in err can quote anything
	}
	return nil
}

// fieldReader reads the fields of a body, as the catalog declares its members.
type fieldReader struct {
	*wire.Reader
	visit   func(field) error
	stopped bool // by an error of visit

	namesSomebody bool
	found         int // ids and addresses of customers, and tokens of devices

	// These fields describe the recipient that is being read.
	types                   []string
	customersIn, segmentsIn int
}

var (
	errUnknownMember = errors.New("is unknown")
	errNobody        = errors.New("names nobody")
)

// object reads an object. A member that the catalog does not have could address somebody, so it
// makes the body unmodelled. It can occur because a stored body may come from another program.
// All duplicates of a member count.
func (r *fieldReader) object(of *service.Object) error {
	return r.Object(func(key []byte) error {
		for i := range of.Members {
			m := &of.Members[i]
			if m.Name == string(key) || of.Open && strings.EqualFold(m.Name, string(key)) {
				return r.member(m)
			}
		}
		if of.Open {
			return r.Skip()
		}
		return errUnknownMember
	})
}

// member reads a member. The path of one object in place of an array is that of the first.
func (r *fieldReader) member(m *service.Member) error {
	switch {
	case m.Role == service.Nobody || m.Role == service.Within && !m.Of.AddressesSomebody():
		return r.Skip()
	case m.Kind == service.OneOrList && r.Kind() != wire.Array:
		if err := r.value(m); err != nil {
			return wire.At("0", err)
		}
		return nil
	case m.Kind.IsList():
		return r.Array(func(int) error { return r.value(m) })
	default:
		return r.value(m)
	}
}

func (r *fieldReader) value(m *service.Member) error {
	switch m.Role {
	case service.Within:
		return r.within(m.Of)
	case service.Everyone:
		return r.everyone()
	case service.RecipientType:
		var kind string
		err := r.String(&kind)
		r.types = append(r.types, kind)
		return err
	default:
		return r.identity(m.Role)
	}
}

// within reads an object with recipients.
func (r *fieldReader) within(of *service.Object) error {
	switch of {
	case service.Recipient:
		return r.recipient()
	case service.Customer:
		r.customersIn++
		r.namesSomebody = true
		if err := r.add(field{role: oneCustomer}); err != nil {
			return err
		}
		return r.naming(of)
	case service.Device:
		before := r.found
		err := r.naming(of)
		r.found = before // a device does not identify its customer
		return err
	default:
		return r.object(of)
	}
}

func (r *fieldReader) add(f field) error {
	err := r.visit(f)
	r.stopped = err != nil
	return err
}

func (r *fieldReader) everyone() error {
	var all bool
	if err := r.Boolean(&all); err != nil || !all {
		return err
	}
	r.namesSomebody = true
	return r.add(field{role: service.Everyone})
}

// recipient reads a recipient. It must have one type, and only the list for that type.
func (r *fieldReader) recipient() error {
	r.types, r.customersIn, r.segmentsIn = r.types[:0], 0, 0
	err := r.object(service.Recipient)
	switch {
	case err != nil:
		return err
	case slices.Equal(r.types, []string{service.CustomerType}) && r.customersIn > 0 && r.segmentsIn == 0:
		return nil
	case slices.Equal(r.types, []string{service.SegmentType}) && r.segmentsIn > 0 && r.customersIn == 0:
		return nil
	default:
		return errNobody
	}
}

// naming reads an object that must name somebody.
func (r *fieldReader) naming(of *service.Object) error {
	before := r.found
	err := r.object(of)
	if err == nil && r.found == before {
		return errNobody
	}
	return err
}

// identity reads a value that identifies somebody. It must be a string, since nobody knows how
// the service reads a number, and it must not be empty.
func (r *fieldReader) identity(role service.Role) error {
	if r.Kind() != wire.String {
		return errNobody
	}
	var text string
	err := r.String(&text)
	switch {
	case err != nil:
		return err
	case text == "":
		return errNobody
	case strings.Contains(text, wire.Replacement): // stands for invalid UTF-8
		return wire.ErrNotUTF8
	}
	switch role {
	case service.Segment:
		r.segmentsIn++
		r.namesSomebody = true
	case service.Address:
		r.namesSomebody = true
	case service.CustomerID, service.CustomerEmail, service.DeviceToken:
		r.found++
	}
	return r.add(field{role, text})
}
