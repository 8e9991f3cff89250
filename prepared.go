package messaging

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"unicode/utf8"
)

// Prepared is a send that is checked and encoded: the exact bytes of the request,
// without the API key. The Prepare methods of the params return one. It can be shown,
// stored, checked by a guard, and sent with [Client.Send], now or by another program.
//
// Nothing but UnmarshalJSON changes a Prepared, so it is safe for concurrent use. Its body
// holds personal data, so it prints as its operation and its size, and logs like that too.
// To store it, use encoding/json. A JSON log handler uses encoding/json as well for what
// is within a struct or a list: log a Prepared by itself.
type Prepared struct {
	// hidden is a pointer to a pointer, which fmt follows in no case: it follows one
	// pointer within a struct where the verb does not fit, such as %s.
	hidden **preparedRequest
}

type preparedRequest struct {
	operation operation
	body      []byte // nil for none
}

// preparable is an operation that can be prepared.
type preparable struct {
	operation
	// accept checks the data of a response, nil if it has none.
	accept func(data json.RawMessage) error
	// reach reads who a body addresses.
	reach func(*reader, *reach) error
}

var preparables = []preparable{
	{operation: sendEmail, reach: (*reader).emailReach},
	{operation: sendPush, reach: (*reader).pushReach},
	{operation: createEvent, reach: (*reader).createReach, accept: func(data json.RawMessage) error { return new(Event).read(data) }},
	{operation: triggerEvent, reach: (*reader).triggerReach},
}

// preparableNamed returns the operation of that name, if it can be prepared.
func preparableNamed(name string) (preparable, bool) {
	for _, p := range preparables {
		if p.name == name {
			return p, true
		}
	}
	return preparable{}, false
}

// Prepare checks and encodes the broadcast as [BroadcastsService.SendEmail] does, and
// sends nothing. Invalid params are a [*ValidationError].
func (p EmailBroadcastParams) Prepare() (*Prepared, error) { return prepare(sendEmail, &p) }

// Prepare checks and encodes the broadcast as [BroadcastsService.SendPush] does, and
// sends nothing. Invalid params are a [*ValidationError].
func (p PushBroadcastParams) Prepare() (*Prepared, error) { return prepare(sendPush, &p) }

// Prepare checks and encodes the event as [EventsService.Create] does, and sends
// nothing. Invalid params are a [*ValidationError].
func (p EventCreateParams) Prepare() (*Prepared, error) { return prepare(createEvent, &p) }

// Prepare checks and encodes the event as [EventsService.Trigger] does, and sends
// nothing. Invalid params are a [*ValidationError].
func (p EventTriggerParams) Prepare() (*Prepared, error) { return prepare(triggerEvent, &p) }

func prepare(op operation, params params) (*Prepared, error) {
	var problems problems
	call := call{operation: op, params: params}
	body := call.encode(false, &problems)
	if err := problems.err(op.name); err != nil {
		return nil, err
	}
	return newPrepared(op, body), nil
}

func newPrepared(op operation, body []byte) *Prepared {
	request := &preparedRequest{op, body}
	return &Prepared{&request}
}

// Operation returns the name of the operation, such as "trigger event". For a request
// of [Client.Do], which a guard is asked about, it is [Request.Op]: it does not prove
// what the request does, and Recipients says Unmodelled.
func (p *Prepared) Operation() string { return p.request().operation.name }

// Method returns the HTTP method.
func (p *Prepared) Method() string { return p.request().operation.method }

// Path returns the path below the base URL.
func (p *Prepared) Path() string { return p.request().operation.path }

// Body returns a copy of the body.
func (p *Prepared) Body() []byte {
	return bytes.Clone(p.request().body)
}

func (p *Prepared) isZero() bool { return p == nil || p.hidden == nil }

// request returns the zero request for a nil or zero Prepared.
func (p *Prepared) request() preparedRequest {
	if p.isZero() {
		return preparedRequest{}
	}
	return **p.hidden
}

// sendPrepared is what errors call a Send that has nothing to send.
var sendPrepared = operation{name: "send prepared request", method: http.MethodPost, custom: true}

// Send sends a prepared request. Delivery, retries, guards and errors are those of the
// method that sends the same params directly. A p that is nil or zero is a
// [*ValidationError].
//
// p was validated when it was prepared, so [WithoutValidation] has no effect. The
// [Response] to the creation of an event has the event in its Data.
func (c *Client) Send(ctx context.Context, p *Prepared, opts ...RequestOption) (*Response, error) {
	prepared := p.request() // once: UnmarshalJSON can change p
	known, ok := preparableNamed(prepared.operation.name)
	var problem string
	switch {
	case p.isZero():
		problem = "must not be nil or zero; use a Prepare method"
	case prepared.operation.custom || !ok:
		problem = "must come from a Prepare method, not from Client.Do"
	}
	if problem != "" {
		prepared = preparedRequest{operation: sendPrepared}
	}
	x := c.core.newExchange(ctx, call{operation: prepared.operation, accept: known.accept}, opts)
	defer x.end()
	if problem != "" {
		x.problems.add("p", problem)
	}
	x.body = prepared.body
	return x.run()
}

// storedPrepared is the JSON form of a Prepared. The body is a string, so that a
// database that stores JSON in a form of its own, such as jsonb, keeps its bytes.
type storedPrepared struct {
	Operation string `json:"operation"`
	Body      string `json:"body"`
}

var (
	errNotPrepared  = errors.New("messaging: a zero Prepared can't be stored")
	errNotStorable  = errors.New("messaging: a request of Client.Do can't be stored")
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
	case p.request().operation.custom:
		return nil, errNotStorable
	}
	return json.Marshal(storedPrepared{p.Operation(), string(p.request().body)})
}

// UnmarshalJSON reads what MarshalJSON writes. An unknown operation, an unknown member
// and a body that is not a JSON object are errors, which quote nothing of the body. As
// with other types, null changes nothing.
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

// ParsePrepared returns the request with the given operation and body, for programs
// that store requests in columns of their own instead of the JSON of a [Prepared]. The
// operation is the one of [Prepared.Operation] and body is the one of [Prepared.Body],
// which is copied. An unknown operation and a body that is not a JSON object are errors,
// which quote nothing of the body.
func ParsePrepared(operation string, body []byte) (*Prepared, error) {
	known, ok := preparableNamed(operation)
	switch {
	case operation == "":
		return nil, errNoOperation
	case !ok:
		return nil, errUnknownSend
	case len(body) == 0 || body[0] != '{' || !json.Valid(body) || !utf8.Valid(body):
		return nil, errNoObject
	}
	return newPrepared(known.operation, bytes.Clone(body)), nil
}

// hasLostText reports whether encoding/json has replaced what is no text, such as half of
// a surrogate pair.
func hasLostText(data []byte, text string) bool {
	return strings.Contains(text, replacement) && !bytes.Contains(data, []byte(replacement)) &&
		!bytes.Contains(bytes.ToLower(data), []byte(`\ufffd`))
}

// Format prints the operation and the size, whatever the verb.
func (p Prepared) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, p.text()) }

// LogValue logs the operation and the size.
func (p Prepared) LogValue() slog.Value { return slog.StringValue(p.text()) }

func (p Prepared) text() string {
	if p.isZero() {
		return "messaging.Prepared()"
	}
	return fmt.Sprintf("messaging.Prepared(%s, %d bytes)", p.Operation(), len(p.request().body))
}
