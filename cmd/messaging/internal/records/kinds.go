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

// Kinds are the kinds of records, one for each list of the service. Seeds, dumps, the
// API, the pages, their counts and the search range over them, so a new list needs a
// declaration here and nothing else.
var Kinds = []*Kind{Customers, Events, Messages}

// Customers are the customers that the service stores.
var Customers = declare(declaration[Customer]{
	list: service.ListCustomers,
	read: func(ctx context.Context, c *messaging.Client) error {
		_, err := c.Customers.List(ctx, messaging.CustomerListParams{})
		return err
	},
	name:   "customers",
	origin: "Customers come from the seed, or are created by broadcasts and triggers.",
	stored: models((*fake.Server).Customers, customerModel),
	add:    adding((*fake.Server).AddCustomers, storedCustomer),
	created: func(e *fake.Exchange) (n int) {
		for _, change := range e.Customers {
			if change.Created {
				n++
			}
		}
		return n
	},
	keys: keys{"customer_id": text, "first_name": text, "last_name": text, "email": text, "phone_no": text,
		"customer_created_at": text, "updated_at": text, "providers": text, "last_interaction": text},
	idKey:  "customer_id",
	id:     func(c Customer) string { return c.CustomerID },
	number: func(c Customer) int { return c.Number },
	extra:  func(c Customer) map[string]json.RawMessage { return c.Extra },
	check: func(c Customer) error {
		local, domain, _ := strings.Cut(c.Email, "@")
		return errors.Join(
			errorIf(c.CustomerID == "" && c.Email == "", "a customer_id or an email is required"),
			errorIf(c.Email != "" && (local == "" || domain == ""), "email: is not an email address"))
	},
	line: func(c Customer) Line {
		name := strings.TrimSpace(c.FirstName + " " + c.LastName)
		title := cmp.Or(name, c.Email, c.CustomerID)
		others := slices.DeleteFunc([]string{c.Email, c.CustomerID, c.PhoneNo}, func(text string) bool { return text == title })
		return Line{title, cmp.Or(others...), words.Recent(c.LastInteraction)}
	},
	texts: func(c Customer) []string {
		return []string{c.CustomerID, c.Email, c.FirstName + " " + c.LastName, c.PhoneNo}
	},
	more: func(c Customer) any { return devices{append([]fake.Device{}, c.Devices...)} },
})

// Events are the event definitions that the service stores.
var Events = declare(declaration[messaging.Event]{
	list: service.ListEvents,
	read: func(ctx context.Context, c *messaging.Client) error {
		_, err := c.Events.List(ctx, messaging.EventListParams{})
		return err
	},
	name:   "events",
	origin: "Event definitions come from the seed, or are created by requests.",
	stored: models((*fake.Server).Events, eventModel),
	add:    adding((*fake.Server).AddEvents, storedEvent),
	created: func(e *fake.Exchange) int {
		if _, ok := e.Effect.(*fake.Event); ok {
			return 1
		}
		return 0
	},
	keys: keys{"id": text, "name": text, "description": text, "created_at": text,
		"parameters": arrayOf(keys{"name": text, "type": text, "required": boolean})},
	idKey: "id",
	id:    func(e messaging.Event) string { return e.ID },
	extra: func(e messaging.Event) map[string]json.RawMessage { return e.Extra },
	check: func(e messaging.Event) error {
		incomplete := slices.ContainsFunc(e.Parameters, func(p messaging.EventParameter) bool { return p.Name == "" || p.Type == "" })
		return errors.Join(errorIf(e.Name == "", "a name is required"), errorIf(incomplete, "a parameter needs a name and a type"))
	},
	line: func(e messaging.Event) Line {
		return Line{e.Name, e.Description, words.Count(len(e.Parameters), "parameter")}
	},
	texts: func(e messaging.Event) []string { return []string{e.ID, e.Name, e.Description} },
})

// Messages are the transactional messages that the service stores.
var Messages = declare(declaration[messaging.TransactionalMessage]{
	list: service.ListTransactional,
	read: func(ctx context.Context, c *messaging.Client) error {
		_, err := c.Transactional.List(ctx, messaging.TransactionalListParams{})
		return err
	},
	name:   "messages",
	origin: "Transactional messages come from the seed. The service has no operation that adds one.",
	stored: models((*fake.Server).Transactional, messageModel),
	add:    adding((*fake.Server).AddTransactional, storedMessage),
	keys: keys{"id": text, "channel": text, "subject": text, "title": text, "message": text, "message_type": text,
		"created_at": text, "total_sent": number, "total_delivered": number, "total_failed": number,
		"total_complained": number, "total_bounced": number},
	idKey: "id",
	id:    func(m messaging.TransactionalMessage) string { return m.ID },
	extra: func(m messaging.TransactionalMessage) map[string]json.RawMessage { return m.Extra },
	check: func(m messaging.TransactionalMessage) error {
		return errorIf(m.Channel == "", "a channel is required")
	},
	line: func(m messaging.TransactionalMessage) Line {
		return Line{cmp.Or(m.Subject, m.Title, "(no subject)"), string(m.Channel), words.Thousands(m.TotalSent) + " sent"}
	},
	texts: func(m messaging.TransactionalMessage) []string {
		return []string{m.ID, string(m.Channel), m.Subject, m.Title, m.Message}
	},
})

// errorIf returns an error with the text if the condition holds.
func errorIf(condition bool, text string) error {
	if condition {
		return errors.New(text)
	}
	return nil
}
