package messaging

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/messaging-go/messaging/internal/service"
	"github.com/messaging-go/messaging/internal/wire"
)

// Prepared is a send that has been validated and encoded: the exact bytes of the request,
// without the API key. The Prepare methods of the params return one. It can be shown,
// stored, checked by a guard, and sent with [Client.Send], now or by another program.
//
// A Prepared is safe for concurrent use, since only UnmarshalJSON changes it. Its body
// holds personal data, so only its operation and its size are printed and logged. To store
// a Prepared, use encoding/json. A JSON log handler also uses encoding/json for values
// within a struct or a list, so log a Prepared by itself.
type Prepared struct {
	// hidden is a pointer to a pointer, because fmt never follows two pointers within a
	// struct. It follows one if the verb does not fit, such as %s.
	hidden **preparedRequest
}

type preparedRequest struct {
	operation *service.Operation
	body      []byte // nil if there is none
}

func newPrepared(op *service.Operation, body []byte) *Prepared {
	request := &preparedRequest{op, body}
	return &Prepared{&request}
}

// Operation returns the name of the operation, such as "trigger event". For a request of
// [Client.Do], which only a guard sees, it is [Request.Op]. That name does not prove what
// the request does, so [Prepared.Recipients] reports the request as unmodelled.
func (p *Prepared) Operation() string { return p.request().operation.Name }

// Method returns the HTTP method.
func (p *Prepared) Method() string { return p.request().operation.Method }

// Path returns the path below the base URL.
func (p *Prepared) Path() string { return p.request().operation.Path }

// Body returns a copy of the body.
func (p *Prepared) Body() []byte {
	return bytes.Clone(p.request().body)
}

func (p *Prepared) isZero() bool { return p == nil || p.hidden == nil }

// request returns the zero request for a nil or zero Prepared.
func (p *Prepared) request() preparedRequest {
	if p.isZero() {
		return preparedRequest{operation: new(service.Operation)}
	}
	return **p.hidden
}

// storedPrepared is the JSON form of a Prepared. The body is a string, so that a database
// that stores JSON in its own form, such as jsonb, keeps the bytes of the body.
type storedPrepared struct {
	Operation string `json:"operation"`
	Body      string `json:"body"`
}

var (
	errNotPrepared  = errors.New("messaging: a zero Prepared cannot be stored")
	errNotStorable  = errors.New("messaging: a request of Client.Do cannot be stored")
	errNoOperation  = errors.New("messaging: stored request: operation is missing")
	errUnknownSend  = errors.New("messaging: stored request: unknown operation")
	errNoObject     = errors.New("messaging: stored request: body is not a JSON object")
	errStoredFormat = errors.New("messaging: stored request: must be an object with operation and body, both strings")
)

// MarshalJSON writes the operation and the body, for storage. The body holds personal
// data.
func (p Prepared) MarshalJSON() ([]byte, error) {
	switch {
	case p.isZero():
		return nil, errNotPrepared
	case p.request().operation.Custom:
		return nil, errNotStorable
	}
	return json.Marshal(storedPrepared{p.Operation(), string(p.request().body)})
}

// UnmarshalJSON reads what MarshalJSON writes. It returns an error for an unknown
// operation, an unknown member, and a body that is not a JSON object. The error does not
// quote the body. As with other types, null changes nothing.
func (p *Prepared) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	var stored storedPrepared
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if !json.Valid(data) || !utf8.Valid(data) || decoder.Decode(&stored) != nil || hasLostText(data, stored.Body) {
		return errStoredFormat // the text of the decoder's error can quote the body
	}
	parsed, err := ParsePrepared(stored.Operation, []byte(stored.Body))
	if err != nil {
		return err
	}
	p.hidden = parsed.hidden
	return nil
}

// ParsePrepared returns the request with the given operation and body, for programs that
// store the two in separate columns instead of the JSON of a [Prepared]. operation is what
// [Prepared.Operation] returned, and body is what [Prepared.Body] returned. ParsePrepared
// copies body. It returns an error for an unknown operation, and for a body that is not a
// JSON object. The error does not quote the body.
func ParsePrepared(operation string, body []byte) (*Prepared, error) {
	op := service.Named(operation)
	switch {
	case operation == "":
		return nil, errNoOperation
	case sends[op] == nil:
		return nil, errUnknownSend
	case len(body) == 0 || body[0] != '{' || !json.Valid(body) || !utf8.Valid(body):
		return nil, errNoObject
	}
	return newPrepared(op, bytes.Clone(body)), nil
}

// hasLostText reports whether encoding/json has replaced text that is not valid Unicode,
// such as half of a surrogate pair.
func hasLostText(data []byte, text string) bool {
	return strings.Contains(text, wire.Replacement) && !bytes.Contains(data, []byte(wire.Replacement)) &&
		!bytes.Contains(bytes.ToLower(data), []byte(`\ufffd`))
}

// Format prints the operation and the size, regardless of the verb.
func (p Prepared) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, p.text()) }

// LogValue logs the operation and the size.
func (p Prepared) LogValue() slog.Value { return slog.StringValue(p.text()) }

func (p Prepared) text() string {
	if p.isZero() {
		return "messaging.Prepared()"
	}
	return fmt.Sprintf("messaging.Prepared(%s, %d bytes)", p.Operation(), len(p.request().body))
}

// Recipients lists whom a [Prepared] addresses, as read from its body.
type Recipients struct {
	// Everyone is true if the request is addressed to all customers.
	Everyone bool
	// Segments are the ids of segments. The number of their customers is unknown.
	Segments []string
	// Customers is the number of customer objects.
	Customers int
	// CustomerIDs, Emails and Phones hold those of all customers, in order. Emails also
	// holds the addresses in email, cc and bcc, but not the address of the sender or the
	// addresses in reply_to.
	CustomerIDs, Emails, Phones []string
	// Devices is the number of devices of all customers.
	Devices int
	// Unmodelled is true for a request of [Client.Do], and for a body that does not fit
	// its operation, such as one that has an unknown member or addresses nobody. The
	// other fields then mean nothing.
	Unmodelled bool
}

// Recipients returns whom the request addresses. The creation of an event addresses nobody.
func (p *Prepared) Recipients() Recipients { return p.reach().Recipients }

// reach is Recipients, and what guards need in addition.
type reach struct {
	Recipients
	// addresses is the number of email addresses that are recipients in addition to the
	// customers.
	addresses int
}

// isBroadcast checks that a broadcast addresses somebody.
func (r *reach) isBroadcast() error {
	if !r.Everyone && r.Customers == 0 && len(r.Segments) == 0 {
		return errNobody
	}
	return nil
}

var unmodelled = reach{Recipients: Recipients{Unmodelled: true}}

// send is an operation that can be prepared. It is declared next to its params.
type send struct {
	// body is the wire form of the params. members has an entry for each of its members.
	body    any
	members members
	// addresses checks that the body addresses somebody. It is nil for a send that
	// addresses nobody.
	addresses func(*reach) error
	// accept checks the data of a response. It is nil if the response has no data.
	accept func(data json.RawMessage) error
}

var sends = make(map[*service.Operation]*send)

// declareSend registers an operation that can be prepared.
func declareSend(op *service.Operation, s send) struct{} {
	sends[op] = &s
	return struct{}{}
}

func (p *Prepared) reach() reach {
	known := sends[p.request().operation]
	if known == nil {
		return unmodelled
	}
	r := reachReader{Reader: wire.NewReader()}
	defer r.Free()
	r.Reset(p.request().body)
	err := r.object(known.members)
	if err == nil && known.addresses != nil {
		err = known.addresses(&r.found)
	}
	if err != nil || r.End() != nil {
		return unmodelled
	}
	return r.found
}

// members maps the name of each member of an object in a body to the method that reads it.
// A member that is not in the map could address somebody, so it makes the body unmodelled.
// It can occur because a stored body may come from another program. All duplicates of a
// member count.
type members map[string]func(*reachReader) error

// anyName is the key for members whose names are not fixed.
const anyName = ""

func (m members) with(more members) members {
	all := maps.Clone(m)
	maps.Copy(all, more)
	return all
}

// The members that several bodies share.
var (
	customerMembers = members{
		"customer_id": (*reachReader).customerID,
		"email":       (*reachReader).customerEmail,
		"phone_no":    (*reachReader).phone,
		"devices":     (*reachReader).devices,
		"first_name":  (*reachReader).nobody,
		"last_name":   (*reachReader).nobody,
	}
	recipientMembers = members{
		"type":      (*reachReader).recipientType,
		"customers": (*reachReader).customers,
		"segments":  (*reachReader).segments,
	}
	broadcastMembers = members{
		"all_customers": (*reachReader).everyone,
		"recipients":    (*reachReader).recipients,
		"schedule_type": (*reachReader).nobody,
		"schedule_date": (*reachReader).nobody,
	}
)

// reachReader reads whom a body addresses.
type reachReader struct {
	*wire.Reader
	found reach

	// These fields describe the recipient that is being read.
	types                   []RecipientType
	customersIn, segmentsIn int
}

var (
	errUnknownMember = errors.New("is unknown")
	errNobody        = errors.New("names nobody")
)

func (r *reachReader) object(known members) error {
	return r.Object(func(key []byte) error {
		read := known[string(key)]
		if read == nil {
			read = known[anyName]
		}
		if read == nil {
			return errUnknownMember
		}
		return read(r)
	})
}

// nobody skips a member that addresses nobody.
func (r *reachReader) nobody() error { return r.SkipDeep() }

func (r *reachReader) everyone() error {
	var all bool
	err := r.Boolean(&all)
	r.found.Everyone = r.found.Everyone || all
	return err
}

// address reads an email address that is a recipient in addition to the customers.
func (r *reachReader) address() error {
	r.found.addresses++
	return r.add(&r.found.Emails)
}

func (r *reachReader) addresses() error {
	return r.Array(func(int) error { return r.address() })
}

// recipients reads one recipient, or an array of them.
func (r *reachReader) recipients() error {
	if r.Kind() == wire.Array {
		return r.Array(func(int) error { return r.recipient() })
	}
	return r.recipient()
}

// recipient reads a recipient. It must have one type, and only the list for that type.
func (r *reachReader) recipient() error {
	r.types, r.customersIn, r.segmentsIn = r.types[:0], 0, 0
	err := r.object(recipientMembers)
	switch {
	case err != nil:
		return err
	case slices.Equal(r.types, []RecipientType{RecipientCustomer}) && r.customersIn > 0 && r.segmentsIn == 0:
		return nil
	case slices.Equal(r.types, []RecipientType{RecipientSegment}) && r.segmentsIn > 0 && r.customersIn == 0:
		return nil
	default:
		return errNobody
	}
}

func (r *reachReader) recipientType() error {
	var kind string
	err := r.String(&kind)
	r.types = append(r.types, RecipientType(kind))
	return err
}

func (r *reachReader) customers() error {
	return r.Array(func(int) error {
		r.customersIn++
		return r.customer()
	})
}

func (r *reachReader) segments() error {
	return r.Array(func(int) error {
		r.segmentsIn++
		return r.add(&r.found.Segments)
	})
}

func (r *reachReader) customer() error {
	r.found.Customers++
	before := len(r.found.CustomerIDs) + len(r.found.Emails)
	err := r.object(customerMembers)
	if err == nil && len(r.found.CustomerIDs)+len(r.found.Emails) == before {
		return errNobody
	}
	return err
}

func (r *reachReader) customerID() error    { return r.add(&r.found.CustomerIDs) }
func (r *reachReader) customerEmail() error { return r.add(&r.found.Emails) }
func (r *reachReader) phone() error         { return r.add(&r.found.Phones) }

func (r *reachReader) devices() error {
	return r.Array(func(int) error {
		r.found.Devices++
		return r.SkipDeep()
	})
}

// add reads a string, which must not be empty, and appends it.
func (r *reachReader) add(to *[]string) error {
	var value string
	err := r.String(&value)
	switch {
	case err != nil:
	case value == "":
		err = errNobody
	case strings.Contains(value, wire.Replacement): // stands for invalid UTF-8
		err = wire.ErrNotUTF8
	default:
		*to = append(*to, value)
	}
	return err
}
