package inspector

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector/guard"
	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector/view"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

const defaultWait, maxWait = 10 * time.Second, 60 * time.Second

// maxCount is how many requests a wait can be for.
const maxCount = 1000

// waitParams are the parameters of a wait.
type waitParams struct {
	query   history.Query
	after   int    // the number after which it begins: by default that of the latest mark, reset or start
	since   string // what after is
	timeout time.Duration
	counted bool // the response is a list
	count   int
}

func (in *Inspector) readWaitParams(r *http.Request) (p waitParams, err error) {
	values := r.URL.Query()
	query, queryErr := history.Parse(values.Get("q"))
	count, countErr := integer(r, "count", 1, 0, maxCount)
	p = waitParams{query: query.WithoutReplays(), count: count, counted: values.Get("count") != ""}
	var afterErr, timeoutErr error
	state := in.box.History.State()
	switch values.Get("after") {
	case "":
		p.after = state.Begin
	case "start":
	default:
		p.after, afterErr = integer(r, "after", 0, 0, 0)
	}
	switch {
	case p.after == 0:
		p.since = "the start"
	case state.Mark != nil && state.Mark.Name != "" && values.Get("after") == "":
		p.since = "mark " + visible.Quote(state.Mark.Name)
	default:
		p.since = fmt.Sprintf("request %d", p.after)
	}
	p.timeout, timeoutErr = time.ParseDuration(cmp.Or(values.Get("timeout"), defaultWait.String()))
	if timeoutErr != nil || p.timeout < 0 || p.timeout > maxWait {
		timeoutErr = fmt.Errorf("timeout: must be a duration such as 10s, at most %v", maxWait)
	}
	return p, invalid(queryErr, afterErr, timeoutErr, countErr)
}

// wait responds with the first request that matches, as soon as there is one. With a count,
// it responds with as many, oldest first. With a count of 0, it responds at the end of the
// time that none has matched.
func (in *Inspector) wait(w http.ResponseWriter, r *http.Request) {
	p, err := in.readWaitParams(r)
	if err != nil {
		refuse(w, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), p.timeout)
	defer cancel()
	defer context.AfterFunc(in.ending, cancel)()
	found := []requestItem{}
	var last *history.Entry
	err = in.box.History.Wait(ctx, p.query, p.after, func(e *history.Entry) bool {
		last = e
		found = append(found, newRequestItem(e))
		return len(found) < p.count
	})
	switch {
	case in.ending.Err() != nil:
		guard.Refuse(w, http.StatusServiceUnavailable, "the sandbox is shutting down")
	case p.count == 0 && err == nil:
		guard.Refuse(w, http.StatusConflict, view.Describe(last)+": it matched, and none was expected")
	case p.count > 0 && err != nil:
		guard.Refuse(w, http.StatusRequestTimeout, in.missed(p, len(found)))
	case p.counted:
		respond(w, listBody[requestItem]{Items: found})
	default:
		respond(w, found[0])
	}
}

// maxCompared is how many requests are compared with a search, the latest first.
const maxCompared = 1000

// missed says what came instead of what a wait was for: how many requests, and the one that lacks the fewest terms of those
// that did not match, the latest of several. Where the tests run, it is often all that a developer sees.
func (in *Inspector) missed(p waitParams, matched int) string {
	entries, complete := in.box.History.After(p.after)
	entries = slices.DeleteFunc(entries, func(e *history.Entry) bool { return !p.query.Searches(e) })
	var nearest *history.Entry
	var lacks []string
	for _, e := range slices.Backward(entries[max(0, len(entries)-maxCompared):]) {
		if differs := p.query.Differs(e); len(differs) > 0 && (nearest == nil || len(differs) < len(lacks)) {
			nearest, lacks = e, differs
		}
	}
	wanted := "no request"
	if p.counted {
		wanted = fmt.Sprintf("%d of %s", matched, words.Count(p.count, "request"))
	}
	text := fmt.Sprintf("%s matched in %v; %s came since %s", wanted, p.timeout, words.Thousands(len(entries)), p.since)
	if !complete {
		text += ", and older ones that are no longer kept (--keep)"
	}
	if nearest != nil {
		text += fmt.Sprintf("; nearest: %s, which does not match %s", view.Describe(nearest), words.List(lacks, "or"))
	}
	return text
}
