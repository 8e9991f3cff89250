package sandbox

import (
	"slices"
	"sync"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

// Numbered is a record with its number in URLs. Numbers are not used again after
// a reset.
type Numbered[T any] struct {
	Number int
	Record T
}

// Customers returns all customers, newest first.
func (b *Sandbox) Customers() []Numbered[messagingtest.Customer] {
	customers := b.service.Customers()
	numbered := make([]Numbered[messagingtest.Customer], len(customers))
	for i, c := range customers {
		numbered[len(customers)-1-i] = Numbered[messagingtest.Customer]{c.Number, c}
	}
	return numbered
}

// Count returns the numbers of records. Unlike the lists it copies nothing.
func (b *Sandbox) Count() (customers, events, messages int) {
	return int(b.stored.customers.Load()), int(b.stored.events.Load()), int(b.stored.messages.Load())
}

// Events returns all event definitions, newest first.
func (b *Sandbox) Events() []Numbered[messaging.Event] {
	return number(&b.events, b.service.Events(), func(e messaging.Event) string { return e.ID })
}

// Event returns the definition of an event by its id.
func (b *Sandbox) Event(id string) (Numbered[messaging.Event], bool) {
	events := b.Events()
	i := slices.IndexFunc(events, func(e Numbered[messaging.Event]) bool { return e.Record.ID == id })
	if i < 0 {
		return Numbered[messaging.Event]{}, false
	}
	return events[i], true
}

// eventName returns the name of the event with the id, or "".
func (b *Sandbox) eventName(id string) string {
	event, _ := b.Event(id)
	return event.Record.Name
}

// Messages returns all transactional messages, newest first.
func (b *Sandbox) Messages() []Numbered[messaging.TransactionalMessage] {
	return number(&b.messages, b.service.Transactional(), func(m messaging.TransactionalMessage) string { return m.ID })
}

// numbers gives each id a number, in the order in which it sees them.
type numbers struct {
	mu   sync.Mutex
	byID map[string]int
}

func number[T any](n *numbers, records []T, id func(T) string) []Numbered[T] {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.byID == nil {
		n.byID = make(map[string]int)
	}
	numbered := make([]Numbered[T], len(records))
	for i, record := range records {
		key := id(record)
		if n.byID[key] == 0 {
			n.byID[key] = len(n.byID) + 1
		}
		numbered[len(records)-1-i] = Numbered[T]{n.byID[key], record}
	}
	return numbered
}

// Dump returns what the service stores, without the history and the faults.
func (b *Sandbox) Dump() Seed {
	dump := Seed{Customers: []messaging.Customer{}, Events: []messaging.Event{}, Messages: []messaging.TransactionalMessage{}}
	dump.Events = append(dump.Events, b.service.Events()...)
	dump.Messages = append(dump.Messages, b.service.Transactional()...)
	for _, c := range b.service.Customers() {
		dump.Customers = append(dump.Customers, messaging.Customer{
			CustomerID: c.CustomerID, FirstName: c.FirstName, LastName: c.LastName, Email: c.Email, PhoneNo: c.PhoneNo,
			CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt, LastInteraction: c.LastInteraction, Providers: c.Providers, Extra: c.Extra})
	}
	return dump
}
