package inspector

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
)

const (
	streamInterval  = 100 * time.Millisecond // between messages
	streamHeartbeat = 15 * time.Second
	streamItems     = 100 // in a message
)

// streamMessage is a batch of new requests, newest first. Left is the number of
// new requests that are not among the items, because there are too many.
type streamMessage struct {
	Items  []requestItem `json:"items"`
	Left   int           `json:"left"`
	Last   int           `json:"last"`
	Counts counts        `json:"counts"`
}

// counts are the numbers beside the names of the sections.
type counts struct {
	Requests   int `json:"requests"`
	Broadcasts int `json:"broadcasts"`
	Triggers   int `json:"triggers"`
	Customers  int `json:"customers"`
	Events     int `json:"events"`
	Messages   int `json:"messages"`
	Faults     int `json:"faults"`
}

func (in *Inspector) counts() counts {
	state := in.box.History.State()
	customers, events, messages := in.box.Count()
	return counts{state.Requests, state.Broadcasts, state.Triggers, customers, events, messages, len(in.box.Rules())}
}

// stream sends the requests after a number as they are recorded, as server-sent
// events. It sends "gap" where requests are missing because they are no longer
// kept, and "reset" when the history was cleared. A slow client delays nobody:
// it reads from the history at its own speed.
func (in *Inspector) stream(w http.ResponseWriter, r *http.Request) {
	after, err := integer(r, "after", 0, 0, 0)
	if id := r.Header.Get("Last-Event-ID"); id != "" && err == nil {
		after, err = strconv.Atoi(id)
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, "after: must be the number of a request")
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(in.ending, cancel)()

	w.Header().Set("Content-Type", "text/event-stream")
	s := streamWriter{w, http.NewResponseController(w)}
	s.send("", 0, nil) // the header
	seen := history.State{Last: after, Cleared: in.box.History.State().Cleared}
	for s.err() == nil {
		state, err := waitFor(ctx, in.box.History, seen)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			s.comment("heartbeat")
			continue
		case state.Cleared != seen.Cleared:
			s.send("reset", state.Last, in.counts())
		case state.Last < seen.Last: // a number of an earlier sandbox
			s.send("gap", state.Last, in.counts())
		default:
			state = in.sendBatch(&s, seen)
		}
		seen = state
		pause(ctx, streamInterval)
	}
}

// sendBatch sends the entries after seen.
func (in *Inspector) sendBatch(s *streamWriter, seen history.State) history.State {
	entries, complete := in.box.History.After(seen.Last)
	if !complete {
		s.send("gap", seen.Last, in.counts())
	}
	if len(entries) == 0 { // cleared in the meantime
		return seen
	}
	last := entries[len(entries)-1].Number
	message := streamMessage{Items: []requestItem{}, Left: max(0, len(entries)-streamItems), Last: last, Counts: in.counts()}
	for i := len(entries) - 1; i >= message.Left; i-- {
		message.Items = append(message.Items, newRequestItem(entries[i]))
	}
	s.send("requests", last, message)
	return history.State{Last: last, Cleared: seen.Cleared}
}

// waitFor waits for a change, for at most the time between heartbeats.
func waitFor(ctx context.Context, store *history.Store, seen history.State) (history.State, error) {
	ctx, cancel := context.WithTimeout(ctx, streamHeartbeat)
	defer cancel()
	return store.Changed(ctx, seen)
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// streamWriter writes server-sent events, each within a time limit.
type streamWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

const streamWriteTimeout = 10 * time.Second

func (s *streamWriter) err() error { return s.control.Flush() }

// send writes an event. Without a name it sends nothing but the header.
func (s *streamWriter) send(event string, id int, data any) {
	_ = s.control.SetWriteDeadline(time.Now().Add(streamWriteTimeout)) // not supported by recorders in tests
	if event == "" {
		s.w.WriteHeader(http.StatusOK)
		return
	}
	encoded, err := json.Marshal(data)
	if err != nil {
		encoded = []byte("null") // the types have no value that can't be encoded
	}
	_, _ = fmt.Fprintf(s.w, "event: %s\nid: %d\ndata: %s\n\n", event, id, encoded) // the next flush reports the error
}

func (s *streamWriter) comment(text string) {
	_ = s.control.SetWriteDeadline(time.Now().Add(streamWriteTimeout))
	_, _ = fmt.Fprintf(s.w, ": %s\n\n", text)
}
