package messagingtest

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Fault is a way for a request to fail. Create one with [Status], [RateLimited],
// [NotReached], [AnswerLost], [Malformed] or [Slow]. The zero Fault has no
// effect: [Server.FailNext] with it lets requests succeed.
type Fault struct {
	delay        time.Duration
	rejection    *response // the request is not carried out
	replacement  *response // the request is carried out, and its response is replaced
	responseLost bool
	notReached   bool
}

var faults = keep(newPendingFaults)

// pendingFaults are the faults that a server has not applied yet.
type pendingFaults struct {
	queue      faultQueue
	rules      []*activeRule
	lastRule   int
	tickets    map[string]Fault // the faults of requests that were sent and have not arrived
	lastTicket int
}

func newPendingFaults(config) *pendingFaults { return &pendingFaults{tickets: make(map[string]Fault)} }

// reset removes all faults. It does not restart the ids of rules and tickets.
func (p *pendingFaults) reset() {
	p.queue, p.rules = nil, nil
	clear(p.tickets)
}

// FailNext makes the next n requests fail, regardless of their operation. The
// faults of successive calls are queued. While a range reads ahead, or with
// several goroutines, it is not certain which requests these are: to fail the
// requests of one operation, use [Server.AddFaultRule].
//
// A request from a client that [Server.Client] returned takes its fault when it
// is sent. Any other request takes its fault when it arrives. A client that
// retries takes one fault per attempt.
//
// Within one attempt, net/http itself may send a GET again, if it loses the
// response on a reused connection. If the client is from Server.Client, that
// second request takes no fault and succeeds. With any other client, it takes the next
// fault.
func (s *Server) FailNext(n int, f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	faults.of(s).queue.add(n, f)
}

// Status responds with the given status code, and does not carry out the
// request. The response body is the concatenation of body. Without body, it is a
// JSON object whose success is false and whose message is the text of the
// status. Status panics if code is not from 200 to 599.
func Status(code int, body ...string) Fault {
	if code < 200 || code > 599 {
		panic(fmt.Sprintf("messagingtest: Status(%d): must be from 200 to 599", code))
	}
	r := errorResponse(code, http.StatusText(code))
	if len(body) > 0 {
		r.body = []byte(strings.Join(body, ""))
	}
	return Fault{rejection: &r}
}

// RateLimited responds with status 429, and does not carry out the request. The
// Retry-After header is after, rounded up to whole seconds.
func RateLimited(after time.Duration) Fault {
	r := errorResponse(http.StatusTooManyRequests, http.StatusText(http.StatusTooManyRequests))
	r.retryAfter = strconv.Itoa(int(math.Ceil(max(0, after).Seconds())))
	return Fault{rejection: &r}
}

// NotReached refuses the connection, so the client can prove that the request
// was not sent. The client retries such a request, even a send. For the call to
// fail, every attempt needs this fault.
//
// NotReached requires the transport that [Server.Client] installs. With another
// transport the request does arrive. It is not carried out, and the connection
// is closed without a response, so the client reports an unknown delivery.
func NotReached() Fault { return Fault{notReached: true} }

// Malformed carries out the request, and then responds with status 200 and the
// given body, such as truncated JSON or the HTML page of a proxy. Whether the
// client can know that the request was carried out depends on the body.
func Malformed(body string) Fault {
	return Fault{replacement: &response{status: http.StatusOK, body: []byte(body)}}
}

// AnswerLost carries out the request, and then closes the connection without a
// response. The client cannot know whether the broadcast was sent.
func AnswerLost() Fault { return Fault{responseLost: true} }

// Slow delays the request by d, or until the client cancels it. The request is
// carried out in both cases, so a client that timed out cannot know whether the
// broadcast was sent. To inspect what was carried out after a client gave up,
// call [Server.Close] first.
func Slow(d time.Duration) Fault { return Fault{delay: d} }

// Kind returns "status", "rate_limited", "not_reached", "answer_lost",
// "malformed" or "slow". The Kind of the zero Fault is "".
func (f Fault) Kind() string {
	switch {
	case f.delay > 0:
		return "slow"
	case f.rejection != nil && f.rejection.retryAfter != "":
		return "rate_limited"
	case f.rejection != nil:
		return "status"
	case f.replacement != nil:
		return "malformed"
	case f.responseLost:
		return "answer_lost"
	case f.notReached:
		return "not_reached"
	default:
		return ""
	}
}

// Status returns the status code that the fault responds with, or 0 if it does
// not set it.
func (f Fault) Status() int {
	if r := f.response(); r != nil {
		return r.status
	}
	return 0
}

// Body returns the body that the fault responds with, or "" if it does not set
// it.
func (f Fault) Body() string {
	if r := f.response(); r != nil {
		return string(r.body)
	}
	return ""
}

// After returns the delay of [Slow], or the Retry-After of [RateLimited]. It is
// 0 for other faults.
func (f Fault) After() time.Duration {
	if f.rejection != nil {
		seconds, _ := strconv.Atoi(f.rejection.retryAfter)
		return time.Duration(seconds) * time.Second
	}
	return max(0, f.delay)
}

// response returns the response that the fault sets, or nil.
func (f Fault) response() *response {
	if f.rejection != nil {
		return f.rejection
	}
	return f.replacement
}

// wait waits for the delay of the fault. It returns early when the request is
// canceled or the server closes.
func (f Fault) wait(ctx context.Context, closing <-chan struct{}) {
	if f.delay <= 0 {
		return
	}
	timer := time.NewTimer(f.delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-closing:
	}
}

// faultQueue holds the faults of the next requests.
type faultQueue []queuedFault

// queuedFault is a fault and the number of requests that it applies to.
type queuedFault struct {
	left  int
	fault Fault
}

func (q *faultQueue) add(n int, f Fault) {
	if n > 0 {
		*q = append(*q, queuedFault{n, f})
	}
}

// next removes and returns the fault of the next request.
func (q *faultQueue) next() Fault {
	if len(*q) == 0 {
		return Fault{}
	}
	first := &(*q)[0]
	fault := first.fault
	if first.left--; first.left == 0 {
		*q = (*q)[1:]
	}
	return fault
}
