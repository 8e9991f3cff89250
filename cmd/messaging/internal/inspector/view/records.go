package view

import (
	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
	"github.com/messaging-go/messaging/cmd/messaging/internal/search"
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
	Devices  []messaging.Device
	More     int // how many devices are not shown
}

// customerRows is how many requests the page of a customer shows.
const customerRows = 20

// NewRecordDetail returns the detail of a record.
func NewRecordDetail(store *history.Store, record records.Record) *RecordDetail {
	d := &RecordDetail{Record: record}
	if customer, ok := record.Value.(records.Customer); ok {
		entries, _ := store.Find(history.Query{}.And(func(e *history.Entry) bool {
			return e.Mentions(customer.Email, customer.CustomerID)
		}), 0, customerRows)
		for _, e := range entries {
			d.Rows = append(d.Rows, NewRow(e))
		}
		for _, text := range []string{customer.Email, customer.CustomerID} {
			if text != "" {
				d.Searches = append(d.Searches, recipientSearch(text))
			}
		}
		d.Devices = customer.Devices[:min(len(customer.Devices), maxRows)]
		d.More = len(customer.Devices) - len(d.Devices)
	}
	return d
}

// recipientSearch returns the search for the requests to a recipient.
func recipientSearch(to string) string { return search.Term{Text: "to:" + to}.String() }
