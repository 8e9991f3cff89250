package messaging

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/messaging-go/messaging/internal/service"
	"github.com/messaging-go/messaging/internal/wire"
)

// Prepared is a send that has been validated and encoded: the exact bytes of the request,
// without the API key. The Prepare methods of the params return one. It can be shown,
// stored, checked by a guard, and sent with [Client.Send], now or by another program.
//
// To send what a Prepare method refuses, pass your own body to [ParsePrepared].
//
// A Prepared never changes, and is safe for concurrent use. Its body holds personal data,
// so only its operation and its size are printed and logged, and it has no JSON form. To store
// a Prepared, store its Operation and its Body, and read them with [ParsePrepared].
type Prepared struct {
	// hidden is a pointer to a pointer, because fmt never follows two pointers within a
	// struct. It follows one if the verb does not fit, such as %s.
	hidden **encodedSend
}

// encodedSend is a request. It never changes, so that any number of Prepared can share it.
type encodedSend struct {
	operation *service.Operation
	body      []byte // nil if there is none

	once   sync.Once // for the following fields
	fields []field
	err    error
}

func newPrepared(op *service.Operation, body []byte) *Prepared {
	return (&encodedSend{operation: op, body: body}).prepared()
}

func (e *encodedSend) prepared() *Prepared { return &Prepared{&e} }

// Operation returns the name of the operation, such as "trigger event". For a request of
// [Client.Do], which only a guard sees, it is [Request.Operation]. That name does not prove what
// the request does, so [Prepared.Recipients] returns an error.
func (p *Prepared) Operation() string { return p.encoded().operation.Name }

// Method returns the HTTP method.
func (p *Prepared) Method() string { return p.encoded().operation.Method }

// Path returns the path below the base URL.
func (p *Prepared) Path() string { return p.encoded().operation.Path }

// Body returns a copy of the body.
func (p *Prepared) Body() []byte {
	return bytes.Clone(p.encoded().body)
}

func (p *Prepared) isZero() bool { return p == nil || p.hidden == nil }

// encoded returns the zero request for a nil or zero Prepared.
func (p *Prepared) encoded() *encodedSend {
	if p.isZero() {
		return &encodedSend{operation: new(service.Operation)}
	}
	return *p.hidden
}

// sendable returns the request with its declaration, or why [Client.Send] cannot send it.
func (p *Prepared) sendable() (request *encodedSend, known *preparable, problem string) {
	request = p.encoded()
	known = preparables[request.operation]
	switch {
	case p.isZero():
		problem = "must not be nil or zero: use a Prepare method"
	case known == nil:
		problem = "must come from a Prepare method, not from Client.Do"
	default:
		return request, known, ""
	}
	return &encodedSend{operation: sendPrepared}, new(preparable), problem
}

// sendPrepared names a Send with an invalid argument in its error.
var sendPrepared = &service.Operation{Name: "send prepared request", Method: http.MethodPost, Custom: true}

var (
	errNoJSON      = errors.New("messaging: a Prepared has no JSON form: store Operation() and Body(), and read them with ParsePrepared")
	errNoOperation = errors.New("messaging: stored request: operation is missing")
	errUnknownSend = errors.New("messaging: stored request: unknown operation")
	errNoObject    = errors.New("messaging: stored request: body is not a JSON object")
)

// MarshalJSON returns an error, so that personal data is not stored or logged by accident.
func (p Prepared) MarshalJSON() ([]byte, error) { return nil, errNoJSON }

// UnmarshalJSON returns an error, like MarshalJSON.
func (p *Prepared) UnmarshalJSON([]byte) error { return errNoJSON }

// ParsePrepared returns the request of which [Prepared.Operation] and [Prepared.Body] have
// been stored, perhaps by another program. Store the body as text or bytes, and not in a JSON
// type of a database, which can change it. ParsePrepared copies body. It returns an error for
// an unknown operation, and for a body that is not a JSON object, which it does not quote.
func ParsePrepared(operation string, body []byte) (*Prepared, error) {
	op := service.Named(operation)
	switch {
	case operation == "":
		return nil, errNoOperation
	case preparables[op] == nil:
		return nil, errUnknownSend
	case len(body) == 0 || body[0] != '{' || !json.Valid(body) || !utf8.Valid(body):
		return nil, errNoObject
	}
	return newPrepared(op, bytes.Clone(body)), nil
}

// Format prints the operation and the size, regardless of the verb.
func (p Prepared) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, p.text()) }

// LogValue logs the operation and the size.
func (p Prepared) LogValue() slog.Value { return slog.StringValue(p.text()) }

func (p Prepared) text() string {
	if p.isZero() {
		return "messaging.Prepared()"
	}
	return fmt.Sprintf("messaging.Prepared(%s, %d bytes)", p.Operation(), len(p.encoded().body))
}

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

// Recipients returns whom the request addresses. The creation of an event addresses nobody.
// There is an error for a request of [Client.Do], and for a body that does not fit its
// operation, such as one that has an unknown member, names somebody by anything but a string,
// or addresses nobody. So a guard that returns the error lets nothing through that cannot be
// read.
//
// The service may ignore the case of a key. So a key in the payload of a trigger that equals
// "email" or "customer" under [strings.EqualFold] is read as that. Any other key is a
// parameter of the event, even "customer.email".
func (p *Prepared) Recipients() (Recipients, error) {
	fields, err := p.encoded().addressed()
	if err != nil {
		return Recipients{}, fmt.Errorf("messaging: %w", err)
	}
	var found Recipients
	for _, f := range fields {
		found.add(f)
	}
	found.Count = count(fields)
	return found, nil
}

func (r *Recipients) add(f field) {
	switch f.kind {
	case everyone:
		r.Everyone = true
	case segment:
		r.Segments = append(r.Segments, f.text)
	case customer:
		r.CustomerCount++
	case customerID:
		r.CustomerIDs = append(r.CustomerIDs, f.text)
	case email:
		r.Emails = append(r.Emails, f.text)
	case phone:
		r.Phones = append(r.Phones, f.text)
	case device:
		r.DeviceTokens = append(r.DeviceTokens, f.text)
	}
}

// field is a part of a body that names somebody.
type field struct {
	kind       fieldKind
	text       string // "" for everyone and customer
	ofCustomer bool   // an address of the customer before
}

type fieldKind uint8

const (
	everyone fieldKind = iota
	segment
	customer // followed by its other fields
	customerID
	email
	phone
	device
)

// preparable is an operation that can be prepared. It is declared next to its params.
type preparable struct {
	members members // of its body
	// addressesNobody is true for a send that has no recipients. The body of any other
	// send must name somebody.
	addressesNobody bool
	// accept checks the data of a response. It is nil if the response has no data.
	accept func(data json.RawMessage) error
}

var preparables = make(map[*service.Operation]*preparable)

func declareSend(op *service.Operation, p preparable) struct{} {
	preparables[op] = &p
	return struct{}{}
}

var errUnmodelled = errors.New("cannot tell who would receive this request")

// addressed returns the fields of the body, in order. They are read once, for all guards. If
// the body cannot be understood, the error is errUnmodelled.
func (e *encodedSend) addressed() ([]field, error) {
	e.once.Do(func() {
		e.err = e.read(func(f field) error {
			e.fields = append(e.fields, f)
			return nil
		})
	})
	return e.fields, e.err
}

// objection returns a problem with the n-th field, with the path of the field. To find the
// path, it reads the body again.
func (e *encodedSend) objection(n int, problem error) error {
	return e.read(func(field) error {
		if n--; n < 0 {
			return problem
		}
		return nil
	})
}

// read calls visit with each field of the body, in order. If visit returns an error, read
// ends and returns it with the path of the field.
func (e *encodedSend) read(visit func(field) error) error {
	known := preparables[e.operation]
	if known == nil {
		return errUnmodelled
	}
	r := fieldReader{Reader: wire.NewReader(), visit: visit}
	defer r.Free()
	r.Reset(e.body)
	err := r.object(known.members)
	switch {
	case r.stopped:
		return err
	case err != nil || r.End() != nil || !r.namesSomebody && !known.addressesNobody:
		return errUnmodelled // the path in err can quote anything
	}
	return nil
}

// members maps the name of each member of an object in a body to the method that reads it.
// A member that is not in the map could address somebody, so it makes the body unmodelled.
// It can occur because a stored body may come from another program. All duplicates of a
// member count.
type members map[string]func(*fieldReader) error

func (m members) with(more members) members {
	all := maps.Clone(m)
	maps.Copy(all, more)
	return all
}

// ignoring returns m with members that address nobody.
func (m members) ignoring(names ...string) members {
	all := maps.Clone(m)
	for _, name := range names {
		all[name] = (*fieldReader).Skip
	}
	return all
}

// The members that several bodies share.
var (
	customerMembers = members{
		"customer_id": identity(field{kind: customerID}),
		"email":       identity(field{kind: email, ofCustomer: true}),
		"phone_no":    identity(field{kind: phone}),
		"devices":     (*fieldReader).devices,
	}.ignoring("first_name", "last_name")
	deviceMembers    = members{"device_token": identity(field{kind: device})}.ignoring("device_type")
	recipientMembers = members{
		"type":      (*fieldReader).recipientType,
		"customers": (*fieldReader).customers,
		"segments":  (*fieldReader).segments,
	}
	broadcastMembers = members{
		"all_customers": (*fieldReader).everyone,
		"recipients":    (*fieldReader).recipients,
	}.ignoring("schedule_type", "schedule_date")
)

// fieldReader reads the fields of a body.
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

func (r *fieldReader) object(known members) error {
	return r.Object(func(key []byte) error {
		if read := known[string(key)]; read != nil {
			return read(r)
		}
		return errUnknownMember
	})
}

// openObject reads an object that can also have members of any other name. The service may
// ignore the case of a name.
func (r *fieldReader) openObject(known members) error {
	return r.Object(func(key []byte) error {
		for name, read := range known {
			if strings.EqualFold(name, string(key)) {
				return read(r)
			}
		}
		return r.Skip()
	})
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
	return r.add(field{kind: everyone})
}

// address reads an email address that is a recipient in addition to those who make the
// request valid.
var address = identity(field{kind: email})

func (r *fieldReader) addresses() error {
	return r.Array(func(int) error { return address(r) })
}

// mainAddress reads an email address that is enough to make the request valid.
func (r *fieldReader) mainAddress() error {
	r.namesSomebody = true
	return address(r)
}

// recipients reads one recipient, or an array of them. The path of one recipient is that
// of the first.
func (r *fieldReader) recipients() error {
	if r.Kind() == wire.Array {
		return r.Array(func(int) error { return r.recipient() })
	}
	if err := r.recipient(); err != nil {
		return wire.At("0", err)
	}
	return nil
}

// recipient reads a recipient. It must have one type, and only the list for that type.
func (r *fieldReader) recipient() error {
	r.types, r.customersIn, r.segmentsIn = r.types[:0], 0, 0
	err := r.object(recipientMembers)
	switch {
	case err != nil:
		return err
	case slices.Equal(r.types, []string{customerType}) && r.customersIn > 0 && r.segmentsIn == 0:
		return nil
	case slices.Equal(r.types, []string{segmentType}) && r.segmentsIn > 0 && r.customersIn == 0:
		return nil
	default:
		return errNobody
	}
}

func (r *fieldReader) recipientType() error {
	var kind string
	err := r.String(&kind)
	r.types = append(r.types, kind)
	return err
}

func (r *fieldReader) customers() error {
	return r.Array(func(int) error {
		r.customersIn++
		return r.customer()
	})
}

func (r *fieldReader) segments() error {
	return r.Array(func(int) error {
		r.segmentsIn++
		r.namesSomebody = true
		return identity(field{kind: segment})(r)
	})
}

func (r *fieldReader) customer() error {
	r.namesSomebody = true
	if err := r.add(field{kind: customer}); err != nil {
		return err
	}
	return r.naming(customerMembers)
}

// naming reads an object that must name somebody.
func (r *fieldReader) naming(known members) error {
	before := r.found
	err := r.object(known)
	if err == nil && r.found == before {
		return errNobody
	}
	return err
}

func (r *fieldReader) devices() error {
	before := r.found
	err := r.Array(func(int) error { return r.naming(deviceMembers) })
	r.found = before // a device does not identify its customer
	return err
}

// identity returns a function that reads a member that identifies somebody. It must be a
// string, since nobody knows how the service reads a number, and it must not be empty.
func identity(f field) func(*fieldReader) error {
	return func(r *fieldReader) error {
		if r.Kind() != wire.String {
			return errNobody
		}
		f := f
		err := r.String(&f.text)
		switch {
		case err != nil:
			return err
		case f.text == "":
			return errNobody
		case strings.Contains(f.text, wire.Replacement): // stands for invalid UTF-8
			return wire.ErrNotUTF8
		case f.kind == customerID, f.ofCustomer, f.kind == device:
			r.found++
		}
		return r.add(f)
	}
}
