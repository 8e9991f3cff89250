// Package export writes every record of a list of the service to a file: CSV or JSON
// Lines.
package export

import (
	"context"
	"encoding/json"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/wire"
)

// perPage is the page size of an export.
const perPage = 100

// Records are the records of a list.
type Records[T any] struct {
	// Name is that of the list, such as "customers".
	Name    string
	Columns []Column[T]
	// ID appends what identifies a record that is listed twice because the pages shifted. A
	// record without it is never left out.
	ID func(buffer []byte, record *T) []byte
	// Extra are the members that the models have no field for.
	Extra func(*T) map[string]json.RawMessage
	Pages func(ctx context.Context, client *messaging.Client, cursor string) pages[T]
}

// pages are the pages of a list. An error is the last element.
type pages[T any] = iter.Seq2[*messaging.Page[T], error]

// Column is a column of the records, with the name that the service uses.
type Column[T any] struct {
	Name string
	// append appends the value of a record as CSV has it, without quotes.
	append func(buffer []byte, record *T) []byte
	// member writes the member that MarshalJSON writes. Without one, the column is of CSV alone.
	member func(w *wire.Writer, record *T)
}

func textColumn[T any](name string, get func(*T) string) Column[T] {
	return Column[T]{name, func(buffer []byte, record *T) []byte { return append(buffer, get(record)...) },
		func(w *wire.Writer, record *T) { w.TextMember(name, get(record)) }}
}

// timeColumn has a form for JSON. In CSV, all times have the same.
func timeColumn[T any](name, form string, get func(*T) time.Time) Column[T] {
	return Column[T]{name, func(buffer []byte, record *T) []byte { return wire.AppendTime(buffer, get(record), time.RFC3339) },
		func(w *wire.Writer, record *T) { w.TimeMember(name, get(record), form) }}
}

func countColumn[T any](name string, get func(*T) int) Column[T] {
	value := func(buffer []byte, record *T) []byte { return strconv.AppendInt(buffer, int64(get(record)), 10) }
	return Column[T]{name, value, func(w *wire.Writer, record *T) {
		w.Name(name)
		_, _ = w.Write(value(nil, record)) // it returns no error
	}}
}

// extra is the name of the column with the members that the models have no field for.
const extra = "extra"

func extraColumn[T any](get func(*T) map[string]json.RawMessage) Column[T] {
	return Column[T]{Name: extra, append: func(buffer []byte, record *T) []byte {
		if members := get(record); len(members) > 0 {
			return append(buffer, jsonText(members)...)
		}
		return buffer
	}}
}

// jsonText returns a value as JSON. The values here come from JSON.
func jsonText(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(text)
}

// Customers are the customers of the account.
var Customers = Records[messaging.Customer]{
	Name: "customers",
	Columns: []Column[messaging.Customer]{
		textColumn("customer_id", func(c *messaging.Customer) string { return c.CustomerID }),
		textColumn("email", func(c *messaging.Customer) string { return c.Email }),
		textColumn("first_name", func(c *messaging.Customer) string { return c.FirstName }),
		textColumn("last_name", func(c *messaging.Customer) string { return c.LastName }),
		textColumn("phone_no", func(c *messaging.Customer) string { return c.PhoneNo }),
		textColumn("providers", func(c *messaging.Customer) string { return strings.Join(c.Providers, ",") }),
		timeColumn("customer_created_at", time.RFC3339, func(c *messaging.Customer) time.Time { return c.CreatedAt }),
		timeColumn("updated_at", time.RFC3339, func(c *messaging.Customer) time.Time { return c.UpdatedAt }),
		timeColumn("last_interaction", time.RFC3339, func(c *messaging.Customer) time.Time { return c.LastInteraction }),
		extraColumn(func(c *messaging.Customer) map[string]json.RawMessage { return c.Extra }),
	},
	ID: func(buffer []byte, c *messaging.Customer) []byte {
		if c.CustomerID != "" {
			return append(append(buffer, "id:"...), c.CustomerID...)
		}
		return append(buffer, c.Email...)
	},
	Extra: func(c *messaging.Customer) map[string]json.RawMessage { return c.Extra },
	Pages: func(ctx context.Context, client *messaging.Client, cursor string) pages[messaging.Customer] {
		return client.Customers.Pages(ctx, messaging.CustomerListParams{PerPage: perPage, Cursor: cursor})
	},
}

// Events are the definitions of events.
var Events = Records[messaging.Event]{
	Name: "events",
	Columns: []Column[messaging.Event]{
		textColumn("id", func(e *messaging.Event) string { return e.ID }),
		textColumn("name", func(e *messaging.Event) string { return e.Name }),
		textColumn("description", func(e *messaging.Event) string { return e.Description }),
		{
			"parameters", func(buffer []byte, e *messaging.Event) []byte { return append(buffer, jsonText(e.Parameters)...) },
			func(w *wire.Writer, e *messaging.Event) {
				w.Name("parameters")
				w.Value(e.Parameters)
			},
		},
		timeColumn("created_at", wire.MicrosecondForm, func(e *messaging.Event) time.Time { return e.CreatedAt }),
		extraColumn(func(e *messaging.Event) map[string]json.RawMessage { return e.Extra }),
	},
	ID:    func(buffer []byte, e *messaging.Event) []byte { return append(buffer, e.ID...) },
	Extra: func(e *messaging.Event) map[string]json.RawMessage { return e.Extra },
	Pages: func(ctx context.Context, client *messaging.Client, cursor string) pages[messaging.Event] {
		return client.Events.Pages(ctx, messaging.EventListParams{PerPage: perPage, Cursor: cursor})
	},
}

// Messages are the transactional messages, with their delivery counts.
var Messages = Records[messaging.TransactionalMessage]{
	Name: "messages",
	Columns: []Column[messaging.TransactionalMessage]{
		textColumn("id", func(m *messaging.TransactionalMessage) string { return m.ID }),
		textColumn("channel", func(m *messaging.TransactionalMessage) string { return string(m.Channel) }),
		textColumn("subject", func(m *messaging.TransactionalMessage) string { return m.Subject }),
		textColumn("title", func(m *messaging.TransactionalMessage) string { return m.Title }),
		textColumn("message", func(m *messaging.TransactionalMessage) string { return m.Message }),
		{
			"message_type", func(buffer []byte, m *messaging.TransactionalMessage) []byte {
				if m.MessageType == nil {
					return buffer
				}
				return append(buffer, *m.MessageType...)
			},
			func(w *wire.Writer, m *messaging.TransactionalMessage) {
				w.Name("message_type")
				w.Value(m.MessageType)
			},
		},
		timeColumn("created_at", wire.LocalForm, func(m *messaging.TransactionalMessage) time.Time { return m.CreatedAt }),
		countColumn("total_sent", func(m *messaging.TransactionalMessage) int { return m.TotalSent }),
		countColumn("total_delivered", func(m *messaging.TransactionalMessage) int { return m.TotalDelivered }),
		countColumn("total_failed", func(m *messaging.TransactionalMessage) int { return m.TotalFailed }),
		countColumn("total_complained", func(m *messaging.TransactionalMessage) int { return m.TotalComplained }),
		countColumn("total_bounced", func(m *messaging.TransactionalMessage) int { return m.TotalBounced }),
		extraColumn(func(m *messaging.TransactionalMessage) map[string]json.RawMessage { return m.Extra }),
	},
	ID:    func(buffer []byte, m *messaging.TransactionalMessage) []byte { return append(buffer, m.ID...) },
	Extra: func(m *messaging.TransactionalMessage) map[string]json.RawMessage { return m.Extra },
	Pages: func(ctx context.Context, client *messaging.Client, cursor string) pages[messaging.TransactionalMessage] {
		return client.Transactional.Pages(ctx, messaging.TransactionalListParams{PerPage: perPage, Cursor: cursor})
	},
}
