package inspector

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
	"github.com/messaging-go/messaging/messagingtest"
)

// link is a line of a list of customers, events or messages.
type link struct {
	Href, Title, Sub, Side string
	Current                bool
}

// recordPage shows a list of records, and one of them.
func recordPage[T any](in *Inspector, w http.ResponseWriter, r *http.Request, section, title string, records []sandbox.Numbered[T],
	match func(query string) func(T) bool, line func(T) link, detail func(sandbox.Numbered[T]) any) {
	p := in.newPage(section, title, r)
	p.Reload = true
	before, err := integer(r, "before", 0, 1, 0)
	if err != nil {
		p.Problem, p.Status = err.Error(), http.StatusBadRequest
	}
	selected := number(r)
	if r.PathValue("n") != "" {
		record, ok := findRecord(records, selected)
		if !ok {
			in.notFound(w, r)
			return
		}
		p.Detail = detail(record)
		p.Title = line(record.Record).Title
	}
	found, more := findRecords(records, listParams{before: before, limit: pageSize}, match(p.Query))
	for _, record := range found {
		l := line(record.Record)
		l.Href = fmt.Sprintf("/%s/%d%s", section, record.Number, queryString("q", p.Query, "before", positive(before)))
		l.Current = record.Number == selected
		p.Links = append(p.Links, l)
	}
	if before > 0 {
		p.Newer = "/" + section + queryString("q", p.Query)
	}
	if more {
		p.Older = "/" + section + queryString("q", p.Query, "before", strconv.Itoa(found[len(found)-1].Number))
	}
	p.write(w, section+".html")
}

type customerDetail struct {
	Number int
	messagingtest.Customer
	Name     string
	Requests []row
	More     bool
}

func customerName(c messagingtest.Customer) string {
	name := c.FirstName + " " + c.LastName
	switch {
	case len(name) > 1:
		return name
	case c.Email != "":
		return c.Email
	default:
		return c.CustomerID
	}
}

func (in *Inspector) customersPage(w http.ResponseWriter, r *http.Request) {
	recordPage(in, w, r, "customers", "Customers", in.box.Customers(), matchCustomer, func(c messagingtest.Customer) link {
		return link{Title: customerName(c), Sub: firstOf(c.Email, c.CustomerID, c.PhoneNo), Side: formatTime(c.LastInteraction)}
	}, func(c sandbox.Numbered[messagingtest.Customer]) any {
		d := customerDetail{Number: c.Number, Customer: c.Record, Name: customerName(c.Record)}
		query, _ := history.Parse(fmt.Sprintf("customer:%d", c.Number)) // a number is valid
		entries, more := in.box.History.Find(query, 0, 20)
		for _, e := range entries {
			row := newRow(e)
			row.Href = fmt.Sprintf("/requests/%d", e.Number)
			d.Requests = append(d.Requests, row)
		}
		d.More = more
		return d
	})
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

type eventDetail struct {
	Number int
	messaging.Event
	Create, Trigger string
}

func (in *Inspector) eventsPage(w http.ResponseWriter, r *http.Request) {
	recordPage(in, w, r, "events", "Events", in.box.Events(), matchEvent, func(e messaging.Event) link {
		return link{Title: e.Name, Sub: e.Description, Side: plural(len(e.Parameters), "parameter")}
	}, func(e sandbox.Numbered[messaging.Event]) any {
		create, trigger := eventCode(e.Record)
		return eventDetail{e.Number, e.Record, create, trigger}
	})
}

func (in *Inspector) messagesPage(w http.ResponseWriter, r *http.Request) {
	recordPage(in, w, r, "messages", "Messages", in.box.Messages(), matchMessage, func(m messaging.TransactionalMessage) link {
		return link{Title: firstOf(m.Subject, m.Title, "(no subject)"), Sub: string(m.Channel),
			Side: thousands(m.TotalSent) + " sent"}
	}, func(m sandbox.Numbered[messaging.TransactionalMessage]) any { return m.Record })
}

func formatTime(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}
