// Package export writes every record of a list of the service to a file: CSV or JSON
// Lines.
package export

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/wire"
)

// Records are the records of a list.
type Records[T any] struct {
	// Name is that of the list, such as "customers".
	Name    string
	columns []column[T]
	// timeForm is how the service writes times. In CSV, all lists have the same.
	timeForm string
	// id identifies a record that is listed twice because the pages shifted. A record without it is never left out.
	id func(*T) string
	// extra are the members that the models have no field for, which JSON Lines has.
	extra func(*T) map[string]json.RawMessage
	pages func(ctx context.Context, client *messaging.Client, perPage int, cursor string) iter.Seq2[*messaging.Page[T], error]
}

// column is a column of the records, with the name that the service uses. field returns a pointer to its value, which needs
// no memory.
type column[T any] struct {
	name  string
	field func(*T) any
}

// orNull is a text that is null in JSON if it is empty.
type orNull string

// Customers are the customers of the account.
var Customers = Records[messaging.Customer]{
	Name:     "customers",
	timeForm: time.RFC3339,
	columns: []column[messaging.Customer]{
		{"customer_id", func(c *messaging.Customer) any { return &c.CustomerID }},
		{"email", func(c *messaging.Customer) any { return &c.Email }},
		{"first_name", func(c *messaging.Customer) any { return &c.FirstName }},
		{"last_name", func(c *messaging.Customer) any { return &c.LastName }},
		{"phone_no", func(c *messaging.Customer) any { return &c.PhoneNo }},
		{"providers", func(c *messaging.Customer) any { return &c.Providers }},
		{"customer_created_at", func(c *messaging.Customer) any { return &c.CreatedAt }},
		{"updated_at", func(c *messaging.Customer) any { return &c.UpdatedAt }},
		{"last_interaction", func(c *messaging.Customer) any { return &c.LastInteraction }},
	},
	id: func(c *messaging.Customer) string {
		if c.CustomerID != "" {
			return "id:" + c.CustomerID
		}
		return c.Email
	},
	extra: func(c *messaging.Customer) map[string]json.RawMessage { return c.Extra },
	pages: func(ctx context.Context, client *messaging.Client, perPage int,
		cursor string) iter.Seq2[*messaging.Page[messaging.Customer], error] {
		return client.Customers.Pages(ctx, messaging.CustomerListParams{PerPage: perPage, Cursor: cursor})
	},
}

// Events are the definitions of events.
var Events = Records[messaging.Event]{
	Name:     "events",
	timeForm: wire.MicrosecondForm,
	columns: []column[messaging.Event]{
		{"id", func(e *messaging.Event) any { return &e.ID }},
		{"name", func(e *messaging.Event) any { return &e.Name }},
		{"description", func(e *messaging.Event) any { return &e.Description }},
		{"parameters", func(e *messaging.Event) any { return &e.Parameters }},
		{"created_at", func(e *messaging.Event) any { return &e.CreatedAt }},
	},
	id:    func(e *messaging.Event) string { return e.ID },
	extra: func(e *messaging.Event) map[string]json.RawMessage { return e.Extra },
	pages: func(ctx context.Context, client *messaging.Client, perPage int, cursor string) iter.Seq2[*messaging.Page[messaging.Event], error] {
		return client.Events.Pages(ctx, messaging.EventListParams{PerPage: perPage, Cursor: cursor})
	},
}

// Messages are the transactional messages, with their delivery counts.
var Messages = Records[messaging.TransactionalMessage]{
	Name:     "messages",
	timeForm: wire.LocalForm,
	columns: []column[messaging.TransactionalMessage]{
		{"id", func(m *messaging.TransactionalMessage) any { return &m.ID }},
		{"channel", func(m *messaging.TransactionalMessage) any { return (*string)(&m.Channel) }},
		{"subject", func(m *messaging.TransactionalMessage) any { return &m.Subject }},
		{"title", func(m *messaging.TransactionalMessage) any { return &m.Title }},
		{"message", func(m *messaging.TransactionalMessage) any { return &m.Message }},
		{"message_type", func(m *messaging.TransactionalMessage) any { return (*orNull)(&m.MessageType) }},
		{"created_at", func(m *messaging.TransactionalMessage) any { return &m.CreatedAt }},
		{"total_sent", func(m *messaging.TransactionalMessage) any { return &m.TotalSent }},
		{"total_delivered", func(m *messaging.TransactionalMessage) any { return &m.TotalDelivered }},
		{"total_failed", func(m *messaging.TransactionalMessage) any { return &m.TotalFailed }},
		{"total_complained", func(m *messaging.TransactionalMessage) any { return &m.TotalComplained }},
		{"total_bounced", func(m *messaging.TransactionalMessage) any { return &m.TotalBounced }},
	},
	id:    func(m *messaging.TransactionalMessage) string { return m.ID },
	extra: func(m *messaging.TransactionalMessage) map[string]json.RawMessage { return m.Extra },
	pages: func(ctx context.Context, client *messaging.Client, perPage int,
		cursor string) iter.Seq2[*messaging.Page[messaging.TransactionalMessage], error] {
		return client.Transactional.Pages(ctx, messaging.TransactionalListParams{PerPage: perPage, Cursor: cursor})
	},
}
