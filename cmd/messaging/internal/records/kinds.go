package records

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/fake"
	"github.com/messaging-go/messaging/internal/service"
)

// Customer is a customer as the service stores it, with what its lists leave out.
type Customer = fake.Customer

// Customers are the customers that the service stores.
var Customers = &Kind{
	Name:   "customers",
	Origin: "Customers come from the seed, or are created by broadcasts and triggers.",
	List:   service.ListCustomers,
	Read: func(ctx context.Context, c *messaging.Client) error {
		_, err := c.Customers.List(ctx, messaging.CustomerListParams{})
		return err
	},
	parse: parseCustomer,
	stored: func(s *fake.Server) []Value {
		return values(s.Customers(), func(c *fake.Customer) Value { return customer{c} })
	},
	add:   func(s *fake.Server, v Value) { s.AddCustomers(*v.(customer).Customer) },
	idKey: "customer_id",
}

func parseCustomer(raw json.RawMessage) (Value, error) {
	var c messaging.Customer
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, err
	}
	local, domain, _ := strings.Cut(c.Email, "@")
	switch {
	case len(c.Extra) > 0:
		return nil, unreadable(c.Extra)
	case c.CustomerID == "" && c.Email == "":
		return nil, errors.New("a customer_id or an email is required")
	case c.Email != "" && (local == "" || domain == ""):
		return nil, errors.New("email: is not an email address")
	}
	return customer{&Customer{CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt, LastInteraction: c.LastInteraction, Providers: c.Providers,
		CustomerParams: fake.CustomerParams{CustomerID: c.CustomerID, FirstName: c.FirstName, LastName: c.LastName, Email: c.Email,
			PhoneNo: c.PhoneNo}}}, nil
}

type customer struct{ *Customer }

func (c customer) ID() string { return c.CustomerID }
func (c customer) Model() any { return *c.Customer }

func (c customer) Line() Line {
	name := strings.TrimSpace(c.FirstName + " " + c.LastName)
	title := cmp.Or(name, c.Email, c.CustomerID)
	others := slices.DeleteFunc([]string{c.Email, c.CustomerID, c.PhoneNo}, func(text string) bool { return text == title })
	return Line{title, cmp.Or(others...), words.Recent(c.LastInteraction)}
}

func (c customer) Texts() []string {
	return []string{c.CustomerID, c.Email, c.FirstName + " " + c.LastName, c.PhoneNo}
}

// Events are the event definitions that the service stores.
var Events = &Kind{
	Name:   "events",
	Origin: "Event definitions come from the seed, or are created by requests.",
	List:   service.ListEvents,
	Read: func(ctx context.Context, c *messaging.Client) error {
		_, err := c.Events.List(ctx, messaging.EventListParams{})
		return err
	},
	parse: parseEvent,
	stored: func(s *fake.Server) []Value {
		return values(s.Events(), func(e *fake.Event) Value { return event{e} })
	},
	add:   func(s *fake.Server, v Value) { s.AddEvents(*v.(event).Event) },
	idKey: "id",
}

func parseEvent(raw json.RawMessage) (Value, error) {
	var e messaging.Event
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, err
	}
	incomplete := slices.ContainsFunc(e.Parameters, func(p messaging.EventParameter) bool { return p.Name == "" || p.Type == "" })
	switch {
	case len(e.Extra) > 0:
		return nil, unreadable(e.Extra)
	case e.Name == "":
		return nil, errors.New("a name is required")
	case incomplete:
		return nil, errors.New("a parameter needs a name and a type")
	}
	stored := fake.Event{ID: e.ID, Name: e.Name, Description: e.Description, CreatedAt: e.CreatedAt}
	for _, p := range e.Parameters {
		stored.Parameters = append(stored.Parameters, fake.EventParameter{Name: p.Name, Type: string(p.Type), Required: p.Required})
	}
	return event{&stored}, nil
}

type event struct{ *fake.Event }

func (e event) ID() string      { return e.Event.ID }
func (e event) Model() any      { return *e.Event }
func (e event) Texts() []string { return []string{e.ID(), e.Name, e.Description} }
func (e event) Line() Line {
	return Line{e.Name, e.Description, words.Count(len(e.Parameters), "parameter")}
}

// Messages are the transactional messages that the service stores.
var Messages = &Kind{
	Name:   "messages",
	Origin: "Transactional messages come from the seed. The service has no operation that adds one.",
	List:   service.ListTransactional,
	Read: func(ctx context.Context, c *messaging.Client) error {
		_, err := c.Transactional.List(ctx, messaging.TransactionalListParams{})
		return err
	},
	parse: parseMessage,
	stored: func(s *fake.Server) []Value {
		rows := s.Transactional()
		messages := make([]message, len(rows))
		for i, row := range rows {
			messages[i] = through[message](row)
		}
		return values(messages, func(m *message) Value { return m })
	},
	add:   func(s *fake.Server, v Value) { s.AddTransactional(through[fake.Extra](v)) },
	idKey: "id",
}

func parseMessage(raw json.RawMessage) (Value, error) {
	var m message
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, err
	}
	switch {
	case len(m.Extra) > 0:
		return nil, unreadable(m.Extra)
	case m.Channel == "":
		return nil, errors.New("a channel is required")
	}
	return &m, nil
}

type message struct{ messaging.TransactionalMessage }

func (m *message) ID() string { return m.TransactionalMessage.ID }
func (m *message) Model() any { return m.TransactionalMessage }

func (m *message) Line() Line {
	return Line{cmp.Or(m.Subject, m.Title, "(no subject)"), string(m.Channel), words.Thousands(m.TotalSent) + " sent"}
}

func (m *message) Texts() []string {
	return []string{m.ID(), string(m.Channel), m.Subject, m.Title, m.Message}
}

// through converts a record, both of whose forms have the same JSON.
func through[T any](from any) (to T) {
	data, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(data, &to)
	}
	if err != nil {
		panic(err) // a record was read from JSON
	}
	return to
}
