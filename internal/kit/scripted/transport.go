package scripted

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"time"
)

// RoundTripper is a function that serves as an [http.RoundTripper].
type RoundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls f.
func (f RoundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// Scene is what a [Transport] does with one request.
type Scene func(*http.Request) (*http.Response, error)

// Transport plays one scene for each request and records the requests. The last
// scene is played for all requests that follow.
type Transport struct {
	Scenes []Scene
	Sent   []SentRequest
}

// SentRequest is a request that a [Transport] was given.
type SentRequest struct {
	*http.Request
	Content string // what was read of the body
	At      time.Time
}

// RoundTrip plays the next scene.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	play := t.Scenes[min(len(t.Sent), len(t.Scenes)-1)]
	t.Sent = append(t.Sent, SentRequest{Request: req, At: time.Now()})
	var content bytes.Buffer
	read := req.Clone(req.Context())
	if req.Body != nil {
		read.Body = io.NopCloser(io.TeeReader(req.Body, &content))
	}
	resp, err := play(read)
	t.Sent[len(t.Sent)-1].Content = content.String()
	return resp, err
}

// Waits returns the time between each request and the one before it.
func (t *Transport) Waits() []time.Duration {
	var waits []time.Duration
	for i := 1; i < len(t.Sent); i++ {
		waits = append(waits, t.Sent[i].At.Sub(t.Sent[i-1].At))
	}
	return waits
}

// Connects plays a scene after a connection was found and the request was
// written to it.
func Connects(then Scene) Scene {
	return func(req *http.Request) (*http.Response, error) {
		AskForConnection(req)
		httptrace.ContextClientTrace(req.Context()).GotConn(httptrace.GotConnInfo{})
		WriteRequest(req)
		return then(req)
	}
}

// NeverConnects asks for a connection and fails before it has one.
func NeverConnects(err error) Scene {
	return func(req *http.Request) (*http.Response, error) {
		AskForConnection(req)
		return nil, err
	}
}

// NeverConnectsInTime asks for a connection until the request is canceled.
func NeverConnectsInTime(req *http.Request) (*http.Response, error) {
	AskForConnection(req)
	return Hangs(req)
}

// Breaks connects and fails without a response.
func Breaks(err error) Scene {
	return Connects(func(*http.Request) (*http.Response, error) { return nil, err })
}

// Hangs waits until the request is canceled.
func Hangs(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

// Responds connects and returns a complete response. The header is given as
// keys and values in turn.
func Responds(status int, body string, header ...string) Scene {
	return RespondsFrom(status, strings.NewReader(body), header...)
}

// RespondsFrom connects and returns a response whose body is read from body.
func RespondsFrom(status int, body io.Reader, header ...string) Scene {
	return Connects(func(*http.Request) (*http.Response, error) {
		resp := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(body), ContentLength: -1}
		if whole, ok := body.(*strings.Reader); ok {
			_, _ = whole.Seek(0, io.SeekStart) // the scene may be played again
		}
		for i := 0; i < len(header); i += 2 {
			resp.Header.Add(header[i], header[i+1])
		}
		return resp, nil
	})
}

// BeginsToRespond returns a response with status 200 whose body begins and then
// blocks until the request is canceled.
func BeginsToRespond(req *http.Request) (*http.Response, error) {
	body := io.MultiReader(strings.NewReader(`{"success":`), HangingReader(req.Context()))
	return RespondsFrom(http.StatusOK, body)(req)
}

// AskForConnection reports to the trace of a request that a connection is needed.
func AskForConnection(req *http.Request) {
	httptrace.ContextClientTrace(req.Context()).GetConn("api.example.com:443")
}

// WriteRequest reports to the trace of a request, and reads its body, as net/http
// does when it writes the request to a connection.
func WriteRequest(req *http.Request) {
	trace := httptrace.ContextClientTrace(req.Context())
	for name, values := range req.Header {
		trace.WroteHeaderField(name, values)
	}
	if req.Body != nil {
		_, _ = io.Copy(io.Discard, req.Body)
	}
}

// CutShort is a body that ends before its announced length each time it is read.
type CutShort struct{ begun bool }

// Read reads the beginning of a response and fails the next time.
func (c *CutShort) Read(p []byte) (int, error) {
	if c.begun = !c.begun; !c.begun {
		return 0, io.ErrUnexpectedEOF
	}
	return copy(p, `{"success":`), nil
}

// HangingReader returns a reader that blocks until ctx is done.
func HangingReader(ctx context.Context) io.Reader {
	reader, writer := io.Pipe()
	context.AfterFunc(ctx, func() { _ = writer.CloseWithError(ctx.Err()) })
	return reader
}
