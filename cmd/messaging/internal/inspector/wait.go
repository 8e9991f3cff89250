package inspector

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
)

const defaultWait, maxWait = 10 * time.Second, 60 * time.Second

// waitAfter returns the number after which a wait begins: that of the parameter, or else
// that of the latest mark, reset or start.
func (in *Inspector) waitAfter(r *http.Request) (int, error) {
	switch r.URL.Query().Get("after") {
	case "":
		return in.box.History.State().Mark, nil
	case "start":
		return 0, nil
	}
	return integer(r, "after", 0, 0, 0)
}

// mark sets the number after which a wait begins to that of the latest request.
func (in *Inspector) mark(w http.ResponseWriter, _ *http.Request) {
	respond(w, map[string]int{"number": in.box.History.Mark()})
}

// wait responds with the first request that matches, as soon as there is one.
func (in *Inspector) wait(w http.ResponseWriter, r *http.Request) {
	query, err := history.Parse(r.URL.Query().Get("q"))
	after, afterErr := in.waitAfter(r)
	timeout, timeoutErr := defaultWait, error(nil)
	if text := r.URL.Query().Get("timeout"); text != "" {
		if timeout, timeoutErr = time.ParseDuration(text); timeoutErr != nil || timeout < 0 || timeout > maxWait {
			timeoutErr = fmt.Errorf("timeout: must be a duration such as 10s, at most %v", maxWait)
		}
	}
	if err := errors.Join(err, afterErr, timeoutErr); err != nil {
		respondError(w, http.StatusBadRequest, oneLine(err))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	defer context.AfterFunc(in.ending, cancel)()
	e, err := in.box.History.Wait(ctx, query.WithoutReplays(), after)
	if in.ending.Err() != nil {
		respondError(w, http.StatusServiceUnavailable, "the sandbox is shutting down")
		return
	}
	if err != nil {
		respondError(w, http.StatusRequestTimeout, "no request matched in time")
		return
	}
	respond(w, newRequestItem(e))
}
