package inspector

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector/guard"
	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
	"github.com/messaging-go/messaging/cmd/messaging/internal/search"
	"github.com/messaging-go/messaging/internal/service"
)

// respond writes a value as compact JSON.
func respond(w http.ResponseWriter, value any) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false) // for people who read the response in a terminal
	if err := encoder.Encode(value); err != nil {
		guard.Refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = body.WriteTo(w) // the client may have disconnected
}

const defaultLimit, maxLimit = 100, 200

// listParams are the parameters of a list.
type listParams struct{ before, limit int }

func readListParams(r *http.Request) (p listParams, err error) {
	var problems [2]error
	p.before, problems[0] = integer(r, "before", 0, 1, 0)
	p.limit, problems[1] = integer(r, "limit", defaultLimit, 1, maxLimit)
	return p, errors.Join(problems[:]...)
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

// oneLine returns the text of a joined error as one line.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// listBody is a list of the API. Next is the value of before for the next page, or
// null.
type listBody[T any] struct {
	Items []T  `json:"items"`
	Next  *int `json:"next"`
	// Dropped is how many older requests are no longer kept.
	Dropped int `json:"dropped,omitzero"`
}

// listEntries responds with the entries that match, as items.
func listEntries[T any](in *Inspector, only func(*history.Entry) bool, item func(*history.Entry) T) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		query, queryErr := history.Parse(r.URL.Query().Get("q"))
		p, err := readListParams(r)
		if err := errors.Join(queryErr, err); err != nil {
			guard.Refuse(w, http.StatusBadRequest, oneLine(err))
			return
		}
		entries, more := in.box.History.Find(query.And(only), p.before, p.limit)
		body := listBody[T]{Items: []T{}, Dropped: in.box.History.State().Dropped}
		for _, e := range entries {
			body.Items = append(body.Items, item(e))
		}
		if more {
			body.Next = &entries[len(entries)-1].Number
		}
		respond(w, body)
	}
}

const noItem = "there is no item with this number"

// getEntry responds with one entry as an item.
func getEntry[T any](in *Inspector, only func(*history.Entry) bool, item func(*history.Entry) T) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		e, ok := in.box.History.Get(number(r))
		if !ok || !only(e) {
			guard.Refuse(w, http.StatusNotFound, noItem)
			return
		}
		respond(w, item(e))
	}
}

func isAny(*history.Entry) bool { return true }

func isBroadcast(e *history.Entry) bool {
	return e.Kind == history.EmailBroadcast || e.Kind == history.PushBroadcast
}

func isTrigger(e *history.Entry) bool { return e.Kind == history.Trigger }

// sendsBroadcast and triggersEvent report what an operation is for.
func sendsBroadcast(op string) bool {
	return op == service.SendEmailBroadcast.Name || op == service.SendPushBroadcast.Name
}

func triggersEvent(op string) bool { return op == service.TriggerEvent.Name }

// requestsBroadcast and requestsTrigger report what a request is for, also if it was refused.
func requestsBroadcast(e *history.Entry) bool { return sendsBroadcast(e.Op) }

func requestsTrigger(e *history.Entry) bool { return triggersEvent(e.Op) }

// listRecords responds with the records of a kind that match. They are found by words:
// the terms of a query are for entries.
func (in *Inspector) listRecords(kind *records.Kind) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p, err := readListParams(r)
		if err != nil {
			guard.Refuse(w, http.StatusBadRequest, oneLine(err))
			return
		}
		found, more := in.box.Records.All(kind).Search(search.Terms(r.URL.Query().Get("q")), p.before, p.limit)
		body := listBody[records.Record]{Items: append([]records.Record{}, found...)}
		if more {
			body.Next = &found[len(found)-1].Number
		}
		respond(w, body)
	}
}

// getRecord responds with one record of a kind.
func (in *Inspector) getRecord(kind *records.Kind) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		record, ok := in.box.Records.All(kind).WithNumber(number(r))
		if !ok {
			guard.Refuse(w, http.StatusNotFound, noItem)
			return
		}
		respond(w, record)
	}
}
