package inspector

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector/view"
)

const (
	streamInterval     = 100 * time.Millisecond // between messages
	streamHeartbeat    = 15 * time.Second
	streamWriteTimeout = 10 * time.Second
)

// message is what a page needs to know whether it is up to date: the number of the latest request, the epoch of the
// history, and the numbers beside the names of the sections, with the end of the outage or null.
func (in *Inspector) message(last int) map[string]any {
	counts := map[string]any{"outage_until": in.outageUntil()}
	for _, section := range view.Sections(in.box) {
		counts[section.Name] = section.Count
	}
	return map[string]any{"last": last, "epoch": in.box.History.Epoch(), "counts": counts}
}

// stream sends the state of the sandbox as server-sent events: at once, and after each change. A slow client delays no other,
// and skips what it is too slow for.
func (in *Inspector) stream(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(in.ending, cancel)()
	control := http.NewResponseController(w)
	write := func(text string) error {
		_ = control.SetWriteDeadline(time.Now().Add(streamWriteTimeout)) // not supported by recorders in tests
		_, _ = io.WriteString(w, text)
		return control.Flush() // reports the error
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for {
		state := in.box.History.State() // before the message, so that no change is missed
		message, _ := json.Marshal(in.message(state.Last))
		if write("data: "+string(message)+"\n\n") != nil {
			return
		}
		select {
		case <-time.After(streamInterval):
		case <-ctx.Done():
			return
		}
		for changed := false; !changed; {
			waiting, stop := context.WithTimeout(ctx, streamHeartbeat)
			_, err := in.box.History.Changed(waiting, state)
			stop()
			if ctx.Err() != nil || err != nil && write(": heartbeat\n\n") != nil {
				return
			}
			changed = err == nil
		}
	}
}
