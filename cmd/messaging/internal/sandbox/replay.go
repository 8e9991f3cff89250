package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/internal/fake"
	"github.com/messaging-go/messaging/internal/service"
)

// Replay is a request to repeat a recorded one within the sandbox.
type Replay struct {
	Number int `json:"number"`
	// Body replaces the body of the request. Without one, it is the recorded body.
	Body *ReplayBody `json:"body,omitempty"`
	// Faults reports whether the rules of faults apply to the request.
	Faults bool `json:"faults,omitempty"`
	// AsSent reports whether the key is left out, or is in the wrong place, if it was so in
	// the recorded request. Otherwise the key is that of the service.
	AsSent bool `json:"as_sent,omitempty"`
}

// ReplayBody is the body of a replay. In JSON it is a text, which is the body to the byte, or
// an object or an array, so that nobody has to write JSON within JSON.
type ReplayBody []byte

// UnmarshalJSON reads the text, or removes the white space of an object or an array.
func (b *ReplayBody) UnmarshalJSON(value []byte) error {
	var compact bytes.Buffer
	switch value[0] {
	case '"':
		var text string
		if err := json.Unmarshal(value, &text); err != nil {
			return err
		}
		compact.WriteString(text)
	case '{', '[':
		if err := json.Compact(&compact, value); err != nil {
			return err
		}
	default:
		return errors.New("body: must be a text, an object or an array")
	}
	*b = compact.Bytes()
	return nil
}

// Why a request is not repeated.
var (
	ErrNotReplayable = errors.New("the request is for no operation of the service")
	ErrRedacted      = errors.New(`the body has "REDACTED" or "[API key]" in place of a credential, or is kept in part; send an edited body`)
	ErrKeyNotKept    = errors.New("the key that the request was sent with was not recorded; send it with the key of the sandbox")
	ErrTooManyReplay = errors.New("at most 10 requests are repeated in a second")
	ErrFull          = errors.New("a memory limit of the sandbox refused the request; reset the sandbox")
)

// Replay hands a request to the service, without the network, and returns the number of
// its exchange. Its method and path are those of the operation, its key is that of the
// service unless it is asked for as it was sent, and of its other headers only the
// Content-Type is repeated.
func (b *Sandbox) Replay(ctx context.Context, replay Replay) (number int, err error) {
	e, ok := b.History.Get(replay.Number)
	if !ok {
		return 0, ErrNotFound
	}
	op := service.Named(e.Op)
	if op == nil {
		return 0, ErrNotReplayable
	}
	body := e.Request.Body
	if replay.Body != nil {
		body = *replay.Body
	}
	if bytes.Contains(body, []byte("REDACTED")) || bytes.Contains(body, []byte("[API key]")) || e.Cut && replay.Body == nil {
		return 0, ErrRedacted
	}
	key := history.Key{Header: "X-Authorization"}
	if replay.AsSent {
		key = e.Key()
	}
	if key.Foreign {
		return 0, ErrKeyNotKept
	}
	if !b.replays.allow(time.Now()) {
		return 0, ErrTooManyReplay
	}
	if !replay.Faults {
		ctx = fake.WithFault(ctx, fake.Fault{})
	}
	r := httptest.NewRequestWithContext(ctx, op.Method, op.Path, bytes.NewReader(body))
	r.URL.RawQuery = e.Request.Query.Encode()
	if name, value := key.Field(b.APIKey()); name != "" {
		r.Header.Set(name, value)
	}
	if contentType := e.Request.Header.Get("Content-Type"); contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	if number = b.replays.send(b.limits.wrap(b.service), r, replay.Number); number == 0 {
		return 0, ErrFull
	}
	return number, nil
}

// replays sends repeated requests, and finds their numbers.
type replays struct {
	sending sync.Mutex // one at a time, so that the next observed replay is the one that was sent
	mu      sync.Mutex
	last    int         // the number of the latest replay
	recent  []time.Time // of the last second
}

// allow reports whether another request may be repeated.
func (p *replays) allow(now time.Time) bool {
	const perSecond = 10
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.recent) > 0 && now.Sub(p.recent[0]) >= time.Second {
		p.recent = p.recent[1:]
	}
	if len(p.recent) >= perSecond {
		return false
	}
	p.recent = append(p.recent, now)
	return true
}

// send hands a request to a handler, and returns the number of its exchange, 0 if the
// service did not get it.
func (p *replays) send(handler http.Handler, r *http.Request, of int) int {
	p.sending.Lock()
	defer p.sending.Unlock()
	p.mu.Lock()
	p.last = 0
	p.mu.Unlock()
	r.Header.Set(history.ReplayHeader, strconv.Itoa(of))
	func() {
		defer func() { _ = recover() }() // a fault that loses the response aborts the handler
		handler.ServeHTTP(httptest.NewRecorder(), r)
	}()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// observe remembers the number of a replay.
func (p *replays) observe(e *fake.Exchange) {
	if e.Request.Header.Get(history.ReplayHeader) == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = e.Number
}

// withoutReplayHeader removes the mark of a replay from requests from outside.
func withoutReplayHeader(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del(history.ReplayHeader)
		next.ServeHTTP(w, r)
	})
}
