package sandbox

import (
	"bytes"
	"context"
	"errors"
	"net/http/httptest"

	"github.com/messaging-go/messaging/internal/fake"
	"github.com/messaging-go/messaging/internal/service"
)

// Replay is a request to repeat a recorded one within the sandbox.
type Replay struct {
	Number int `json:"number"`
	// Faults reports whether the rules of faults apply to the request.
	Faults bool `json:"faults,omitempty"`
}

// Why a request is not repeated.
var (
	ErrNotReplayable = errors.New("the request is for no operation of the service")
	ErrRedacted      = errors.New(`the body is not kept as it was sent: it has "[API key]" in place of a key`)
)

// Replay hands a recorded request to the service again, without the network, and returns the
// number of its exchange. The query and the body are the same, and so is the Content-Type; the
// key is that of the service, and no other header is repeated.
func (b *Sandbox) Replay(ctx context.Context, replay Replay) (number int, err error) {
	e, ok := b.History.Get(replay.Number)
	if !ok {
		return 0, ErrNotFound
	}
	op := service.Named(e.Op)
	if op == nil {
		return 0, ErrNotReplayable
	}
	if bytes.Contains(e.Request.Body, []byte("[API key]")) {
		return 0, ErrRedacted
	}
	if !replay.Faults {
		ctx = fake.WithFault(ctx, fake.Fault{})
	}
	r := httptest.NewRequestWithContext(ctx, op.Method, op.Path, bytes.NewReader(e.Request.Body))
	r.URL.RawQuery = e.Request.Query.Encode()
	r.Header.Set("X-Authorization", b.APIKey())
	r.Header["Content-Type"] = e.Request.Header["Content-Type"]
	return b.service.Replay(r, replay.Number).Number, nil
}
