package messagingtest

import (
	"fmt"
	"strings"
	"time"

	"github.com/messaging-go/messaging/internal/fake"
	"github.com/messaging-go/messaging/internal/service"
)

// Fault is a way for a request to fail. Create one with [Status], [RateLimited],
// [NotReached], [AnswerLost], [Malformed] or [Slow]. The zero Fault has no effect:
// [Server.Fail] with the zero Fault lets requests succeed.
type Fault struct{ fault fake.Fault }

// Fail makes the next n requests of an operation fail. op is the name of the operation in
// errors of package messaging, such as [messaging.OpTriggerEvent], and "" stands for any
// request. To let the second page fail, pass the zero Fault with n = 1 first. A lookup is a
// request for the list that it reads: use "list customers" for Customers.Get. Fail panics if
// the service has no such operation.
//
// A request takes the fault of the earliest call of Fail that is for its operation and has
// requests left. Each attempt of a client takes one fault. If requests run
// concurrently, as in several goroutines or a range that reads ahead, name the operation to
// control which request fails.
//
// A request from a client of [Server.Client] takes its fault when it is sent. Any other
// request takes its fault when it arrives. Within one attempt, net/http itself may send a
// GET a second time, if it loses the response on a reused connection. The second request of
// a client of [Server.Client] takes no fault and succeeds. With any other client, it takes
// the next fault.
func (s *Server) Fail(op string, n int, fault Fault) {
	if op != "" && !fake.IsServed(op) {
		panic(fmt.Sprintf("messagingtest: Fail: unknown operation %q: must be empty or one of %s", op, service.Names(service.Served())))
	}
	if n > 0 {
		s.service.AddRule(fake.Rule{Op: op, Count: n, Probability: 1, Fault: fault.fault})
	}
}

// Status responds with the given status code, and does not carry out the request. The
// elements of body are joined to form the response body. Without any, the response body
// is a JSON object whose success is false and whose message is the text of the status.
// Status panics if code is not from 200 to 599.
func Status(code int, body ...string) Fault {
	if code < 200 || code > 599 {
		panic(fmt.Sprintf("messagingtest: Status(%d): must be from 200 to 599", code))
	}
	text := strings.Join(body, "")
	return Fault{fake.Fault{Kind: fake.Status, Status: code, Body: text, EmptyBody: len(body) > 0 && text == ""}}
}

// RateLimited responds with status 429, and does not carry out the request. The header
// Retry-After is the duration after, rounded up to whole seconds.
func RateLimited(after time.Duration) Fault {
	return Fault{fake.Fault{Kind: fake.RateLimited, After: fake.Duration(after)}}
}

// NotReached fails the connection before the request is sent, so that the client can
// prove that nothing was sent. The client retries such a request, even a send. The call
// fails only if all of its attempts take this fault.
//
// NotReached requires the transport of a client of [Server.Client]. With any other
// transport, the request arrives and is not carried out. The server closes the connection
// without a response, so that the client reports an unknown delivery. Reads are reported as
// unknown too: without a body, nothing proves that they were not sent.
func NotReached() Fault { return Fault{fake.Fault{Kind: fake.NotReached}} }

// Malformed carries out the request, and then responds with status 200 and the given
// body, such as truncated JSON or the HTML page of a proxy. The body determines whether
// the client can know that the request was carried out.
func Malformed(body string) Fault { return Fault{fake.Fault{Kind: fake.Malformed, Body: body}} }

// AnswerLost carries out the request, and then closes the connection without a response.
// The client cannot know whether the broadcast was sent.
func AnswerLost() Fault { return Fault{fake.Fault{Kind: fake.AnswerLost}} }

// Slow delays the request by d, or until the client cancels it. The request is carried
// out in both cases, so a client that times out cannot know whether the broadcast was
// sent. To see what was carried out after a client gave up, call [Server.Close] first.
func Slow(d time.Duration) Fault {
	return Fault{fake.Fault{Kind: fake.Slow, After: fake.Duration(d)}}
}
