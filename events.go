package messaging

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/messaging-go/messaging/internal/arguments"
	"github.com/messaging-go/messaging/internal/redact"
	"github.com/messaging-go/messaging/internal/service"
	"github.com/messaging-go/messaging/internal/wire"
)

// EventsService defines, triggers and lists events; see [Client.Events].
type EventsService resource

// Create defines an event and returns it with the id that triggers it.
//
// The call is retried only if the service certainly did nothing. If [DeliveryOf] returns
// [DeliveryAccepted] for an error, the event exists although the response could not be
// read: find it with [EventsService.All]. The event is nil if there is an error.
//
// API: POST /v1/events
func (s *EventsService) Create(ctx context.Context, p EventCreateParams, opts ...RequestOption) (*Event, error) {
	var created Event
	if _, err := s.core.send(ctx, service.CreateEvent, &p, created.read, opts); err != nil {
		return nil, err
	}
	return &created, nil
}

// Trigger triggers an event for one customer.
//
// If p.Definition is set, the payload is first checked against it. Retries and errors are
// like those of [BroadcastsService.SendEmail].
//
// API: POST /v1/events/trigger
func (s *EventsService) Trigger(ctx context.Context, p EventTriggerParams, opts ...RequestOption) (*Response, error) {
	return s.core.send(ctx, service.TriggerEvent, &p, nil, opts)
}

// List returns one page of event definitions. [EventsService.All] ranges over all of them.
//
// API: GET /v1/events
func (s *EventsService) List(ctx context.Context, p EventListParams, opts ...RequestOption) (*Page[Event], error) {
	return s.list(p, opts).page(ctx)
}

// Pages ranges over the pages of event definitions, starting at p.Cursor.
//
// API: GET /v1/events
func (s *EventsService) Pages(ctx context.Context, p EventListParams, opts ...RequestOption) iter.Seq2[*Page[Event], error] {
	return s.list(p, opts).pages(ctx, false)
}

// All ranges over every event definition, starting at p.Cursor. The package documentation
// says what a range promises.
//
// API: GET /v1/events
func (s *EventsService) All(ctx context.Context, p EventListParams, opts ...RequestOption) iter.Seq2[Event, error] {
	return s.list(p, opts).all(ctx)
}

func (s *EventsService) list(p EventListParams, opts []RequestOption) list[Event, *Event] {
	return list[Event, *Event]{s.core, service.ListEvents, listQuery{PerPage: p.PerPage, Cursor: p.Cursor}, opts}
}

// GetByName returns the event definition with the given name. Case matters. GetByName reads
// the whole list, since the service cannot search by name; [FindEvent] searches a list that
// you have read.
//
// Names are not unique. Events are equal if their parameters have the same names and types
// and are required alike, in any order. If all events with the name are equal, GetByName
// returns the oldest, as [EventsService.Ensure] does: the first by CreatedAt, then by ID,
// where a missing one comes last. Otherwise the error is [ErrEventAmbiguous]. If no event has
// the name, it is [ErrEventNotFound].
//
// API: GET /v1/events
func (s *EventsService) GetByName(ctx context.Context, name string, opts ...RequestOption) (*Event, error) {
	named := namesakes{name: name, alike: (*Event).equals}
	attempts, err := s.find(ctx, &named, opts)
	if err != nil {
		return nil, err
	}
	event, err := named.choose()
	if err != nil {
		return nil, newLookupError(service.GetEvent, attempts, err)
	}
	return event, nil
}

// FindEvent returns the element of events that has the given name. It chooses between several
// as [EventsService.GetByName] does, and returns [ErrEventNotFound] or [ErrEventAmbiguous].
// Use it to look up several events in one list.
func FindEvent(events []Event, name string) (*Event, error) {
	named := namesakes{name: name, alike: (*Event).equals}
	for i := range events {
		named.add(&events[i])
	}
	return named.choose()
}

// namesakes are the events that have a name.
type namesakes struct {
	name   string
	alike  func(a, b *Event) bool // an equivalence
	oldest *Event                 // nil if there is none
	differ bool                   // not all of them are alike
}

func (n *namesakes) add(event *Event) {
	switch {
	case event.Name != n.name:
	case n.oldest == nil:
		n.oldest = event
	case !n.alike(event, n.oldest):
		n.differ = true
	case event.isOlderThan(n.oldest):
		n.oldest = event
	}
}

// choose returns the oldest event if all are alike.
func (n *namesakes) choose() (*Event, error) {
	switch {
	case n.differ:
		return nil, ErrEventAmbiguous
	case n.oldest == nil:
		return nil, ErrEventNotFound
	}
	return n.oldest, nil
}

// isOlderThan reports whether e comes before other in an order that all programs agree on.
func (e *Event) isOlderThan(other *Event) bool {
	if !e.CreatedAt.Equal(other.CreatedAt) {
		return !e.CreatedAt.IsZero() && (other.CreatedAt.IsZero() || e.CreatedAt.Before(other.CreatedAt))
	}
	return e.ID != "" && (other.ID == "" || e.ID < other.ID)
}

// equals reports whether e and other are equal, as [EventsService.GetByName] defines it.
// Parameters that cannot be read are equal to no others.
func (e *Event) equals(other *Event) bool {
	return e.Extra["parameters"] == nil && other.Extra["parameters"] == nil && len(e.Parameters) == len(other.Parameters) &&
		maps.EqualFunc(byParameterName(e.Parameters), byParameterName(other.Parameters), func(a, b EventParameter) bool {
			return a.Type.lower() == b.Type.lower() && a.Required == b.Required
		})
}

// find adds the events of the account to named, until two of them are not alike. It returns
// the number of attempts of the last request.
func (s *EventsService) find(ctx context.Context, named *namesakes, opts []RequestOption) (attempts int, err error) {
	events := list[Event, *Event]{s.core, service.GetEvent, listQuery{lookup: byName, name: named.name}, opts}
	for page, err := range events.pages(ctx, false) {
		if err != nil {
			return 0, errors.Unwrap(err) // the caller has no use for a cursor
		}
		attempts = page.Response.Attempts
		for i := range page.Items {
			event := &page.Items[i]
			if odd := event.oddMember(named.name); odd != "" {
				return 0, unusable(service.GetEvent, page.Response, wire.At("data."+strconv.Itoa(i)+"."+odd, errMisfit))
			}
			if named.add(event); named.differ {
				return attempts, nil
			}
		}
	}
	return attempts, nil
}

var errMisfit = errors.New("cannot be read, and it may be of the event that is looked up")

// oddMember returns the member that does not fit its field and that a lookup by name needs,
// or "".
func (e *Event) oddMember(name string) string {
	for _, member := range []string{"name", "id", "parameters"} {
		if _, odd := e.Extra[member]; odd && (member == "name" || e.Name == name) {
			return member
		}
	}
	return ""
}

// Ensure returns the event definition named p.Name, and creates it if none exists.
// [EventsService.Create] would define another event with the same name each time, and the
// service cannot delete events.
//
// An existing definition fits if it can be triggered as p describes it. Otherwise it lacks a
// parameter of p, a parameter has a different type, or it requires a parameter that p does
// not require. The description, the order of parameters, additional optional parameters, and
// parameters named email or customer do not matter. If several events have the name and all
// of them fit, Ensure returns the oldest; see [EventsService.GetByName]. The error is
// [ErrEventDiffers] if none fits, and [ErrEventAmbiguous] if only some of them fit.
//
// Two programs that call Ensure at the same time can both create the event, because the
// service has no way to prevent it. So Ensure looks again after a creation, and returns the
// oldest event that fits. All programs agree on that event once the list of the service shows
// it to them. If the second lookup fails, Ensure returns what it created. To define an event
// only once, call Ensure in a deploy job, before the programs that trigger the event start.
// The command "messaging doctor" lists the events that share a name.
//
// For any error that occurs before the creation begins, [DeliveryOf] returns
// [DeliveryNotSent]. The creation has the same errors as Create; if it was accepted, another
// call of Ensure returns the event. Two errors after it have [DeliveryAccepted]:
// ErrEventDiffers if the service created the event under another name, which the next call
// would not find, and ErrEventAmbiguous if another program created one that does not fit.
//
// API: GET /v1/events
//
// API: POST /v1/events
func (s *EventsService) Ensure(ctx context.Context, p EventCreateParams, opts ...RequestOption) (*Event, error) {
	if ctx == nil || !s.core.accepts(&p, opts) {
		return s.Create(ctx, p, opts...) // which returns what is invalid, and sends nothing
	}
	var keys redact.Keys
	named := namesakes{name: p.Name, alike: func(a, b *Event) bool { return a.fits(p) == b.fits(p) }}
	attempts, err := s.noting(&keys).find(ctx, &named, opts)
	switch {
	case err != nil:
		return nil, &notCreatedError{err}
	case named.oldest == nil:
		return s.createNamed(ctx, p, opts)
	}
	found, err := named.choose()
	if err == nil && !found.fits(p) {
		err = fmt.Errorf("%w: the service %s", ErrEventDiffers, keys.Text(strings.Join(found.differences(p), "; it ")))
	}
	if err != nil {
		return nil, &notCreatedError{newLookupError(service.GetEvent, attempts, err)}
	}
	return found, nil
}

// noting returns a copy of s that adds the API keys of its calls to keys.
func (s *EventsService) noting(keys *redact.Keys) *EventsService {
	core, source := *s.core, s.core.engine.Key
	core.engine.Key = func(ctx context.Context) (string, error) {
		key, err := source(ctx)
		keys.Use(key)
		return key, err
	}
	return &EventsService{&core}
}

// createNamed creates an event that a later lookup by name must find.
func (s *EventsService) createNamed(ctx context.Context, p EventCreateParams, opts []RequestOption) (*Event, error) {
	var created Event
	response, err := s.core.send(ctx, service.CreateEvent, &p, created.read, opts)
	switch {
	case err != nil:
		return nil, err
	case created.Name != "" && created.Name != p.Name:
		return nil, newLookupError(service.CreateEvent, response.Attempts,
			fmt.Errorf("%w: it was created under another name; do not repeat it", ErrEventDiffers))
	}
	fits := func(e *Event) bool { return e.ID == created.ID || e.fits(p) }
	named := namesakes{name: p.Name, alike: func(a, b *Event) bool { return fits(a) == fits(b) }, oldest: &created}
	switch _, err := s.find(ctx, &named, opts); {
	case err != nil, named.oldest.ID == created.ID && !named.differ:
		return &created, nil
	case named.differ:
		return nil, &lookupError{failedCall(service.CreateEvent, response.Attempts, DeliveryAccepted, NextNone),
			fmt.Errorf("%w: it was created beside one that does not fit", ErrEventAmbiguous)}
	}
	return named.oldest, nil
}

// notCreatedError reports why Ensure did not begin to create an event.
type notCreatedError struct{ err error }

func (e *notCreatedError) Error() string      { return oneLine(e.err.Error(), "; nothing was created") }
func (e *notCreatedError) Unwrap() error      { return e.err }
func (e *notCreatedError) Delivery() Delivery { return DeliveryNotSent }
func (e *notCreatedError) NextStep() NextStep { return NextStepOf(e.err) }

// EventListParams selects event definitions. Its fields are like those of
// [CustomerListParams].
type EventListParams struct {
	PerPage int
	Cursor  string
}

// EventParameter is one value that an event takes when it is triggered.
type EventParameter struct {
	// Name is the name of the value in the payload. It cannot be "email" or "customer", or
	// have a line break or a NUL.
	Name     string        `json:"name"`
	Type     ParameterType `json:"type"`
	Required bool          `json:"required"`
	// Extra holds the members that have no field here, as JSON. It is nil if there are none.
	// [EventsService.Create] sends them, so remove ids before you define the parameter in
	// another account. A name, type or required in it, in any case, is invalid.
	Extra map[string]json.RawMessage `json:"-"`
}

func (e *EventParameter) decode(r *wire.Reader) error {
	return r.Object(func(key []byte) error {
		switch string(key) {
		case "name":
			return r.String(&e.Name)
		case "type":
			err := r.String((*string)(&e.Type))
			e.Type = e.Type.lower()
			return err
		case "required":
			return r.Boolean(&e.Required)
		default:
			return wire.Record{Reader: r, Extra: &e.Extra}.Keep(key)
		}
	})
}

// MarshalJSON writes the wire form of the parameter, including Extra.
func (e EventParameter) MarshalJSON() ([]byte, error) {
	type fields EventParameter
	return marshalModel(fields(e), e.Extra)
}

// UnmarshalJSON reads what the service sends, with the type in any case, and what MarshalJSON
// writes.
func (e *EventParameter) UnmarshalJSON(data []byte) error { return unmarshalModel(data, e) }

// checkExtra checks the members that are sent beside those of the fields.
func (e *EventParameter) checkExtra(problems *arguments.Problems) {
	extra := make(map[string]any, len(e.Extra))
	for _, name := range slices.Sorted(maps.Keys(e.Extra)) {
		switch extra[name] = e.Extra[name]; strings.ToLower(name) {
		case "name", "type", "required":
			problems.Add(name, "is not an extra member: set the field instead")
		}
	}
	arguments.TemplateValues(problems, extra)
}

// EventCreateParams describes a new event. Every field is required.
type EventCreateParams struct {
	// Name must be one line, and must not begin or end with white space, which the service
	// may remove.
	Name        string `json:"name"`
	Description string `json:"description"`
	// Parameters are the parameters of the event. nil is invalid, since it may be an
	// omission. Use an empty list for an event without parameters.
	Parameters []EventParameter `json:"parameters"`
}

func (p *EventCreateParams) validate(problems *arguments.Problems) {
	problems.RequiredText("name", p.Name)
	problems.RequiredText("description", p.Description)
	if p.Parameters == nil {
		problems.Add("parameters", "is required: use an empty list for none")
	}
	seen := make(map[string]bool, len(p.Parameters))
	for i, parameter := range p.Parameters {
		at := problems.In("parameters").Index(i)
		at.RequiredText("name", parameter.Name)
		at.RequiredText("type", string(parameter.Type))
		switch {
		case slices.Contains(reservedKeys, parameter.Name):
			at.Add("name", "is reserved for the identity of the customer in the payload")
		case seen[parameter.Name] && parameter.Name != "":
			at.Add("name", "is a duplicate")
		}
		seen[parameter.Name] = true
	}
}

// Prepare returns the request of [EventsService.Create], or a [*ValidationError].
func (p EventCreateParams) Prepare() (*Prepared, error) { return prepare(service.CreateEvent, &p) }

func (p *EventCreateParams) wire(problems *arguments.Problems) any {
	problems.OneLine("name", p.Name)
	problems.Trimmed("name", p.Name)
	parameters := make([]EventParameter, len(p.Parameters))
	for i, parameter := range p.Parameters {
		at := problems.In("parameters").Index(i)
		at.OneLine("name", parameter.Name)
		parameter.checkExtra(at)
		parameter.Type = parameter.Type.lower()
		parameters[i] = parameter
	}
	return &EventCreateParams{Name: p.Name, Description: p.Description, Parameters: parameters}
}

// EventTriggerParams describes an event for a customer. EventID or Definition is required,
// and so is Email or Customer.
type EventTriggerParams struct {
	// EventID is the id of the event definition. Prefer Definition. With only the id, it
	// is unknown which strings in Values are meant to be timestamps, so a timestamp in a
	// form that the service silently ignores is sent unchanged.
	EventID string
	// Definition supplies the id instead of EventID. The payload is checked against it
	// before anything is sent.
	Definition *Event
	// Email identifies the customer; on the wire it is payload.email. The service does
	// not document what happens if no customer has that address and Customer is nil.
	Email string
	// Customer identifies the customer, whom the service creates or updates; on the wire
	// it is payload.customer.
	Customer *CustomerParams
	// Values holds the parameters of the event by name. In the payload, they are next to
	// email and customer.
	//
	// A [time.Time], or a pointer to one, is sent in UTC in the only form that the service
	// reads, 2006-01-02T15:04:05Z. Fractions of a second are dropped. The zero time and a
	// year outside 0 to 9999 are invalid, and so is a [time.Duration], which has no unit.
	// encoding/json writes every other value, including times within maps, slices and
	// structs. A value that it cannot write is invalid.
	//
	// With a Definition, a text, numeric or timestamp parameter takes a single string, number
	// or time; see [ParameterTimestamp].
	Values map[string]any
}

// MarshalJSON returns an error, so that values do not change their types. Store what Prepare returns.
func (p EventTriggerParams) MarshalJSON() ([]byte, error) { return nil, errNoParamsJSON }

// UnmarshalJSON returns an error, like MarshalJSON.
func (p *EventTriggerParams) UnmarshalJSON([]byte) error { return errNoParamsJSON }

func (p *EventTriggerParams) id() string {
	if p.EventID == "" && p.Definition != nil {
		return p.Definition.ID
	}
	return p.EventID
}

func (p *EventTriggerParams) validate(problems *arguments.Problems) {
	if p.id() == "" && p.Definition != nil {
		problems.Add("event_id", "is required: the definition has no ID")
	} else {
		problems.RequiredText("event_id", p.id())
	}
	payload := problems.In("payload")
	if p.Email == "" && p.Customer == nil {
		payload.Add("email", "is required when there is no customer")
	}
	payload.Email("email", p.Email)
	if p.Customer != nil {
		p.Customer.validate(payload.In("customer"))
	}
	if _, nameless := p.Values[""]; nameless {
		payload.Add("", "has a parameter without a name")
	}
	for _, key := range reservedKeys {
		if _, taken := p.Values[key]; taken {
			payload.Add(key, "is not a parameter: set Email or Customer instead")
		}
	}
}

// eventTriggerBody is the wire form of EventTriggerParams.
type eventTriggerBody struct {
	EventID string         `json:"event_id"`
	payload map[string]any // written after everything else
}

// writeRest writes the values that were encoded before as they are.
func (b *eventTriggerBody) writeRest(w *wire.Writer) {
	names := make([]string, 0, len(b.payload))
	for name := range b.payload {
		names = append(names, name)
	}
	slices.Sort(names)
	w.Member("payload", func() {
		w.Begin()
		for _, name := range names {
			w.Key(name)
			switch value := b.payload[name].(type) {
			case json.RawMessage:
				w.Raw(value)
			case *CustomerParams:
				value.write(w)
			case string:
				w.Text(value)
			default:
				w.Value(value)
			}
		}
		w.End()
	})
}

func (p *EventTriggerParams) wire(problems *arguments.Problems) any {
	payload := arguments.PayloadValues(problems, p.Values)
	if p.Email != "" {
		payload["email"] = p.Email
	}
	if p.Customer != nil {
		p.Customer.checkAlways(problems.In("payload").In("customer"))
		payload["customer"] = p.Customer
	}
	if p.Definition != nil {
		p.Definition.checkPayload(problems, p, payload)
	}
	return &eventTriggerBody{EventID: p.id(), payload: payload}
}

// Prepare returns the request of [EventsService.Trigger], or a [*ValidationError].
func (p EventTriggerParams) Prepare() (*Prepared, error) { return prepare(service.TriggerEvent, &p) }

// Event is the definition of an event.
type Event struct {
	// ID is a uuid that the service assigns.
	ID          string           `json:"id"`
	Name        string           `json:"name"`
	Description string           `json:"description"`
	Parameters  []EventParameter `json:"parameters"`
	CreatedAt   time.Time        `json:"created_at"`
	// Extra is like that of a [Customer].
	Extra map[string]json.RawMessage `json:"-"`
}

func (e *Event) decode(r *wire.Reader) error {
	record := wire.Record{Reader: r, Extra: &e.Extra}
	return r.Object(func(key []byte) error {
		switch string(key) {
		case "id":
			return record.Text(key, &e.ID)
		case "name":
			return record.Text(key, &e.Name)
		case "description":
			return record.Text(key, &e.Description)
		case "parameters":
			return record.Whole(key, func() error { return e.decodeParameters(r) }, func() { e.Parameters = nil })
		case "created_at":
			return record.Time(key, &e.CreatedAt)
		default:
			return record.Keep(key)
		}
	})
}

func (e *Event) decodeParameters(r *wire.Reader) error {
	e.Parameters = nil
	if null, err := r.Null(); null {
		return err
	}
	return r.Array(func(i int) error {
		if err := r.Count(); err != nil {
			return err
		}
		e.Parameters = append(e.Parameters, EventParameter{})
		return e.Parameters[i].decode(r)
	})
}

// read reads a created event, which is useless without its id.
func (e *Event) read(data json.RawMessage) error {
	if err := readModel(data, e); err != nil {
		return err
	}
	if e.ID == "" {
		return wire.At("id", wire.ErrMissing)
	}
	return nil
}

// MarshalJSON writes the wire form of the event, including Extra.
func (e Event) MarshalJSON() ([]byte, error) {
	type fields Event
	return marshalModel(struct {
		fields
		CreatedAt string `json:"created_at,omitempty"`
	}{fields(e), wire.FormatTime(e.CreatedAt, wire.MicrosecondForm)}, e.Extra)
}

// UnmarshalJSON reads what the service sends and what MarshalJSON writes.
func (e *Event) UnmarshalJSON(data []byte) error { return unmarshalModel(data, e) }

func (t ParameterType) lower() ParameterType { return ParameterType(strings.ToLower(string(t))) }

// reservedKeys are the keys of the payload that identify the customer.
var reservedKeys = []string{"customer", "email"}

// fits reports whether e can be triggered as p describes it.
func (e *Event) fits(p EventCreateParams) bool { return e.differences(p) == nil }

// differences lists what keeps e from being triggered as p describes it. It quotes names and
// types of the service.
func (e *Event) differences(p EventCreateParams) (differences []string) {
	add := func(format string, args ...any) { differences = append(differences, fmt.Sprintf(format, args...)) }
	there, wanted := byParameterName(e.Parameters), byParameterName(p.Parameters)
	for _, parameter := range p.Parameters {
		switch found, ok := there[parameter.Name]; {
		case !ok:
			add("has no parameter %s", parameter.Name)
		case found.Type.lower() != parameter.Type.lower():
			add("has %s as %s, you as %s", parameter.Name, cmp.Or(found.Type.lower(), "no type"), parameter.Type.lower())
		}
	}
	for _, parameter := range e.Parameters {
		switch known, ok := wanted[parameter.Name]; {
		case !parameter.Required || known.Required || slices.Contains(reservedKeys, parameter.Name):
		case !ok:
			add("requires %s, which you do not have", parameter.Name)
		default:
			add("requires %s, you do not", parameter.Name)
		}
	}
	return differences
}

func byParameterName(parameters []EventParameter) map[string]EventParameter {
	named := make(map[string]EventParameter, len(parameters))
	for _, parameter := range parameters {
		named[parameter.Name] = parameter
	}
	return named
}

// checkPayload compares the payload, as it would be sent, with the definition.
func (e *Event) checkPayload(problems *arguments.Problems, p *EventTriggerParams, payload map[string]any) {
	switch {
	case p.EventID == "" || p.EventID == e.ID:
	case e.ID == "":
		problems.Add("event_id", "is not the id of the definition, which has none")
	default:
		problems.Add("event_id", "is not the id of the definition")
	}
	at := problems.In("payload")
	for _, parameter := range e.Parameters {
		value := payload[parameter.Name]
		switch text, isText, _ := wireForm(value); {
		case value == arguments.Invalid{}:
		case parameter.Required && (value == nil || isText && text == ""):
			at.Add(parameter.Name, "is required by the event")
		case value == nil, slices.Contains(reservedKeys, parameter.Name):
		default:
			parameter.Type.checkValue(at, parameter.Name, value)
		}
	}
	known := byParameterName(e.Parameters)
	for _, name := range slices.Sorted(maps.Keys(p.Values)) {
		if _, ok := known[name]; !ok && name != "" && !slices.Contains(reservedKeys, name) {
			at.Add(name, "is not a parameter of the event")
		}
	}
}

// checkValue compares a value, as it would be sent, with the type.
func (t ParameterType) checkValue(p *arguments.Problems, name string, value any) {
	text, isText, isNumber := wireForm(value)
	switch t.lower() {
	case ParameterText:
		if !isText {
			p.Add(name, "must be a string")
		}
	case ParameterNumeric:
		switch _, ownForm := value.(json.RawMessage); {
		case isText && ownForm:
			p.Add(name, "must be a number, and its type writes a string: use json.Number")
		case !isNumber:
			p.Add(name, "must be a number")
		}
	case ParameterTimestamp:
		if !wire.IsTimestamp(text) {
			p.Add(name, "must be a time.Time, or a string in the form "+wire.TimestampForm+", since the service ignores any other form")
		}
	}
}

// wireForm reports whether a value of a payload is written as a string, which it returns, or
// as a number.
func wireForm(value any) (text string, isText, isNumber bool) {
	switch value := value.(type) {
	case string:
		return value, true, false
	case int, int64:
		return "", false, true
	case json.RawMessage: // an escape sequence in a text does not matter here
		if value[0] == '"' {
			return string(value[1 : len(value)-1]), true, false
		}
		return "", false, value[0] == '-' || value[0] >= '0' && value[0] <= '9'
	default:
		return "", false, false
	}
}
