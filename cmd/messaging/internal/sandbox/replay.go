package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"

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
}

// ReplayBody is the body of a replay. In JSON it is a text, which is the body to the byte, or
// an object or an array, so that nobody has to write JSON within JSON.
type ReplayBody []byte

// UnmarshalJSON reads the text, or removes the white space of an object or an array.
func (b *ReplayBody) UnmarshalJSON(value []byte) error {
	switch value[0] {
	case '"':
		var text string
		err := json.Unmarshal(value, &text)
		*b = ReplayBody(text)
		return err
	case '{', '[':
		var compact bytes.Buffer
		err := json.Compact(&compact, value)
		*b = compact.Bytes()
		return err
	}
	return errors.New("body: must be a text, an object or an array")
}

// Why a request is not repeated.
var (
	ErrNotReplayable = errors.New("the request is for no operation of the service")
	ErrRedacted      = errors.New(`the body has "REDACTED" or "[API key]" in place of a credential; send an edited body`)
)

// Replay hands a request to the service, without the network, and returns the number of
// its exchange. Its method and path are those of the operation, its key is that of the
// service, and of its other headers only the Content-Type is repeated.
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
	if bytes.Contains(body, []byte("REDACTED")) || bytes.Contains(body, []byte("[API key]")) {
		return 0, ErrRedacted
	}
	if !replay.Faults {
		ctx = fake.WithFault(ctx, fake.Fault{})
	}
	r := httptest.NewRequestWithContext(ctx, op.Method, op.Path, bytes.NewReader(body))
	r.URL.RawQuery = e.Request.Query.Encode()
	r.Header.Set("X-Authorization", b.APIKey())
	if contentType := e.Request.Header.Get("Content-Type"); contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	return b.service.Replay(r, replay.Number).Number, nil
}
