package messaging

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"unicode/utf8"

	"github.com/messaging-go/messaging/internal/service"
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

// Body returns a copy of the body. Equal params have the same body in every minor version, as
// long as encoding/json writes their values alike.
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

// sendable returns the request, or why [Client.Send] cannot send it.
func (p *Prepared) sendable() (request *encodedSend, problem string) {
	request = p.encoded()
	switch {
	case p.isZero():
		problem = "must not be nil or zero: use a Prepare method"
	case request.operation.Body == nil:
		problem = "must come from a Prepare method, not from Client.Do"
	default:
		return request, ""
	}
	return &encodedSend{operation: sendPrepared}, problem
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
	case op == nil || op.Body == nil:
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

// addressed returns the fields of the body, in order. They are read once, for all guards. If
// the body cannot be understood, the error is errUnmodelled.
func (e *encodedSend) addressed() ([]field, error) {
	e.once.Do(func() {
		e.err = readFields(e.operation.Body, e.body, func(f field) error {
			e.fields = append(e.fields, f)
			return nil
		})
	})
	return e.fields, e.err
}

// objection returns a problem with the n-th field, with the path of the field. To find the
// path, it reads the body again.
func (e *encodedSend) objection(n int, problem error) error {
	return readFields(e.operation.Body, e.body, func(field) error {
		if n--; n < 0 {
			return problem
		}
		return nil
	})
}
