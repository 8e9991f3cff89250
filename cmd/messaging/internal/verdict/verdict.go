// Package verdict tells what package messaging reports to its caller about a
// recorded exchange. It replays the response through the real client, so that it
// can't differ from it.
package verdict

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

// Verdict is what a call reports that makes one attempt.
type Verdict struct {
	Delivery messaging.Delivery
	// Retryable is the result of messaging.Retryable.
	Retryable bool
	// Err is nil if the call succeeds.
	Err error
}

// Of returns the verdict about an exchange.
func Of(e *messagingtest.Exchange) Verdict {
	if e.Status == http.StatusOK && e.Fault != "malformed" && e.Fault != "status" {
		return Verdict{Delivery: messaging.DeliveryAccepted} // the service's own success needs no replay
	}
	err := call(context.WithValue(context.Background(), exchangeKey{}, e), e)
	return Verdict{messaging.DeliveryOf(err), messaging.Retryable(err), err}
}

// call makes the call whose request was recorded. Its arguments do not matter,
// as the replayed response is the recorded one.
func call(ctx context.Context, e *messagingtest.Exchange) (err error) {
	client := clients[timedOut(e)]
	switch e.Op {
	case "send email broadcast":
		_, err = client.Broadcasts.SendEmail(ctx, messaging.EmailBroadcastParams{To: messaging.AllCustomers()})
	case "send push broadcast":
		_, err = client.Broadcasts.SendPush(ctx, messaging.PushBroadcastParams{To: messaging.AllCustomers()})
	case "create event":
		_, err = client.Events.Create(ctx, messaging.EventCreateParams{})
	case "trigger event":
		_, err = client.Events.Trigger(ctx, messaging.EventTriggerParams{})
	case "list events":
		_, err = client.Events.List(ctx, messaging.EventListParams{})
	case "list customers":
		_, err = client.Customers.List(ctx, messaging.CustomerListParams{})
	case "list transactional messages":
		_, err = client.Transactional.List(ctx, messaging.TransactionalListParams{})
	default:
		request := messaging.Request{Op: "request", Method: e.Request.Method, Path: "/v1"}
		if e.Request.Method != http.MethodGet && e.Request.Method != http.MethodHead {
			request.Body = struct{}{}
		}
		_, err = client.Do(ctx, request)
	}
	return err
}

// timedOut reports whether the caller gave up waiting for the response.
func timedOut(e *messagingtest.Exchange) bool { return e.Status == 0 && e.Fault == "slow" }

// clients are a client that gets the recorded response, and one whose attempts
// time out.
var clients = map[bool]*messaging.Client{false: newClient(), true: newClient(messaging.WithAttemptTimeout(time.Microsecond))}

func newClient(more ...messaging.Option) *messaging.Client {
	c, err := messaging.NewClient("http://127.0.0.1", "replay", append(more, messaging.WithoutValidation(),
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
	e := r.Context().Value(exchangeKey{}).(*messagingtest.Exchange)
	if timedOut(e) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	if e.Status == 0 {
		return nil, io.EOF // as net/http has it when the connection closes before a response
	}
	return &http.Response{
		StatusCode: e.Status, Status: http.StatusText(e.Status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: e.ResponseHeader.Clone(), Body: io.NopCloser(bytes.NewReader(e.ResponseBody)),
		ContentLength: int64(len(e.ResponseBody)), Request: r,
	}, nil
}
