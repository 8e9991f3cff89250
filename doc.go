// Package messaging is a client for a messaging and events service. It sends email and
// push broadcasts, defines and triggers events, and lists customers, event definitions
// and transactional messages.
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
// Package [github.com/messaging-go/messaging/messagingtest] is the service in memory,
// for tests and for trying things out without an account.
//
// # Delivery
//
// Every error of this package reports what happened to the request; see [DeliveryOf]:
//
//   - [DeliveryNotSent]: the service did not receive it.
//   - [DeliveryRejected]: the service refused it and did nothing.
//   - [DeliveryUnknown]: the response was lost or is inconclusive. The request may have
//     been carried out.
//   - [DeliveryAccepted]: the request was carried out. An error then concerns only the
//     response.
//
// [Retryable] reports whether the same call may be made again and may then succeed.
// Together they decide what to do after a send:
//
//	_, err := client.Events.Trigger(ctx, params)
//	switch delivery := messaging.DeliveryOf(err); {
//	case delivery == messaging.DeliveryAccepted:
//		// Done. An error concerns only the response.
//	case messaging.Retryable(err):
//		// Send it again later: no connection, a rate limit, a context that ended.
//	case delivery == messaging.DeliveryUnknown:
//		// Set it aside: someone has to find out whether it was carried out.
//	case errors.Is(err, messaging.ErrValidation):
//		// Fix the request: invalid arguments, or a 422.
//	default:
//		// Keep it and raise an alert: the API key, the base URL, the host or your
//		// transport needs attention.
//	}
//
// [DeliveryNotSent] alone does not mean "send it again", because invalid arguments are
// not sent either. Test for [ErrCustomerNotFound] and [ErrEventNotFound] before
// [ErrNotFound], because they match ErrNotFound as well.
//
// [DeliveryNotSent] is reported only if it is certain. The type of an error proves
// nothing, and a gateway can send a 503 for a service that has done its work. The
// transport that a [Client] creates sends nothing after it has failed to get a
// connection. A transport that you supply with [WithHTTPClient], or that replaces
// [http.DefaultTransport], may still send a request after it has returned an error.
// With such a transport, a request counts as not sent only if the transport has neither
// read its body nor reported any headers as written. From then on the body is locked.
// So a request without a body, and one whose body the transport reads early, never
// count as not sent.
//
// # Errors
//
// There is one type of error for each stage of a call:
//
//   - [ValidationError]: the arguments are invalid, and nothing was sent.
//   - [GuardError]: a guard refused the send, and nothing was sent.
//   - [TransportError]: there was no usable response.
//   - [APIError]: the service refused, with a status other than 2xx or with success
//     false.
//   - [DecodeError]: a 2xx response cannot be read.
//   - [PageError]: a range ended with one of the errors above.
//
// Use [errors.Is] with the Err variables to test for a situation, and [errors.As] to read
// the details. Error texts name the operation. They contain neither the API key nor a
// URL, and personal data only where the service quotes it.
//
// # Retries
//
// A call is retried only if it cannot be carried out twice, within the limits of
// [RetryPolicy] and its context. A request whose method is GET or HEAD is a read; any
// other request is a send.
//
//	what happened                                       read  send  delivery
//	not begun: arguments, key source, limiter, context  no    no    not sent
//	no connection (temporary)                           yes   yes   not sent
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
//	2xx, success true, and data that cannot be read     no    no    accepted
//
// (1) with [WithRepeatableSend]. The table assumes that a service that returns 429,
// another 4xx or success false did nothing, and that a service never acts on an
// incomplete body. For 429, RFC 6585 suggests as much.
//
// If one attempt was accepted, the call was accepted. Otherwise the least certain attempt
// decides: unknown, then rejected, then not sent. Redirects are not followed. With a
// transport that you supply, any failure before the body is read counts as not sent for
// a send with a body, and as unknown for any other request. Which failures are retried
// is not covered by semantic versioning.
//
// # Ranges
//
// All and Pages send nothing before the range begins, and every range starts over. An
// error is yielded once, at the end, with the zero item, as a [*PageError]. The items
// before it are valid. Pass its Cursor in the params of another range to resume at the
// page that failed.
//
// To resume after an error in your own code, or after a crash, range over Pages. Keep the
// Cursor of a page while you work on it: passed back, it reads the same page again, from
// its first item on. So either make the work on an item repeatable, or undo the work on
// that page, as [examples/export] does by truncating its file. Keep the NextPageCursor
// when the page is done; after the last page it is "".
//
// From the second page on, the next page is fetched while the loop works on the current
// one; see [WithoutReadAhead]. Leaving the loop cancels a request in progress and leaves
// no goroutine behind. Items that have been fetched are yielded even after the context
// has ended.
//
// An empty page does not end a range. [ErrBadCursor] reports a page whose next cursor is
// missing or is that of an earlier page, and too many empty pages in a row: a range
// neither stops early nor loops. Whether records that are added in the meantime are
// listed depends on the service.
//
// # Validation
//
// Arguments are checked before anything is sent. The error lists every problem, each
// under its path on the wire. [WithoutValidation] skips the checks for required and
// well-formed fields. It does not skip the checks for what the service would misread,
// such as a filter that selects customers you did not name, or a timestamp that the
// service would silently ignore.
//
// # Preparing and guarding sends
//
// The Prepare methods of the params check and encode a send without sending it. The
// [Prepared] that they return can be shown, stored as JSON, and sent later with
// [Client.Send], even by another program.
//
// A guard, see [WithGuard], sees every send before it goes out and can refuse it.
// [AllowOnly] keeps a test system from sending to customers.
//
// # Observing
//
// Errors, logs, hooks, spans and metrics use one name for each operation:
//
//	send email broadcast         BroadcastsService.SendEmail
//	send push broadcast          BroadcastsService.SendPush
//	create event                 EventsService.Create, and Ensure when it creates
//	trigger event                EventsService.Trigger
//	list events                  EventsService.List, Pages and All
//	get event                    EventsService.GetByName, and Ensure when it looks up
//	list customers               CustomersService.List, Pages and All
//	get customer                 CustomersService.Get and GetByEmail
//	list transactional messages  TransactionalService.List, Pages and All
//
// A request of [Client.Do] has the name in [Request.Op].
//
// [WithLogger] logs each attempt. [Hooks] observe calls and attempts for traces and
// metrics; the module github.com/messaging-go/messaging/otelmessaging does that with
// OpenTelemetry. Neither logs nor hooks receive a key, a recipient, a query, a body or a
// cursor.
//
// # Concurrency
//
// A [Client] never changes and can be used by any number of goroutines. Params are
// passed by value; what they point to must not change during the call.
//
// A range fetches the next page in another goroutine. So everything that you give a
// client must be safe for concurrent use even if your program starts no goroutines: key
// source, rate limiter, guards, hooks, log handler and transport.
//
// [examples/export]: https://github.com/messaging-go/messaging/tree/main/examples/export
package messaging

// Version is the version of this package, sent in the User-Agent header.
const Version = "0.2.0"
