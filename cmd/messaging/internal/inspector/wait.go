package inspector

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector/guard"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
)

const defaultWait, maxWait = 10 * time.Second, 60 * time.Second

// waitAfter returns the number after which a wait begins, and what that is: the number of the parameter, or else
// that of the latest mark, reset or start.
func (in *Inspector) waitAfter(r *http.Request) (after int, since string, err error) {
	switch r.URL.Query().Get("after") {
	case "":
		state := in.box.History.State()
		return state.Begin, describeMark(state.Mark, state.Cleared > 0), nil
	case "start", "0":
		return 0, "the start", nil
	}
	after, err = integer(r, "after", 0, 0, 0)
	return after, fmt.Sprintf("request %d", after), err
}

func describeMark(mark *history.Mark, cleared bool) string {
	switch {
	case mark != nil && mark.Name != "":
		return "mark " + visible.Quote(mark.Name)
	case mark != nil:
		return "the last mark"
	case cleared:
		return "the last reset"
	default:
		return "the start"
	}
}

// maxCount is how many requests a wait can be for.
const maxCount = 1000

// waitParams are the parameters of a wait.
type waitParams struct {
	query   history.Query
	after   int
	since   string // what after is
	timeout time.Duration
	counted bool // the response is a list
	count   int
}

func (in *Inspector) readWaitParams(r *http.Request) (p waitParams, err error) {
	var queryErr, afterErr, timeoutErr, countErr error
	values := r.URL.Query()
	p.query, queryErr = history.Parse(values.Get("q"))
	p.query = p.query.WithoutReplays()
	p.after, p.since, afterErr = in.waitAfter(r)
	p.timeout = defaultWait
	if text := values.Get("timeout"); text != "" {
		if p.timeout, err = time.ParseDuration(text); err != nil || p.timeout < 0 || p.timeout > maxWait {
			timeoutErr = fmt.Errorf("timeout: must be a duration such as 10s, at most %v", maxWait)
		}
	}
	p.counted = values.Get("count") != ""
	p.count, countErr = integer(r, "count", 1, 0, maxCount)
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
		guard.Refuse(w, http.StatusConflict, describeItem(last)+": it matched, and none was expected")
	case p.count == 0:
		respond(w, listBody[requestItem]{Items: found})
	case err != nil:
		refuse(w, in.missed(p, len(found)))
	case p.counted:
		respond(w, listBody[requestItem]{Items: found})
	default:
		respond(w, found[0])
	}
}
