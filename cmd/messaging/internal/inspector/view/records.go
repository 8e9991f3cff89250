package view

import (
	"cmp"
	"encoding/json"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/copies"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
	"github.com/messaging-go/messaging/cmd/messaging/internal/search"
	"github.com/messaging-go/messaging/internal/fake"
	"github.com/messaging-go/messaging/internal/service"
)

// link is a line of a list of records.
type link struct {
	Title, Sub, Side string
	Href             string
	Current          bool
}

// RecordDetail is what the page of a record shows.
type RecordDetail struct {
	records.Record
	Rows     []Row    // of a customer: the latest requests, with those that were not carried out
	Searches []string // for all of them
	Devices  []fake.Device
	More     int     // how many devices are not shown
	Trigger  Snippet // of an event
}

// customerRows is how many requests the page of a customer shows.
const customerRows = 20

// NewRecordDetail returns the detail of a record.
func NewRecordDetail(store *history.Store, record records.Record) *RecordDetail {
	d := &RecordDetail{Record: record}
	switch record := record.Value.(type) {
	case records.Customer:
		entries, _ := store.Find(history.Query{}.And(func(e *history.Entry) bool {
			return e.Mentions(record.Email, record.CustomerID)
		}), 0, customerRows)
		for _, e := range entries {
			d.Rows = append(d.Rows, NewRow(e))
		}
		for _, text := range []string{record.Email, record.CustomerID} {
			if text != "" {
				d.Searches = append(d.Searches, recipientSearch(text))
			}
		}
		d.Devices = firstRows(record.Devices)
		d.More = len(record.Devices) - len(d.Devices)
	case records.Event:
		d.Trigger = Snippet{"Trigger it from a shell", postCode(`"$MESSAGING_BASE_URL`+service.TriggerEvent.Path+`"`,
			`"X-Authorization: $MESSAGING_API_KEY"`, triggerBody(*record.Event))}
	}
	return d
}

// recipientSearch returns the search for the requests to a recipient.
func recipientSearch(to string) string { return search.Term{Text: "to:" + to}.String() }

func customerName(c history.Change) string { return cmp.Or(c.Email, c.CustomerID) }

// postCode returns a command that sends a body. The URL and the header field of the key are words of a shell.
func postCode(url, key, body string) string {
	return "curl " + url + " \\\n  -H " + key + " \\\n  -H 'Content-Type: application/json' --data " + copies.ShellQuote(body)
}

// triggerBody returns the body of a trigger with the parameters of an event.
func triggerBody(e fake.Event) string {
	payload := map[string]any{"email": "ada@example.com"}
	for _, p := range e.Parameters {
		payload[p.Name] = map[messaging.ParameterType]any{messaging.ParameterNumeric: 1,
			messaging.ParameterTimestamp: "2030-01-01T09:00:00Z"}[messaging.ParameterType(p.Type)]
		if payload[p.Name] == nil {
			payload[p.Name] = "text"
		}
	}
	body, _ := json.MarshalIndent(map[string]any{"event_id": e.ID, "payload": payload}, "", "  ") // texts and numbers
	return string(body)
}
