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
// [NotReached], [AnswerLost], [Malformed] or [Slow]. The zero Fault has no effect:
// [Server.FailNext] with the zero Fault lets requests succeed.
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

// FailNext makes the next n requests fail, regardless of their operation. Repeated calls
// queue their faults. If requests are sent concurrently, by several goroutines or by a
// range that fetches its next page in advance, their order is not certain. Use
// [Server.AddFaultRule] to make the requests of one operation fail.
//
// A request from a client of [Server.Client] takes its fault when it is sent. Any other
// request takes its fault when it arrives. A call takes one fault for each of its
// attempts.
//
// Within one attempt, net/http itself may send a GET a second time, if it loses the
// response on a reused connection. The second request of a client of [Server.Client]
// takes no fault and succeeds. With any other client, it takes the next fault.
func (s *Server) FailNext(n int, f Fault) {
	s.lock()
	defer s.mu.Unlock()
	faults.of(s).queue.add(n, f)
}

type withoutFaultKey struct{}

// WithoutFault returns a context with which a request that a program passes to
// [Server.Handler] takes no fault.
func WithoutFault(ctx context.Context) context.Context {
	return context.WithValue(ctx, withoutFaultKey{}, true)
}

// Status responds with the given status code, and does not carry out the request. The
// elements of body are joined to form the response body. Without any, the response body
// is a JSON object whose success is false and whose message is the text of the status.
// Status panics if code is not from 200 to 599.
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

// RateLimited responds with status 429, and does not carry out the request. The header
// Retry-After is the duration after, rounded up to whole seconds.
func RateLimited(after time.Duration) Fault {
	r := errorResponse(http.StatusTooManyRequests, http.StatusText(http.StatusTooManyRequests))
	r.retryAfter = strconv.Itoa(int(math.Ceil(max(0, after).Seconds())))
	return Fault{rejection: &r}
}

// NotReached fails the connection before the request is sent, so that the client can
// prove that nothing was sent. The client retries such a request, even a send. The call
// fails only if all of its attempts take this fault.
//
// NotReached requires the transport of a client of [Server.Client]. With any other
// transport, the request arrives and is not carried out. The server closes the connection
// without a response, so that the client reports an unknown delivery.
func NotReached() Fault { return Fault{notReached: true} }

// Malformed carries out the request, and then responds with status 200 and the given
// body, such as truncated JSON or the HTML page of a proxy. The body determines whether
// the client can know that the request was carried out.
func Malformed(body string) Fault {
	return Fault{replacement: &response{status: http.StatusOK, body: []byte(body)}}
}

// AnswerLost carries out the request, and then closes the connection without a response.
// The client cannot know whether the broadcast was sent.
func AnswerLost() Fault { return Fault{responseLost: true} }

// Slow delays the request by d, or until the client cancels it. The request is carried
// out in both cases, so a client that times out cannot know whether the broadcast was
// sent. To see what was carried out after a client gave up, call [Server.Close] first.
func Slow(d time.Duration) Fault { return Fault{delay: d} }

// Kind returns "status", "rate_limited", "not_reached", "answer_lost", "malformed" or
// "slow". It returns "" for the zero Fault.
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

// Status returns the status code with which the fault responds, or 0 if the fault does
// not set the response.
func (f Fault) Status() int {
	if r := f.response(); r != nil {
		return r.status
	}
	return 0
}

// Body returns the body with which the fault responds, or "" if the fault does not set
// the response.
func (f Fault) Body() string {
	if r := f.response(); r != nil {
		return string(r.body)
	}
	return ""
}

// After returns the delay of [Slow] or the Retry-After of [RateLimited]. It returns 0 for
// any other fault.
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

// wait waits for the delay of the fault. It returns early if the request is canceled or
// the server closes.
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
