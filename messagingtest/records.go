package messagingtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/fake"
)

// EmailBroadcast is an email broadcast that the service accepted.
type EmailBroadcast struct {
	// At is when the request arrived. A scheduled broadcast is recorded then, not when it
	// is due.
	At time.Time
	// Params is what was sent. assert.Equal(t, want, sent.Params) holds if the empty slices and
	// maps in want are nil, and its Variables have the types of encoding/json, such as float64.
	// An integer beyond ±2^53 or a number out of the range of float64 is a [json.Number].
	Params messaging.EmailBroadcastParams
	// Everyone reports whether the broadcast was sent to all customers.
	Everyone bool
	// Customers and Segments are those that the broadcast was sent to, in order.
	Customers []messaging.CustomerParams
	Segments  []string
}

// PushBroadcast is a push notification broadcast that the service accepted. Its fields are
// like those of an [EmailBroadcast].
type PushBroadcast struct {
	At        time.Time
	Params    messaging.PushBroadcastParams
	Everyone  bool
	Customers []messaging.CustomerParams
	Segments  []string
}

// Trigger is a triggered event.
type Trigger struct {
	At time.Time // when the request arrived
	// Params is what was sent, without the skipped values. If that had an EventID, not a
	// Definition, compare it as in [EmailBroadcast]; Values are like Variables there.
	Params messaging.EventTriggerParams
	// Skipped holds the names of the timestamp parameters whose values are not in the form
	// of the service, which ignores them and does not mention it.
	Skipped []string
}

// Customer is a customer as the service stores it. As in the service's lists, its times
// are in UTC and truncated to the second.
type Customer struct {
	// CustomerParams combines the fields of all requests that named the customer. Devices
	// holds the latest device with each token.
	messaging.CustomerParams
	CreatedAt       time.Time
	UpdatedAt       time.Time
	LastInteraction time.Time
	Providers       []string
	Extra           map[string]json.RawMessage
}

// Request is a request that the server received, as it was sent. Wherever it quotes the API
// key of the server, even escaped as in JSON or in a URL, it has "[API key]" instead.
type Request struct {
	Method string
	Path   string
	Query  url.Values
	Header http.Header
	Body   []byte // empty if it was larger than 16 MiB or incomplete
	// StatusCode is that of the response, or 0 if a fault lost it or it was not sent yet.
	StatusCode int
}

// EmailBroadcasts returns the accepted email broadcasts, in order.
func (s *Server) EmailBroadcasts() []EmailBroadcast {
	return effects(s, func(b fake.EmailBroadcast) EmailBroadcast {
		p := &b.Params
		p.CC, p.BCC, p.ReplyTo = slices.Clone(p.CC), slices.Clone(p.BCC), slices.Clone(p.ReplyTo)
		p.Variables, p.Schedule = cloneValues(p.Variables), clone(p.Schedule)
		b.Customers, b.Segments = cloneCustomers(b.Customers), slices.Clone(b.Segments)
		return EmailBroadcast(b)
	})
}

// PushBroadcasts returns the accepted push notification broadcasts, in order.
func (s *Server) PushBroadcasts() []PushBroadcast {
	return effects(s, func(b fake.PushBroadcast) PushBroadcast {
		b.Params.Schedule = clone(b.Params.Schedule)
		b.Customers, b.Segments = cloneCustomers(b.Customers), slices.Clone(b.Segments)
		return PushBroadcast(b)
	})
}

// Triggers returns the triggered events, in order.
func (s *Server) Triggers() []Trigger {
	return effects(s, func(t fake.Trigger) Trigger {
		p := &t.Params
		if p.Customer != nil {
			p.Customer = &cloneCustomers([]messaging.CustomerParams{*p.Customer})[0]
		}
		p.Values, t.Skipped = cloneValues(p.Values), slices.Clone(t.Skipped)
		return Trigger(t)
	})
}

// Customers returns all customers in the order of their creation: those that were added
// with [Server.AddCustomers], and those that broadcasts and triggers created.
func (s *Server) Customers() []Customer {
	var all []Customer
	for _, c := range s.service.Customers() {
		c.Devices = slices.Clone(c.Devices)
		all = append(all, Customer{CustomerParams: c.CustomerParams, CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt,
			LastInteraction: c.LastInteraction, Providers: slices.Clone(c.Providers), Extra: convert[fake.Extra](c.Extra)})
	}
	return all
}

// Events returns all event definitions in the order of their creation: those that were
// added with [Server.AddEvents], and those that requests created.
func (s *Server) Events() []messaging.Event {
	var all []messaging.Event
	for _, e := range s.service.Events() {
		all = append(all, messaging.Event{ID: e.ID, Name: e.Name, Description: e.Description, CreatedAt: e.CreatedAt,
			Parameters: convert[[]messaging.EventParameter](e.Parameters), Extra: convert[fake.Extra](e.Extra)})
	}
	return all
}

// Requests returns all requests that arrived, in order, including those that were refused
// and those that failed because of a fault.
func (s *Server) Requests() []Request {
	var all []Request
	for _, r := range s.service.Requests() {
		r.Query, r.Header = url.Values(http.Header(r.Query).Clone()), r.Header.Clone()
		r.Body = bytes.Clone(r.Body)
		all = append(all, Request(r))
	}
	return all
}

// AddCustomers adds customers to the list of the service, and does not check for
// duplicates. A customer without an identifier gets a customer id. A zero time is set to
// the current time, unless Extra has a member for it. The list has the members of
// Extra, which win over a field of the same name.
func (s *Server) AddCustomers(customers ...messaging.Customer) {
	for _, c := range customers {
		s.service.AddCustomers(fake.Customer{CustomerParams: c.Params(), CreatedAt: c.CreatedAt,
			UpdatedAt: c.UpdatedAt, LastInteraction: c.LastInteraction, Providers: slices.Clone(c.Providers), Extra: convert[fake.Extra](c.Extra)})
	}
}

// AddEvents adds event definitions to the list of the service, so that they can be
// triggered. An event without an id gets a UUID. A zero CreatedAt is set to the current
// time, unless Extra has a created_at member. The list includes the members of Extra, as in
// [Server.AddCustomers], but not the Extra of parameters.
func (s *Server) AddEvents(events ...messaging.Event) {
	for _, e := range events {
		s.service.AddEvents(fake.Event{ID: e.ID, Name: e.Name, Description: e.Description, CreatedAt: e.CreatedAt,
			Parameters: convert[[]fake.EventParameter](e.Parameters), Extra: convert[fake.Extra](e.Extra)})
	}
}

// AddTransactional adds transactional messages to the list of the service. A message
// without an id gets a UUID. It is completed like an event by [Server.AddEvents].
func (s *Server) AddTransactional(messages ...messaging.TransactionalMessage) {
	for _, m := range messages {
		m.CreatedAt = m.CreatedAt.Truncate(time.Second) // as the service lists it
		s.service.AddTransactional(convert[fake.Extra](m))
	}
}

// effects returns copies of the effects of one kind.
func effects[F, T any](s *Server, copied func(F) T) []T {
	var all []T
	for _, effect := range s.service.Effects() {
		if effect, ok := effect.(*F); ok {
			all = append(all, copied(*effect))
		}
	}
	return all
}

// clone returns a pointer to a copy, nil for nil.
func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}

// cloneCustomers returns a deep copy.
func cloneCustomers(customers []messaging.CustomerParams) []messaging.CustomerParams {
	customers = slices.Clone(customers)
	for i := range customers {
		customers[i].Devices = slices.Clone(customers[i].Devices)
	}
	return customers
}

// cloneValues returns a deep copy. Going by way of JSON would rewrite numbers.
func cloneValues(values map[string]any) map[string]any {
	values = maps.Clone(values)
	for name, value := range values {
		values[name] = cloneValue(value)
	}
	return values
}

func cloneValue(value any) any {
	switch value := value.(type) {
	case map[string]any:
		return cloneValues(value)
	case []any:
		elements := slices.Clone(value)
		for i, element := range elements {
			elements[i] = cloneValue(element)
		}
		return elements
	}
	return value
}

// convert returns a value of one package as one of the other, by way of the JSON that both
// share.
func convert[T any](from any) (to T) {
	data, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(data, &to)
	}
	if err != nil {
		panic(fmt.Sprintf("messagingtest: %v", err)) // such as an Extra that is no JSON
	}
	return to
}
