package inspector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector/view"
)

const (
	streamInterval  = 100 * time.Millisecond // between messages
	streamHeartbeat = 15 * time.Second
	streamItems     = 100 // in a message
)

// streamMessage is a batch of new requests, newest first. Left is the number of
// new requests that are not among the items, because there are too many.
type streamMessage struct {
	Items  []requestItem  `json:"items"`
	Left   int            `json:"left"`
	Last   int            `json:"last"`
	Counts map[string]any `json:"counts"`
}

// counts are the numbers beside the names of the sections, and the end of the outage or null.
func (in *Inspector) counts() map[string]any {
	counts := map[string]any{"outage_until": in.outageUntil()}
	for _, section := range view.Sections(in.box) {
		counts[section.Name] = section.Count
	}
	return counts
}

// readPosition reads where a stream resumes: after a number, in an epoch of the history.
// Without an epoch, that is the current one. The id of the last event, which a browser sends
// when it connects again, has both; otherwise they are in the query.
func readPosition(r *http.Request) (epoch string, after int, err error) {
	id := r.Header.Get("Last-Event-ID")
	if id == "" {
		after, err = integer(r, "after", 0, 0, 0)
		return r.URL.Query().Get("epoch"), after, err
	}
	epoch, number, _ := strings.Cut(id, "-")
	if after, err = strconv.Atoi(number); err != nil || after < 0 || epoch == "" {
		err = errors.New("Last-Event-ID: must be the id of an event")
	}
	return epoch, after, err
}

// stream sends the requests after a number as they are recorded, as server-sent
// events. It sends "gap" where requests are missing because they are no longer kept or
// because the position belongs to another history, "reset" after the history was
// cleared, and "state" after any other change. A slow client delays no other: it reads
// from the history at its own speed.
func (in *Inspector) stream(w http.ResponseWriter, r *http.Request) {
	epoch, after, err := readPosition(r)
	if err != nil {
		refuse(w, invalid(err))
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(in.ending, cancel)()

	s := streamWriter{w, http.NewResponseController(w), in.box.History}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	seen := s.store.State()
	if epoch != "" && epoch != s.store.Epoch() || after > seen.Last {
		s.send("gap", seen.Last, in.counts())
	} else {
		seen.Last = after
	}
	for s.flush() == nil {
		waiting, stop := context.WithTimeout(ctx, streamHeartbeat)
		state, err := s.store.Changed(waiting, seen)
		stop()
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			_, _ = io.WriteString(w, ": heartbeat\n\n") // the next flush reports the error
			continue
		case state.Cleared != seen.Cleared:
			s.send("reset", state.Last, in.counts())
		case state.Last == seen.Last:
			s.send("state", state.Last, in.counts())
		default:
			state.Last = in.sendBatch(&s, seen.Last)
		}
		seen = state
		select {
		case <-time.After(streamInterval):
		case <-ctx.Done():
		}
	}
}

// sendBatch sends the entries after a number, and returns the number of the last
// one.
func (in *Inspector) sendBatch(s *streamWriter, after int) (last int) {
	entries, complete := s.store.After(after)
	if len(entries) == 0 { // cleared
		last = s.store.State().Last
		s.send("gap", last, in.counts())
		return last
	}
	if !complete {
		s.send("gap", entries[0].Number-1, in.counts())
	}
	last = entries[len(entries)-1].Number
	message := streamMessage{Items: []requestItem{}, Left: max(0, len(entries)-streamItems), Last: last, Counts: in.counts()}
	for _, e := range slices.Backward(entries[message.Left:]) {
		message.Items = append(message.Items, newRequestItem(e))
	}
	s.send("requests", last, message)
	return last
}

// streamWriter writes server-sent events, each within a time limit.
type streamWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	store   *history.Store
}

const streamWriteTimeout = 10 * time.Second

func (s *streamWriter) flush() error {
	_ = s.control.SetWriteDeadline(time.Now().Add(streamWriteTimeout)) // not supported by recorders in tests
	return s.control.Flush()
}

// send writes an event. Its id is a position.
func (s *streamWriter) send(event string, last int, data any) {
	encoded, err := json.Marshal(data)
	if err != nil {
		encoded = []byte("null") // every value of these types can be encoded
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(streamWriteTimeout))
	_, _ = fmt.Fprintf(s.w, "event: %s\nid: %s-%d\ndata: %s\n\n", event, s.store.Epoch(), last, encoded) // the next flush reports the error
}
