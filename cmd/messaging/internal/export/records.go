// Package export writes every record of a list of the service to a file: CSV, JSON Lines
// or Parquet.
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
	// ID identifies a record that is listed twice because the pages shifted. A record
	// whose ID is "" is never left out.
	ID func(*T) string
	// Members writes the members that MarshalJSON writes for a record whose Extra is empty.
	Members func(*wire.Writer, *T)
	Extra   func(*T) messaging.Extra
	Pages   func(ctx context.Context, client *messaging.Client, cursor string) pages[T]
}

// pages are the pages of a list. An error is the last element.
type pages[T any] = iter.Seq2[*messaging.Page[T], error]

// Kind is the type of the values of a column.
type Kind uint8

// The kinds.
const (
	Text Kind = iota
	Integer
	Time
)

// Column is a column of the records, with the name that the service uses.
type Column[T any] struct {
	Name  string
	Kind  Kind
	Value func(*T) Value
}

// Value is a value of a column. The field for the kind of the column is set. An empty text
// and the zero time are null.
type Value struct {
	Text    string
	Integer int64
	Time    time.Time
}

func (v Value) isNull(kind Kind) bool {
	return kind == Text && v.Text == "" || kind == Time && v.Time.IsZero()
}

// text returns the value as CSV has it.
func (v Value) text(kind Kind) string {
	switch {
	case v.isNull(kind):
		return ""
	case kind == Integer:
		return strconv.FormatInt(v.Integer, 10)
	case kind == Time:
		return v.Time.UTC().Format(time.RFC3339Nano)
	default:
		return v.Text
	}
}

func textColumn[T any](name string, get func(*T) string) Column[T] {
	return Column[T]{name, Text, func(record *T) Value { return Value{Text: get(record)} }}
}

func timeColumn[T any](name string, get func(*T) time.Time) Column[T] {
	return Column[T]{name, Time, func(record *T) Value { return Value{Time: get(record)} }}
}

func countColumn[T any](name string, get func(*T) int) Column[T] {
	return Column[T]{name, Integer, func(record *T) Value { return Value{Integer: int64(get(record))} }}
}

// extra is the name of the column with the members that the models have no field for.
const extra = "extra"

func extraColumn[T any](get func(*T) messaging.Extra) Column[T] {
	return textColumn(extra, func(record *T) string {
		if members := get(record); len(members) > 0 {
			return jsonText(members)
		}
		return ""
	})
}

// timeMember writes a member that is a time, unless there is none.
func timeMember(w *wire.Writer, name string, t time.Time, form string) {
	if text := wire.FormatTime(t, form); text != "" {
		w.TextMember(name, text)
	}
}

func countMember(w *wire.Writer, name string, n int) {
	w.Name(name)
	_, _ = w.Write(strconv.AppendInt(nil, int64(n), 10)) // it returns no error
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
		timeColumn("customer_created_at", func(c *messaging.Customer) time.Time { return c.CreatedAt }),
		timeColumn("updated_at", func(c *messaging.Customer) time.Time { return c.UpdatedAt }),
		timeColumn("last_interaction", func(c *messaging.Customer) time.Time { return c.LastInteraction }),
		extraColumn(func(c *messaging.Customer) messaging.Extra { return c.Extra }),
	},
	ID: func(c *messaging.Customer) string {
		if c.CustomerID != "" {
			return "id:" + c.CustomerID
		}
		return c.Email
	},
	Members: func(w *wire.Writer, c *messaging.Customer) {
		w.TextMember("customer_id", c.CustomerID)
		w.TextMember("first_name", c.FirstName)
		w.TextMember("last_name", c.LastName)
		w.TextMember("email", c.Email)
		w.TextMember("phone_no", c.PhoneNo)
		timeMember(w, "customer_created_at", c.CreatedAt, time.RFC3339)
		timeMember(w, "updated_at", c.UpdatedAt, time.RFC3339)
		w.TextMember("providers", strings.Join(c.Providers, ","))
		timeMember(w, "last_interaction", c.LastInteraction, time.RFC3339)
	},
	Extra: func(c *messaging.Customer) messaging.Extra { return c.Extra },
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
		textColumn("parameters", func(e *messaging.Event) string { return jsonText(e.Parameters) }),
		timeColumn("created_at", func(e *messaging.Event) time.Time { return e.CreatedAt }),
		extraColumn(func(e *messaging.Event) messaging.Extra { return e.Extra }),
	},
	ID: func(e *messaging.Event) string { return e.ID },
	Members: func(w *wire.Writer, e *messaging.Event) {
		w.TextMember("id", e.ID)
		w.TextMember("name", e.Name)
		w.TextMember("description", e.Description)
		w.Name("parameters")
		w.Value(e.Parameters)
		timeMember(w, "created_at", e.CreatedAt, wire.MicrosecondForm)
	},
	Extra: func(e *messaging.Event) messaging.Extra { return e.Extra },
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
		textColumn("message_type", func(m *messaging.TransactionalMessage) string {
			if m.MessageType == nil {
				return ""
			}
			return *m.MessageType
		}),
		timeColumn("created_at", func(m *messaging.TransactionalMessage) time.Time { return m.CreatedAt }),
		countColumn("total_sent", func(m *messaging.TransactionalMessage) int { return m.TotalSent }),
		countColumn("total_delivered", func(m *messaging.TransactionalMessage) int { return m.TotalDelivered }),
		countColumn("total_failed", func(m *messaging.TransactionalMessage) int { return m.TotalFailed }),
		countColumn("total_complained", func(m *messaging.TransactionalMessage) int { return m.TotalComplained }),
		countColumn("total_bounced", func(m *messaging.TransactionalMessage) int { return m.TotalBounced }),
		extraColumn(func(m *messaging.TransactionalMessage) messaging.Extra { return m.Extra }),
	},
	ID: func(m *messaging.TransactionalMessage) string { return m.ID },
	Members: func(w *wire.Writer, m *messaging.TransactionalMessage) {
		w.TextMember("id", m.ID)
		w.TextMember("channel", string(m.Channel))
		w.TextMember("subject", m.Subject)
		w.TextMember("title", m.Title)
		w.TextMember("message", m.Message)
		w.Name("message_type")
		w.Value(m.MessageType)
		timeMember(w, "created_at", m.CreatedAt, wire.LocalForm)
		countMember(w, "total_sent", m.TotalSent)
		countMember(w, "total_delivered", m.TotalDelivered)
		countMember(w, "total_failed", m.TotalFailed)
		countMember(w, "total_complained", m.TotalComplained)
		countMember(w, "total_bounced", m.TotalBounced)
	},
	Extra: func(m *messaging.TransactionalMessage) messaging.Extra { return m.Extra },
	Pages: func(ctx context.Context, client *messaging.Client, cursor string) pages[messaging.TransactionalMessage] {
		return client.Transactional.Pages(ctx, messaging.TransactionalListParams{PerPage: perPage, Cursor: cursor})
	},
}
