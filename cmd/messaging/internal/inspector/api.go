package inspector

import (
	"net"
	"net/http"
	"os"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
	"github.com/messaging-go/messaging/cmd/messaging/internal/search"
)

type healthBody struct {
	OK bool `json:"ok"`
}

// health responds to whoever waits for the sandbox to start. It shows nothing.
func (in *Inspector) health(*http.Request) (any, error) { return healthBody{true}, nil }

// accessBody is what a program needs to use the service, and what tells this sandbox from
// another. It has ports in place of addresses: a program reaches the service by the name
// by which it has reached the inspector.
type accessBody struct {
	APIKey      string `json:"api_key"`
	Port        string `json:"port"`
	StartID     string `json:"start_id"`
	PID         int    `json:"pid"`
	Started     string `json:"started"`
	Uptime      int64  `json:"uptime_ms"`
	Seed        string `json:"seed"`
	LastRequest int    `json:"last_request"` // its number
}

func (in *Inspector) access(*http.Request) (any, error) {
	_, port, _ := net.SplitHostPort(in.box.Addr())
	return accessBody{APIKey: in.box.APIKey(), Port: port, StartID: in.box.Config.StartID, Seed: in.box.Config.SeedName, PID: os.Getpid(),
		Started: in.box.Started.UTC().Format(time.RFC3339), Uptime: time.Since(in.box.Started).Milliseconds(),
		LastRequest: in.box.History.State().Last}, nil
}

const defaultLimit, maxLimit = 100, 200

// listParams reads the parameters of a page of a list.
func listParams(r *http.Request) (before, limit int, err error) {
	before, beforeErr := integer(r, "before", 0, 1, 0)
	limit, limitErr := integer(r, "limit", defaultLimit, 1, maxLimit)
	return before, limit, invalid(beforeErr, limitErr)
}

// listBody is a list of the API. Next is the value of before for the next page, or
// null.
type listBody[T any] struct {
	Items []T  `json:"items"`
	Next  *int `json:"next"`
	// Dropped is how many older requests are no longer kept.
	Dropped int `json:"dropped,omitzero"`
}

// listEntries responds with the entries that match, as items.
func listEntries[T any](in *Inspector, only func(*history.Entry) bool, item func(*history.Entry) T) answer {
	return func(r *http.Request) (any, error) {
		query, queryErr := history.Parse(r.URL.Query().Get("q"))
		before, limit, err := listParams(r)
		if err := invalid(queryErr, err); err != nil {
			return nil, err
		}
		entries, more := in.box.History.Find(query.And(only), before, limit)
		body := listBody[T]{Items: []T{}, Dropped: in.box.History.State().Dropped}
		for _, e := range entries {
			body.Items = append(body.Items, item(e))
		}
		if more {
			body.Next = &entries[len(entries)-1].Number
		}
		return body, nil
	}
}

// getEntry responds with one entry as an item.
func getEntry[T any](in *Inspector, only func(*history.Entry) bool, item func(*history.Entry) T) answer {
	return func(r *http.Request) (any, error) {
		e, ok := in.box.History.Get(numberOf(r.PathValue("n")))
		if !ok || !only(e) {
			return nil, errNoItem
		}
		return item(e), nil
	}
}

func isAny(*history.Entry) bool { return true }

func isBroadcast(e *history.Entry) bool {
	return e.Kind == history.EmailBroadcast || e.Kind == history.PushBroadcast
}

func isTrigger(e *history.Entry) bool { return e.Kind == history.Trigger }

// listRecords responds with the records of a kind that match. They are found by words:
// the terms of a query are for entries.
func (in *Inspector) listRecords(kind *records.Kind) answer {
	return func(r *http.Request) (any, error) {
		before, limit, err := listParams(r)
		if err != nil {
			return nil, err
		}
		found, more := in.box.Records.All(kind).Search(search.Terms(r.URL.Query().Get("q")), before, limit)
		body := listBody[records.Record]{Items: append([]records.Record{}, found...)}
		if more {
			body.Next = &found[len(found)-1].Number
		}
		return body, nil
	}
}

// getRecord responds with one record of a kind.
func (in *Inspector) getRecord(kind *records.Kind) answer {
	return func(r *http.Request) (any, error) {
		record, ok := in.box.Records.All(kind).WithNumber(numberOf(r.PathValue("n")))
		if !ok {
			return nil, errNoItem
		}
		return record, nil
	}
}
