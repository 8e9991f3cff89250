// Package outcome finds what a call of package messaging returns, from its recorded
// exchange. It replays the response through the real client, so that the two cannot
// differ.
package outcome

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
	"github.com/messaging-go/messaging/internal/fake"
	"github.com/messaging-go/messaging/internal/service"
)

// Of returns the error of a call that made one attempt, nil if it succeeded.
func Of(e *fake.Exchange) error {
	if e.Status == http.StatusOK && e.Fault != "malformed" && e.Fault != "status" {
		return nil // the service's own success needs no replay
	}
	err := call(context.WithValue(context.Background(), exchangeKey{}, e), e)
	if timedOut(e) {
		err = timeoutError{err}
	}
	return err
}

// replayTimeout is the time limit of the client whose attempts time out.
const replayTimeout = time.Microsecond

// timeoutError is the error of an attempt that timed out. Its text leaves out the time
// limit, because that of the caller is not known.
type timeoutError struct{ err error }

func (e timeoutError) Error() string {
	return strings.Replace(e.err.Error(), " after "+replayTimeout.String(), "", 1)
}

func (e timeoutError) Unwrap() error { return e.err }

// call makes the call whose request was recorded. What it asks for does not matter,
// because the replayed response is the recorded one.
func call(ctx context.Context, e *fake.Exchange) error {
	client, op := clients[timedOut(e)], service.Named(e.Op)
	switch {
	case op == nil:
		return callUnknown(ctx, client, e.Request.Method)
	case op.IsRead():
		return records.Listed(op).Read(ctx, client)
	}
	prepared, err := messaging.ParsePrepared(op.Name, []byte("{}"))
	if err == nil {
		_, err = client.Send(ctx, prepared)
	}
	return err
}

// callUnknown makes a call that is not an operation of the service.
func callUnknown(ctx context.Context, client *messaging.Client, method string) error {
	request := messaging.Request{Operation: "request", Method: method, Path: "/v1"}
	if method != http.MethodGet && method != http.MethodHead {
		request.Body = struct{}{}
	}
	_, err := client.Do(ctx, request)
	return err
}

// timedOut reports whether the caller gave up waiting for the response.
func timedOut(e *fake.Exchange) bool { return e.Status == 0 && e.Fault == "slow" }

// clients are a client that receives the recorded response, and one whose attempts
// time out.
var clients = map[bool]*messaging.Client{false: newClient(), true: newClient(messaging.WithAttemptTimeout(replayTimeout))}

func newClient(more ...messaging.Option) *messaging.Client {
	c, err := messaging.NewClient("http://127.0.0.1", "test-key-1", append(more,
		messaging.WithHTTPClient(&http.Client{Transport: replay{}}),
		messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 1}))...)
	if err != nil {
		panic(err) // the arguments are constants
	}
	return c
}

type exchangeKey struct{}

// replay responds with the recorded response of the exchange in the context.
type replay struct{}

func (replay) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
	}
	e := r.Context().Value(exchangeKey{}).(*fake.Exchange)
	if timedOut(e) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	if e.Status == 0 {
		return nil, io.EOF // what net/http returns when the connection closes before a response
	}
	body := e.ResponseBody
	if e.Status == http.StatusNoContent || e.Status == http.StatusNotModified {
		body = nil // which no client reads
	}
	return &http.Response{
		StatusCode: e.Status, Status: http.StatusText(e.Status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: e.ResponseHeader.Clone(), Body: io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)), Request: r,
	}, nil
}
