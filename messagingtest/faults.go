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

// Fault is a way for a request to fail; see [Status], [RateLimited], [NotReached],
// [AnswerLost], [Malformed] and [Slow]. The zero Fault is none: in a sequence of
// [Server.FailNext] it lets requests pass.
type Fault struct {
	delay      time.Duration
	instead    *answer // of carrying the request out
	afterwards *answer // in place of the service's own
	answerLost bool
	notReached bool
}

// FailNext makes the next n requests fail, whatever they ask for. Calls queue
// up: each is about the requests after those of the call before.
//
// A request from a client that [Server.Client] returned takes its fault when it is
// sent, any other request when it arrives. A client that repeats a request uses up
// one fault for each attempt. Note that net/http itself repeats a GET, within an
// attempt, when it loses the response on a connection that was used before. From
// a client of Server.Client, such a repetition has no fault and passes; from any
// other client, it takes the next fault.
func (s *Server) FailNext(n int, f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults.add(n, f)
}

// Status answers with a status code from 200 to 599, and does not carry the
// request out. The body is what is given, or else a JSON object with success
// false and the name of the status as its message. Status panics on a code that
// can't be answered with.
func Status(code int, body ...string) Fault {
	if code < 200 || code > 599 {
		panic(fmt.Sprintf("messagingtest: Status(%d): must be from 200 to 599", code))
	}
	a := refusal(code, http.StatusText(code))
	if len(body) > 0 {
		a.body = []byte(strings.Join(body, ""))
	}
	return Fault{instead: &a}
}

// RateLimited answers 429 and does not carry the request out. The Retry-After
// header asks for a wait of after, in whole seconds, rounded up.
func RateLimited(after time.Duration) Fault {
	a := refusal(http.StatusTooManyRequests, http.StatusText(http.StatusTooManyRequests))
	a.retryAfter = strconv.Itoa(int(math.Ceil(max(0, after).Seconds())))
	return Fault{instead: &a}
}

// NotReached lets no connection come about: the request is refused before it is
// sent, which the client can prove. A client repeats such a request, a send too,
// so that it takes as many of these as the client has attempts to see it fail.
//
// It needs the transport that [Server.Client] installs. Of a client with a
// transport of its own the request does arrive; it is not carried out, and the
// connection is dropped, so that the client can't know.
func NotReached() Fault { return Fault{notReached: true} }

// Malformed carries the request out, and then answers 200 with body as it stands:
// half an answer, or the page of a proxy. Whether the client can know that the
// request was carried out depends on what the body says.
func Malformed(body string) Fault {
	return Fault{afterwards: &answer{status: http.StatusOK, body: []byte(body)}}
}

// AnswerLost carries the request out, and then drops the connection without an
// answer. The client can't know that the broadcast was sent.
func AnswerLost() Fault { return Fault{answerLost: true} }

// Slow lets the request wait for d, or until the client gives up, and then goes
// on as usual. The request is carried out in either case: a client that has run
// into its timeout can't know that the broadcast was sent. To look at what was
// carried out after the client gave up, call [Server.Close] first.
func Slow(d time.Duration) Fault { return Fault{delay: d} }

// hold waits for as long as the fault asks for.
func (f Fault) hold(ctx context.Context, closing <-chan struct{}) {
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

// faultQueue is the faults to come, each with the number of requests it is for.
type faultQueue []queuedFault

type queuedFault struct {
	left  int
	fault Fault
}

func (q *faultQueue) add(n int, f Fault) {
	if n > 0 {
		*q = append(*q, queuedFault{n, f})
	}
}

// next takes the fault of the next request off the queue.
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
