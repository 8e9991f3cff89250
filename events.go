package messaging

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strings"
	"time"
)

// EventsService defines, triggers and lists events; see [Client.Events].
type EventsService service

var (
	createEvent = operation{name: "create event", method: http.MethodPost, path: "/v1/events",
		subject: "the event", done: "created"}
	triggerEvent = operation{name: "trigger event", method: http.MethodPost, path: "/v1/events/trigger",
		subject: "the event", done: "triggered", refusable: true}
	listEvents = operation{name: "list events", method: http.MethodGet, path: "/v1/events"}
	getEvent   = operation{name: "get event", method: http.MethodGet, path: "/v1/events"}
)

// Create defines an event and returns it with the id that triggers it.
//
// The call is retried only where the service certainly did nothing. An error whose
// [DeliveryOf] is [DeliveryAccepted] means that the event exists although the
// response could not be read: find it with [EventsService.All].
//
// API: POST /v1/events
func (s *EventsService) Create(ctx context.Context, p EventCreateParams, opts ...RequestOption) (*Event, error) {
	var created Event
	if _, err := s.core.call(ctx, call{operation: createEvent, params: &p, accept: created.read}, opts); err != nil {
		return nil, err
	}
	return &created, nil
}

// Trigger triggers an event for one customer.
//
// With p.Definition set, the payload is first checked against the definition as
// [Event.Validate] does. Retries and errors are those of
// [BroadcastsService.SendEmail].
//
// API: POST /v1/events/trigger
func (s *EventsService) Trigger(ctx context.Context, p EventTriggerParams, opts ...RequestOption) (*Response, error) {
	return s.core.call(ctx, call{operation: triggerEvent, params: &p}, opts)
}

// List returns one page of event definitions. [EventsService.All] ranges over all of them.
//
// API: GET /v1/events
func (s *EventsService) List(ctx context.Context, p EventListParams, opts ...RequestOption) (*Page[Event], error) {
	return list[Event](ctx, s.core, listEvents, p.query(), opts)
}

// Pages ranges over the pages of event definitions, from p.Cursor on. See the
// package documentation for what a range promises.
//
// API: GET /v1/events
func (s *EventsService) Pages(ctx context.Context, p EventListParams, opts ...RequestOption) iter.Seq2[*Page[Event], error] {
	return pages[Event](ctx, s.core, listEvents, p.query(), opts)
}

// All ranges over every event definition, from p.Cursor on. See the package
// documentation for what a range promises.
//
// API: GET /v1/events
func (s *EventsService) All(ctx context.Context, p EventListParams, opts ...RequestOption) iter.Seq2[Event, error] {
	return all[Event](ctx, s.core, listEvents, p.query(), opts)
}

// GetByName returns the event definition with the given name. It reads the whole list,
// since the service can't search it, and to the service a name is no key:
// the error is [ErrEventNotFound] if no event has the name, and [ErrEventAmbiguous] if
// several have it. Case matters.
//
// API: GET /v1/events
func (s *EventsService) GetByName(ctx context.Context, name string, opts ...RequestOption) (*Event, error) {
	var found []Event
	var response *Response
	for page, err := range pages[Event](ctx, s.core, getEvent, listQuery{name: name, byName: true}, opts) {
		if err != nil {
			return nil, errors.Unwrap(err) // the caller has no use for a cursor
		}
		response = page.Response
		for _, event := range page.Items {
			if event.Name == name {
				found = append(found, event)
			}
		}
		if len(found) > 1 {
			break
		}
	}
	switch len(found) {
	case 0:
		return nil, newLookupError(getEvent, response, ErrEventNotFound)
	case 1:
		return &found[0], nil
	default:
		return nil, newLookupError(getEvent, response, ErrEventAmbiguous)
	}
}

// Ensure returns the event definition named p.Name, and creates it if there is none.
// Call it when a program starts: [EventsService.Create] would define another event of
// the same name each time, and the service can't delete one.
//
// The error is [ErrEventDiffers] if the definition that is there can't be triggered as p
// describes it: a parameter of p is missing or has another type, or one is required
// that p does not require. The description, the order and further optional parameters do
// not count. It is [ErrEventAmbiguous] if several events have the name. After any error
// before the creation, [DeliveryOf] is [DeliveryNotSent]; errors of the creation are
// those of Create.
//
// Two programs that call Ensure at the same time can both create the event: the
// service has no way to prevent it. [EventsService.GetByName] then returns
// ErrEventAmbiguous. Let one program define the events of an account.
//
// API: GET /v1/events
//
// API: POST /v1/events
func (s *EventsService) Ensure(ctx context.Context, p EventCreateParams, opts ...RequestOption) (*Event, error) {
	if ctx == nil || !s.core.accepts(call{operation: createEvent, params: &p}, opts) {
		return s.Create(ctx, p, opts...) // which says what is invalid, and sends nothing
	}
	found, err := s.GetByName(ctx, p.Name, opts...)
	switch {
	case errors.Is(err, ErrEventNotFound):
		return s.Create(ctx, p, opts...)
	case err == nil:
		err = found.compare(p)
	}
	if err != nil {
		return nil, &ensureError{err}
	}
	return found, nil
}

// ensureError is why Ensure has not begun to create an event.
type ensureError struct{ err error }

func (e *ensureError) Error() string {
	return oneLine("ensure event: "+e.err.Error(), "; nothing was created")
}

func (e *ensureError) Unwrap() error      { return e.err }
func (e *ensureError) Delivery() Delivery { return DeliveryNotSent }
func (e *ensureError) isRetryable() bool  { return Retryable(e.err) }

// EventListParams selects event definitions.
type EventListParams struct {
	// PerPage is the page size; zero leaves it to the service, which uses 20.
	PerPage int
	// Cursor is where to start, from [PageMeta] or [PageError]; "" is the beginning.
	Cursor string
}

func (p EventListParams) query() listQuery { return listQuery{PerPage: p.PerPage, Cursor: p.Cursor} }

// EventParameter is one value that an event takes when it is triggered.
type EventParameter struct {
	// Name is the key in the payload. It can't be "email" or "customer".
	Name     string        `json:"name"`
	Type     ParameterType `json:"type"`
	Required bool          `json:"required"`
}

func (e *EventParameter) decode(r *reader) error {
	return r.object(func(key []byte) error {
		switch string(key) {
		case "name":
			return r.string(&e.Name)
		case "type":
			err := r.string((*string)(&e.Type))
			e.Type = e.Type.lower()
			return err
		case "required":
			return r.boolean(&e.Required)
		default:
			return r.skip()
		}
	})
}

// UnmarshalJSON reads what the service sends, with the type in any case.
func (e *EventParameter) UnmarshalJSON(data []byte) error { return unmarshalModel(data, e) }

// EventCreateParams describes a new event. Every field is required.
type EventCreateParams struct {
	Name        string
	Description string
	// Parameters are the parameters of the event. nil is refused, since it may
	// be an omission; use an empty list for none.
	Parameters []EventParameter
}

func (p *EventCreateParams) validate(problems *problems) {
	problems.requiredText("name", p.Name)
	problems.requiredText("description", p.Description)
	if p.Parameters == nil {
		problems.add("parameters", "is required; use an empty list for none")
	}
	seen := make(map[string]bool, len(p.Parameters))
	for i, parameter := range p.Parameters {
		at := problems.in("parameters").index(i)
		at.requiredText("name", parameter.Name)
		at.requiredText("type", string(parameter.Type))
		switch {
		case slices.Contains(reservedKeys, parameter.Name):
			at.add("name", "is reserved for the identity of the customer in the payload")
		case seen[parameter.Name] && parameter.Name != "":
			at.add("name", "is a duplicate")
		}
		seen[parameter.Name] = true
	}
}

// eventCreateBody is the wire form of EventCreateParams.
type eventCreateBody struct {
	Name        string           `json:"name"`
	Description string           `json:"description"`
	Parameters  []EventParameter `json:"parameters"`
}

func (p *EventCreateParams) wire(*problems) any {
	parameters := make([]EventParameter, len(p.Parameters))
	for i, parameter := range p.Parameters {
		parameter.Type = parameter.Type.lower()
		parameters[i] = parameter
	}
	return &eventCreateBody{Name: p.Name, Description: p.Description, Parameters: parameters}
}

// EventTriggerParams is an event for a customer. EventID or Definition is required,
// and so is Email or Customer.
type EventTriggerParams struct {
	// EventID is the id of the event definition. With the id alone, nothing tells
	// which string in Values is meant as a timestamp: one in a form that the
	// service skips is sent as it stands. Prefer Definition.
	EventID string
	// Definition gives the id instead of EventID, and has the payload checked
	// against it before anything is sent.
	Definition *Event
	// Email identifies the customer; on the wire it is payload.email.
	Email string
	// Customer identifies the customer, and is created or updated; on the wire
	// it is payload.customer.
	Customer *CustomerParams
	// Values holds the parameters of the event by name. They stand beside email
	// and customer in the payload.
	//
	// A value is nil, a bool, a string, a number, a [time.Time], a [json.Number],
	// a [json.Marshaler], an [encoding.TextMarshaler], a map with string keys, a
	// slice or an array of these, or a pointer to one of these. Types of your own
	// that are made of a bool, a string, a number, a map, a slice or an array will
	// do. Anything else, such as a struct without MarshalJSON, a NaN or an
	// infinity, is a [*ValidationError].
	//
	// Every time.Time, also within maps and slices, is sent in UTC in the one form
	// that the service reads, 2006-01-02T15:04:05Z; fractions of a second are cut
	// off. It is a ValidationError if it is the zero time or has a year outside 0
	// to 9999, and so is a value whose own MarshalJSON or MarshalText writes a time
	// in any other form. A string is sent as it is, unless Definition says that it
	// is a timestamp.
	//
	// The parameter types with a constant here take one string, number or time. A
	// map or a slice fits only a parameter of another type, or no Definition.
	Values map[string]any
}

func (p *EventTriggerParams) id() string {
	if p.EventID == "" && p.Definition != nil {
		return p.Definition.ID
	}
	return p.EventID
}

func (p *EventTriggerParams) validate(problems *problems) {
	problems.requiredText("event_id", p.id())
	payload := problems.in("payload")
	if p.Email == "" && p.Customer == nil {
		payload.add("email", "is required when there is no customer")
	}
	payload.email("email", p.Email)
	if p.Customer != nil {
		p.Customer.validate(payload.in("customer"))
	}
	if _, nameless := p.Values[""]; nameless {
		payload.add("", "has a parameter without a name")
	}
	for _, key := range reservedKeys {
		if _, taken := p.Values[key]; taken {
			payload.add(key, "must be given by Email or Customer, not by Values")
		}
	}
}

// eventTriggerBody is the wire form of EventTriggerParams.
type eventTriggerBody struct {
	EventID string         `json:"event_id"`
	Payload map[string]any `json:"payload"`
}

func (p *EventTriggerParams) wire(problems *problems) any {
	payload := payloadValues(problems, p.Values)
	if p.Email != "" {
		payload["email"] = p.Email
	}
	if p.Customer != nil {
		payload["customer"] = p.Customer
	}
	if p.Definition != nil {
		p.Definition.check(problems, p, payload)
	}
	return &eventTriggerBody{EventID: p.id(), Payload: payload}
}

// Event is the definition of an event.
type Event struct {
	// ID is a uuid that the service assigns.
	ID          string
	Name        string
	Description string
	Parameters  []EventParameter
	CreatedAt   time.Time
	Extra       Extra
}

func (e *Event) decode(r *reader) error {
	return r.object(func(key []byte) error {
		switch string(key) {
		case "id":
			return r.string(&e.ID)
		case "name":
			return r.string(&e.Name)
		case "description":
			return r.string(&e.Description)
		case "parameters":
			return e.decodeParameters(r)
		case "created_at":
			return r.time(key, &e.CreatedAt, &e.Extra)
		default:
			return r.extra(key, &e.Extra)
		}
	})
}

func (e *Event) decodeParameters(r *reader) error {
	e.Parameters = nil
	if null, err := r.null(); null {
		return err
	}
	return r.array(func(int) error {
		if err := r.countElement(); err != nil {
			return err
		}
		var parameter EventParameter
		err := parameter.decode(r)
		e.Parameters = append(e.Parameters, parameter)
		return err
	})
}

// read reads a created event, which can't be used without its id.
func (e *Event) read(data json.RawMessage) error {
	if err := readModel(data, e); err != nil {
		return err
	}
	if e.ID == "" {
		return at("id", errMissing)
	}
	return nil
}

// eventBody is the wire form of Event.
type eventBody struct {
	ID          string           `json:"id"`
	Name        string           `json:"name"`
	Description string           `json:"description"`
	Parameters  []EventParameter `json:"parameters"`
	CreatedAt   string           `json:"created_at,omitempty"`
}

// MarshalJSON writes the wire form of the event, Extra included.
func (e Event) MarshalJSON() ([]byte, error) {
	return marshalModel(eventBody{ID: e.ID, Name: e.Name, Description: e.Description,
		Parameters: e.Parameters, CreatedAt: formatTime(e.CreatedAt, microsecondForm)}, e.Extra)
}

// UnmarshalJSON reads what the service sends and what MarshalJSON writes.
func (e *Event) UnmarshalJSON(data []byte) error { return unmarshalModel(data, e) }

func (t ParameterType) lower() ParameterType { return ParameterType(strings.ToLower(string(t))) }

// reservedKeys are the keys of the payload that identify the customer.
var reservedKeys = []string{"customer", "email"}
