// Package records holds the kinds of records that the service stores, such as
// customers: their seeds, their numbers and counts, and their forms in pages and JSON.
package records

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/fake"
	"github.com/messaging-go/messaging/internal/service"
)

// Kind is a kind of records.
type Kind struct {
	// Name is what URLs, seeds and the API call the records, such as "events".
	Name string
	// Origin describes where the records come from.
	Origin string
	// List is the operation that lists the records.
	List *service.Operation
	// Read reads a page of the records with a client.
	Read func(context.Context, *messaging.Client) error

	idKey  string                     // the key of the id
	seeded func(*form) []Value        // the records of a seed
	stored func(*fake.Server) []Value // all records, oldest first
	count  func(*fake.Server) int     // how many are stored; their list is costly to copy
	add    func(*fake.Server, Value)
}

// Kinds are the kinds of records, one for each list of the service. Seeds, dumps, the
// API, the pages, their counts and the search range over them.
var Kinds = []*Kind{Customers, Events, Messages}

// Title returns the name as a heading.
func (k *Kind) Title() string { return strings.ToUpper(k.Name[:1]) + k.Name[1:] }

// Listed returns the kind whose records the operation lists, nil if there is none.
func Listed(by *service.Operation) *Kind {
	for _, k := range Kinds {
		if k.List == by {
			return k
		}
	}
	return nil
}

// Names returns the names of all kinds, such as "customers, events or messages".
func Names(conjunction string) string {
	var names []string
	for _, k := range Kinds {
		names = append(names, k.Name)
	}
	return words.List(names, conjunction)
}

// Value is a record: a [Customer], an [Event] or a [Message]. Its JSON has the form of the service's lists.
type Value interface {
	json.Marshaler
	// ID returns the id of the record, "" if it has none.
	ID() string
	// Texts returns what a search looks at. The first two are the record in a list, where Side stands beside them.
	Texts() []string
	Side() string

	check() error // of what a seed must have
}

// values returns records as values.
func values[T any](list []T, value func(*T) Value) []Value {
	all := make([]Value, len(list))
	for i := range list {
		all[i] = value(&list[i])
	}
	return all
}

// errorOf returns the error of a call, without its result.
func errorOf(_ any, err error) error { return err }

// Customers are the customers that the service stores.
var Customers = &Kind{
	Name:   "customers",
	Origin: "Customers come from the seed, or are created by broadcasts and triggers.",
	List:   service.ListCustomers,
	Read: func(ctx context.Context, c *messaging.Client) error {
		return errorOf(c.Customers.List(ctx, messaging.CustomerListParams{}))
	},
	idKey: "customer_id",
	seeded: func(f *form) []Value {
		return values(f.Customers, func(c *formCustomer) Value {
			return Customer{&fake.Customer{CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt, LastInteraction: c.LastInteraction,
				Providers: strings.FieldsFunc(c.Providers, func(r rune) bool { return r == ',' }),
				CustomerParams: messaging.CustomerParams{CustomerID: c.CustomerID, FirstName: c.FirstName, LastName: c.LastName,
					Email: c.Email, PhoneNo: c.PhoneNo}}}
		})
	},
	stored: func(s *fake.Server) []Value {
		return values(s.Customers(), func(c *fake.Customer) Value { return Customer{c} })
	},
	count: func(s *fake.Server) int { return s.Counts().Customers },
	add:   func(s *fake.Server, v Value) { s.AddCustomers(*v.(Customer).Customer) },
}

// Customer is a customer as the service stores it, with what its lists leave out. A list of many customers needs few
// allocations, since each is a pointer into it.
type Customer struct{ *fake.Customer }

func (c Customer) ID() string   { return c.CustomerID }
func (c Customer) Side() string { return words.Recent(c.LastInteraction) }

func (c Customer) Texts() []string {
	texts := []string{strings.TrimSpace(c.FirstName + " " + c.LastName), c.Email, c.CustomerID, c.PhoneNo}
	return append(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), "")
}

func (c Customer) check() error {
	local, domain, _ := strings.Cut(c.Email, "@")
	switch {
	case c.CustomerID == "" && c.Email == "":
		return errors.New("a customer_id or an email is required")
	case c.Email != "" && (local == "" || domain == ""):
		return errors.New("email: is not an email address")
	}
	return nil
}

// Events are the event definitions that the service stores.
var Events = &Kind{
	Name:   "events",
	Origin: "Event definitions come from the seed, or are created by requests.",
	List:   service.ListEvents,
	Read: func(ctx context.Context, c *messaging.Client) error {
		return errorOf(c.Events.List(ctx, messaging.EventListParams{}))
	},
	idKey:  "id",
	seeded: func(f *form) []Value { return values(f.Events, newEvent) },
	stored: func(s *fake.Server) []Value { return values(s.Events(), newEvent) },
	count:  func(s *fake.Server) int { return s.Counts().Events },
	add:    func(s *fake.Server, v Value) { s.AddEvents(*v.(Event).Event) },
}

// Event is an event definition.
type Event struct{ *fake.Event }

func newEvent(e *fake.Event) Value { return Event{e} }

func (e Event) ID() string      { return e.Event.ID }
func (e Event) Side() string    { return words.Count(len(e.Parameters), "parameter") }
func (e Event) Texts() []string { return []string{e.Name, e.Description, e.ID()} }

func (e Event) check() error {
	if e.Name == "" {
		return errors.New("a name is required")
	}
	if slices.ContainsFunc(e.Parameters, func(p fake.EventParameter) bool { return p.Name == "" || p.Type == "" }) {
		return errors.New("a parameter needs a name and a type")
	}
	return nil
}

// Messages are the transactional messages that the service stores.
var Messages = &Kind{
	Name:   "messages",
	Origin: "Transactional messages come from the seed. The service has no operation that adds one.",
	List:   service.ListTransactional,
	Read: func(ctx context.Context, c *messaging.Client) error {
		return errorOf(c.Transactional.List(ctx, messaging.TransactionalListParams{}))
	},
	idKey:  "id",
	seeded: func(f *form) []Value { return values(f.Messages, newMessage) },
	stored: func(s *fake.Server) []Value { return values(s.Transactional(), newMessage) },
	count:  func(s *fake.Server) int { return s.Counts().Transactional },
	add:    func(s *fake.Server, v Value) { s.AddTransactional(through[fake.Extra](v)) },
}

// Message is a transactional message.
type Message struct{ messaging.TransactionalMessage }

func newMessage(row *fake.Extra) Value { return through[Message](row) }

func (m Message) ID() string   { return m.TransactionalMessage.ID }
func (m Message) Side() string { return words.Thousands(m.TotalSent) + " sent" }

func (m Message) Texts() []string {
	return []string{cmp.Or(m.Subject, m.Title, "(no subject)"), string(m.Channel), m.Title, m.Message, m.ID()}
}

func (m Message) check() error {
	for _, name := range slices.Sorted(maps.Keys(m.Extra)) {
		return errors.New(name + ": is unknown, or cannot be read")
	}
	if m.Channel == "" {
		return errors.New("a channel is required")
	}
	return nil
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
