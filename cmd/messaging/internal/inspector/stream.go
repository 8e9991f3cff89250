package inspector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector/guard"
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

// position is where a stream resumes: after a number, in an epoch of the history.
// Without an epoch, that is the current one.
type position struct {
	epoch string
	after int
}

// readPosition reads the position from the id of the last event, which a browser
// sends when it connects again, or else from the query.
func readPosition(r *http.Request) (p position, err error) {
	p.epoch = r.URL.Query().Get("epoch")
	if p.after, err = integer(r, "after", 0, 0, 0); err != nil {
		return p, err
	}
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		epoch, number, _ := strings.Cut(id, "-")
		p.epoch = epoch
		if p.after, err = strconv.Atoi(number); err != nil || p.after < 0 || epoch == "" {
			return p, errors.New("Last-Event-ID: must be the id of an event")
		}
	}
	return p, nil
}

// stream sends the requests after a number as they are recorded, as server-sent
// events. It sends "gap" where requests are missing because they are no longer kept or
// because the position belongs to another history, "reset" after the history was
// cleared, and "state" after any other change. A slow client delays no other: it reads
// from the history at its own speed.
func (in *Inspector) stream(w http.ResponseWriter, r *http.Request) {
	from, err := readPosition(r)
	if err != nil {
		guard.Refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(in.ending, cancel)()

	w.Header().Set("Content-Type", "text/event-stream")
	s := streamWriter{w, http.NewResponseController(w), in.box.History}
	s.send("", 0, nil) // the header
	seen := in.box.History.State()
	switch {
	case from.epoch != "" && from.epoch != in.box.History.Epoch(), from.after > seen.Last:
		s.send("gap", seen.Last, in.counts())
	default:
		seen.Last = from.after
	}
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
		case state.Last == seen.Last:
			s.send("state", state.Last, in.counts())
		default:
			state.Last = in.sendBatch(&s, seen.Last)
		}
		seen = state
		pause(ctx, streamInterval)
	}
}

// sendBatch sends the entries after a number, and returns the number of the last
// one.
func (in *Inspector) sendBatch(s *streamWriter, after int) (last int) {
	entries, complete := in.box.History.After(after)
	if len(entries) == 0 { // cleared
		last = in.box.History.State().Last
		s.send("gap", last, in.counts())
		return last
	}
	if !complete {
		s.send("gap", entries[0].Number-1, in.counts())
	}
	last = entries[len(entries)-1].Number
	message := streamMessage{Items: []requestItem{}, Left: max(0, len(entries)-streamItems), Last: last, Counts: in.counts()}
	for i := len(entries) - 1; i >= message.Left; i-- {
		message.Items = append(message.Items, newRequestItem(entries[i]))
	}
	s.send("requests", last, message)
	return last
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
	store   *history.Store
}

const streamWriteTimeout = 10 * time.Second

func (s *streamWriter) err() error { return s.control.Flush() }

// send writes an event. Its id is a position. Without a name it sends only the header.
func (s *streamWriter) send(event string, last int, data any) {
	_ = s.control.SetWriteDeadline(time.Now().Add(streamWriteTimeout)) // not supported by recorders in tests
	if event == "" {
		s.w.WriteHeader(http.StatusOK)
		return
	}
	encoded, err := json.Marshal(data)
	if err != nil {
		encoded = []byte("null") // every value of these types can be encoded
	}
	_, _ = fmt.Fprintf(s.w, "event: %s\nid: %s-%d\ndata: %s\n\n", event, s.store.Epoch(), last, encoded) // the next flush reports the error
}

func (s *streamWriter) comment(text string) {
	_ = s.control.SetWriteDeadline(time.Now().Add(streamWriteTimeout))
	_, _ = fmt.Fprintf(s.w, ": %s\n\n", text)
}
