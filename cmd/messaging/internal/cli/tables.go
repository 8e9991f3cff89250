package cli

import (
	"strconv"
	"strings"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
)

// sampleTime is a time in samples: a row without a time has no field for it.
var sampleTime = time.Unix(0, 0)

var customerTable = output.Table[messaging.Customer]{
	Columns: []output.Column[messaging.Customer]{
		{Name: "customer_id", Text: func(c messaging.Customer) string { return c.CustomerID }},
		{Name: "email", Text: func(c messaging.Customer) string { return c.Email }},
		{Name: "first_name", Text: func(c messaging.Customer) string { return c.FirstName }},
		{Name: "last_name", Text: func(c messaging.Customer) string { return c.LastName }},
		{Name: "phone_no", Text: func(c messaging.Customer) string { return c.PhoneNo }},
		{Name: "providers", Text: func(c messaging.Customer) string { return strings.Join(c.Providers, ",") }},
		{Name: "created", Time: func(c messaging.Customer) time.Time { return c.CreatedAt }},
		{Name: "last_interaction", Time: func(c messaging.Customer) time.Time { return c.LastInteraction }},
	},
	Fields: output.FieldsOf(messaging.Customer{CreatedAt: sampleTime, UpdatedAt: sampleTime, LastInteraction: sampleTime}),
}

var eventTable = output.Table[messaging.Event]{
	Columns: []output.Column[messaging.Event]{
		{Name: "id", Text: func(e messaging.Event) string { return e.ID }},
		{Name: "name", Text: func(e messaging.Event) string { return e.Name }},
		{Name: "parameters", Text: parametersOf},
		{Name: "description", Text: func(e messaging.Event) string { return e.Description }},
		{Name: "created", Time: func(e messaging.Event) time.Time { return e.CreatedAt }},
	},
	Fields: output.FieldsOf(messaging.Event{CreatedAt: sampleTime}),
}

// parametersOf writes the parameters such as "order:text,parcels:numeric?", with a question
// mark for one that is optional.
func parametersOf(e messaging.Event) string {
	list := make([]string, len(e.Parameters))
	for i, p := range e.Parameters {
		list[i] = p.Name + ":" + string(p.Type)
		if !p.Required {
			list[i] += "?"
		}
	}
	return strings.Join(list, ",")
}

var messageTable = output.Table[messaging.TransactionalMessage]{
	Columns: []output.Column[messaging.TransactionalMessage]{
		{Name: "id", Text: func(m messaging.TransactionalMessage) string { return m.ID }},
		{Name: "channel", Text: func(m messaging.TransactionalMessage) string { return string(m.Channel) }},
		{Name: "title", Text: func(m messaging.TransactionalMessage) string { return m.Title }},
		{Name: "subject", Text: func(m messaging.TransactionalMessage) string { return m.Subject }},
		{Name: "sent", Text: func(m messaging.TransactionalMessage) string { return strconv.Itoa(m.TotalSent) }},
		{Name: "delivered", Text: func(m messaging.TransactionalMessage) string { return strconv.Itoa(m.TotalDelivered) }},
		{Name: "failed", Text: func(m messaging.TransactionalMessage) string { return strconv.Itoa(m.TotalFailed) }},
		{Name: "complained", Text: func(m messaging.TransactionalMessage) string { return strconv.Itoa(m.TotalComplained) }},
		{Name: "bounced", Text: func(m messaging.TransactionalMessage) string { return strconv.Itoa(m.TotalBounced) }},
		{Name: "created", Time: func(m messaging.TransactionalMessage) time.Time { return m.CreatedAt }},
	},
	Fields: output.FieldsOf(messaging.TransactionalMessage{CreatedAt: sampleTime}),
}
