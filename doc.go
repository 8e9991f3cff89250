// Package messaging is a client for a messaging and events service: it sends
// email and push broadcasts, defines and triggers events, and lists customers,
// event definitions and transactional messages.
//
//	client, err := messaging.NewClient("https://api.example.com", os.Getenv("MESSAGING_API_KEY"))
//	if err != nil {
//		return err
//	}
//	for customer, err := range client.Customers.All(ctx, messaging.CustomerListParams{PerPage: 100}) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(customer.Email)
//	}
//
// Package [github.com/messaging-go/messaging/messagingtest] is the service in
// memory, for tests and for trying things out without an account.
//
// # Was it sent?
//
// Every error of this package says what happened to the request; see [DeliveryOf]:
//
//   - [DeliveryNotSent]: the service did not receive it.
//   - [DeliveryRejected]: the service refused it and did nothing.
//   - [DeliveryUnknown]: the response was lost or is inconclusive. The request may
//     have been carried out.
//   - [DeliveryAccepted]: it was carried out. With an error, only the response could
//     not be read.
//
// [Retryable] says whether the same call may be made again and may then succeed.
// Together they decide what to do about a send:
//
//	_, err := client.Events.Trigger(ctx, params)
//	switch delivery := messaging.DeliveryOf(err); {
//	case delivery == messaging.DeliveryAccepted:
//		// done; an error is about the response alone
//	case messaging.Retryable(err):
//		// queue it again: no connection, a rate limit, an ended context
//	case delivery == messaging.DeliveryUnknown:
//		// set it aside: somebody has to check whether it was carried out
//	case errors.Is(err, messaging.ErrValidation):
//		// fix the request: invalid arguments, or a 422
//	default:
//		// keep it, and alert: the API key, the base URL, the host or a transport of
//		// yours needs attention
//	}
//
// "Not sent" alone does not mean "queue it again": invalid arguments are not sent
// either. Test for [ErrCustomerNotFound] and [ErrEventNotFound] before [ErrNotFound],
// which they are too.
//
// "Not sent" is reported only if it is certain. The type of an error proves nothing,
// and a gateway can send a 503 for a service that has done its work. The transport that
// a [Client] creates sends nothing after it has failed to get a connection. A transport
// given with [WithHTTPClient], or a replaced [http.DefaultTransport], may still send a
// request after it has returned an error. With such a transport, "not sent" is reported
// only if it has not read the body of the request and reports no headers as written;
// after that, the body cannot be read any more. So a request without a body, and one
// whose body the transport reads in advance, are never "not sent" there.
//
// # Errors
//
// There is one type of error for each stage of a call. [ValidationError]: the
// arguments are invalid, nothing was sent. [TransportError]: there was no usable
// response. [APIError]: the service refused, with any status but 2xx or with success
// false. [DecodeError]: a 2xx response cannot be read. A range ends with a [PageError]
// around one of them. A [GuardError] is the refusal of a guard. Test for a situation
// with [errors.Is] and the Err variables, and read the details with [errors.As]. Error
// messages name the operation. They contain neither the API key nor a URL, and personal
// data only where the service quotes it.
//
// # Retries
//
// A call is retried, up to [RetryPolicy] and within its context, only if it cannot be
// carried out twice. A send is every method but GET and HEAD.
//
//	what happened                                       read  send  delivery
//	not begun: arguments, key source, limiter, context  no    no    not sent
//	no connection, for the moment                       yes   yes   not sent
//	no connection: host, certificate or proxy           no    no    not sent
//	connected, no response                              yes   (1)   unknown
//	connected, and the caller's context ended           no    no    unknown
//	429                                                 yes   yes   rejected
//	408, 425, 500, 502, 503, 504, 520 to 599            yes   (1)   unknown
//	any other 4xx, 501, 505                             no    no    rejected
//	3xx, 101, 511, any other status                     no    no    unknown
//	2xx, success false, or a trigger with data false    no    no    rejected
//	2xx, cut short                                      yes   no    unknown
//	2xx, but not a response of the service              no    no    unknown
//	2xx, success true, and data that cannot be read      no    no    accepted
//
// (1) with [WithRepeatableSend]. The table assumes that a service which responds 429,
// another 4xx or success false did nothing, and that a service does not act on a
// request whose body is incomplete. For 429 that is what RFC 6585 suggests.
//
// Behind a given transport, any failure before the body is read is "not sent" for a
// send with a body, and unknown for anything else. The delivery of a call is the
// worst of its attempts, but accepted if one was. Redirects are not followed. Which
// failures are retried is not covered by semantic versioning.
//
// # Ranges
//
// All and Pages send nothing before the range begins, and every range starts over. An
// error is yielded once, at the end, with the zero item, as a [*PageError]. The items
// before it are valid. Its Cursor, passed in the params of another range, resumes at
// the page that failed.
//
// To resume after an error of your own, or after a crash, range over Pages. Keep the
// Cursor of a page while you work on it: passed back, it reads the same page again, from
// its first item on. So either make the work on an item repeatable, or undo what was done
// of the page, as [examples/export] does, which cuts its file back. Keep
// the NextPageCursor when the page is done; after the last page it is "".
//
// From the second page on, the next page is fetched while the loop works on the
// current one; see [WithoutReadAhead]. Leaving the loop cancels a request in progress
// and leaves no goroutine behind. Items that have been fetched are yielded even after
// the context has ended.
//
// An empty page does not end a range. A page whose next cursor is missing, or is the
// cursor of an earlier page, and too many empty pages in a row are [ErrBadCursor]: a
// range neither stops early nor loops. Whether records that are added meanwhile are
// listed is up to the service.
//
// # Validation
//
// Arguments are checked before anything is sent. The error lists every problem, each
// under its path on the wire. [WithoutValidation] skips the checks for required and
// well-formed fields. It does not skip those for what the service would misread: a
// filter that selects other customers, a timestamp that it would skip.
//
// # Preparing and guarding sends
//
// The Prepare methods of the params check and encode a send without sending it. The
// [Prepared] they return can be shown, stored as JSON and sent later with [Client.Send],
// by another program too.
//
// A guard, see [WithGuard], is asked about every send before anything is sent, and can
// refuse it. [AllowOnly] keeps a test system from sending to customers.
//
// # Observing
//
// Errors, logs, hooks, spans and metrics call an operation by one name: "send email
// broadcast", "send push broadcast", "create event", "trigger event", "list events",
// "list customers", "list transactional messages", "get customer" for the lookup of a
// customer, "get event" for that of an event, in [EventsService.Ensure] as well, and what
// [Request.Op] says.
//
// [WithLogger] logs each attempt. [Hooks] observe calls and attempts for traces and
// metrics; the module github.com/messaging-go/messaging/otelmessaging does that with
// OpenTelemetry. None of them is told a key, a recipient, a query, a body or a cursor.
//
// # Concurrency
//
// A [Client] never changes and can be used by any number of goroutines. Params
// are taken by value; what they point to must not change during the call.
//
// A range fetches the next page in another goroutine. So the functions that a client
// is given, a key source, a rate limiter, a log handler and a transport, must be safe
// for concurrent use even in a program of one goroutine. So must hooks.
//
// [examples/export]: https://github.com/messaging-go/messaging/tree/main/examples/export
package messaging

// Version is the version of this package, sent in the User-Agent header.
const Version = "0.2.0"
