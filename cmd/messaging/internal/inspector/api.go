package inspector

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
	"github.com/messaging-go/messaging/messagingtest"
)

// respond writes a value as compact JSON.
func respond(w http.ResponseWriter, value any) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false) // for people who read the response in a terminal
	if err := encoder.Encode(value); err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = body.WriteTo(w) // the client may have disconnected
}

func (in *Inspector) health(w http.ResponseWriter, _ *http.Request) {
	respond(w, map[string]string{"base_url": in.box.URL(), "api_key": in.box.APIKey(), "sandbox_url": in.url})
}

const defaultLimit, maxLimit = 100, 200

// listParams are the parameters of a list.
type listParams struct {
	query         history.Query
	text          string
	before, limit int
}

// readListParams reads the parameters of a list, or refuses the request. The terms
// of a query are for entries alone; other records are found by words.
func readListParams(w http.ResponseWriter, r *http.Request, ofEntries bool) (p listParams, ok bool) {
	p.text = r.URL.Query().Get("q")
	var problems [3]error
	if ofEntries {
		p.query, problems[0] = history.Parse(p.text)
	}
	p.before, problems[1] = integer(r, "before", 0, 1, 0)
	p.limit, problems[2] = integer(r, "limit", defaultLimit, 1, maxLimit)
	if err := errors.Join(problems[:]...); err != nil {
		refuse(w, http.StatusBadRequest, strings.ReplaceAll(err.Error(), "\n", "; "))
		return p, false
	}
	return p, true
}

// integer reads a parameter. A largest of 0 means no limit.
func integer(r *http.Request, name string, missing, least, largest int) (int, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return missing, nil
	}
	n, err := strconv.Atoi(text)
	switch {
	case err != nil || n < least:
		return 0, fmt.Errorf("%s: must be a number from %d", name, least)
	case largest > 0 && n > largest:
		return 0, fmt.Errorf("%s: must be at most %d", name, largest)
	}
	return n, nil
}

// listBody is a list of the API. Next is the value of before for the next page,
// or null.
type listBody[T any] struct {
	Items []T  `json:"items"`
	Next  *int `json:"next"`
}

// listEntries responds with the entries that match, as items.
func listEntries[T any](in *Inspector, w http.ResponseWriter, r *http.Request, only func(*history.Entry) bool,
	item func(*history.Entry) T) {
	p, ok := readListParams(w, r, true)
	if !ok {
		return
	}
	entries, more := in.box.History.Find(p.query.And(only), p.before, p.limit)
	body := listBody[T]{Items: []T{}}
	for _, e := range entries {
		body.Items = append(body.Items, item(e))
	}
	if more {
		body.Next = &entries[len(entries)-1].Number
	}
	respond(w, body)
}

func getEntry[T any](in *Inspector, w http.ResponseWriter, r *http.Request, only func(*history.Entry) bool, item func(*history.Entry) T) {
	e, ok := in.box.History.Get(number(r))
	if !ok || !only(e) {
		refuse(w, http.StatusNotFound, "there is none with this number")
		return
	}
	respond(w, item(e))
}

func isAny(*history.Entry) bool { return true }

func isBroadcast(e *history.Entry) bool {
	return e.Kind() == history.EmailBroadcast || e.Kind() == history.PushBroadcast
}

func isTrigger(e *history.Entry) bool { return e.Kind() == history.Trigger }

func (in *Inspector) listRequests(w http.ResponseWriter, r *http.Request) {
	listEntries(in, w, r, isAny, newRequestItem)
}

func (in *Inspector) getRequest(w http.ResponseWriter, r *http.Request) {
	getEntry(in, w, r, isAny, newRequestDetail)
}

func (in *Inspector) listBroadcasts(w http.ResponseWriter, r *http.Request) {
	listEntries(in, w, r, isBroadcast, newBroadcastItem)
}

func (in *Inspector) getBroadcast(w http.ResponseWriter, r *http.Request) {
	getEntry(in, w, r, isBroadcast, newBroadcastItem)
}

func (in *Inspector) listTriggers(w http.ResponseWriter, r *http.Request) {
	listEntries(in, w, r, isTrigger, newTriggerItem)
}

func (in *Inspector) getTrigger(w http.ResponseWriter, r *http.Request) {
	getEntry(in, w, r, isTrigger, newTriggerItem)
}

// findRecords returns the records before a number that match, at most limit of
// them, and whether there are more. The records are newest first.
func findRecords[T any](records []sandbox.Numbered[T], p listParams, match func(T) bool) (found []sandbox.Numbered[T], more bool) {
	for _, record := range records {
		if p.before > 0 && record.Number >= p.before || !match(record.Record) {
			continue
		}
		if len(found) == p.limit {
			return found, true
		}
		found = append(found, record)
	}
	return found, false
}

// contains returns a function that reports whether one of the texts contains
// each word of a query.
func contains(query string) func(texts ...string) bool {
	words := history.Split(strings.ToLower(query))
	return func(texts ...string) bool {
		all := strings.ToLower(strings.Join(texts, "\n"))
		for _, word := range words {
			if !strings.Contains(all, word) {
				return false
			}
		}
		return true
	}
}

func matchCustomer(query string) func(messagingtest.Customer) bool {
	match := contains(query)
	return func(c messagingtest.Customer) bool {
		return match(c.CustomerID, c.Email, c.FirstName+" "+c.LastName, c.PhoneNo)
	}
}

func matchEvent(query string) func(messaging.Event) bool {
	match := contains(query)
	return func(e messaging.Event) bool { return match(e.ID, e.Name, e.Description) }
}

func matchMessage(query string) func(messaging.TransactionalMessage) bool {
	match := contains(query)
	return func(m messaging.TransactionalMessage) bool {
		return match(m.ID, string(m.Channel), m.Subject, m.Title, m.Message)
	}
}

func listRecords[T, I any](w http.ResponseWriter, r *http.Request, records []sandbox.Numbered[T],
	match func(query string) func(T) bool, item func(sandbox.Numbered[T]) I) {
	p, ok := readListParams(w, r, false)
	if !ok {
		return
	}
	found, more := findRecords(records, p, match(p.text))
	body := listBody[I]{Items: []I{}}
	for _, record := range found {
		body.Items = append(body.Items, item(record))
	}
	if more {
		body.Next = &found[len(found)-1].Number
	}
	respond(w, body)
}

func getRecord[T, I any](w http.ResponseWriter, r *http.Request, records []sandbox.Numbered[T], item func(sandbox.Numbered[T]) I) {
	record, ok := findRecord(records, number(r))
	if !ok {
		refuse(w, http.StatusNotFound, "there is none with this number")
		return
	}
	respond(w, item(record))
}

func findRecord[T any](records []sandbox.Numbered[T], number int) (sandbox.Numbered[T], bool) {
	for _, record := range records {
		if record.Number == number {
			return record, true
		}
	}
	return sandbox.Numbered[T]{}, false
}

func newCustomerItem(c sandbox.Numbered[messagingtest.Customer]) customerItem {
	return customerItem{Number: c.Number, record: c.Record}
}

func newEventItem(e sandbox.Numbered[messaging.Event]) recordItem {
	return recordItem{e.Number, e.Record}
}

func newMessageItem(m sandbox.Numbered[messaging.TransactionalMessage]) recordItem {
	return recordItem{m.Number, m.Record}
}

func (in *Inspector) listCustomers(w http.ResponseWriter, r *http.Request) {
	listRecords(w, r, in.box.Customers(), matchCustomer, newCustomerItem)
}

func (in *Inspector) getCustomer(w http.ResponseWriter, r *http.Request) {
	getRecord(w, r, in.box.Customers(), newCustomerItem)
}

func (in *Inspector) listEvents(w http.ResponseWriter, r *http.Request) {
	listRecords(w, r, in.box.Events(), matchEvent, newEventItem)
}

func (in *Inspector) getEvent(w http.ResponseWriter, r *http.Request) {
	getRecord(w, r, in.box.Events(), newEventItem)
}

func (in *Inspector) listMessages(w http.ResponseWriter, r *http.Request) {
	listRecords(w, r, in.box.Messages(), matchMessage, newMessageItem)
}

func (in *Inspector) getMessage(w http.ResponseWriter, r *http.Request) {
	getRecord(w, r, in.box.Messages(), newMessageItem)
}
