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
// Package [github.com/messaging-go/messaging/messagingtest] is an in-memory fake of the
// service, for tests and for trying things out without an account.
//
// # What to do after a call
//
// [NextStepOf] returns what to do after a
// call, whether it failed or not:
//
//	_, err := client.Events.Trigger(ctx, params)
//	switch messaging.NextStepOf(err) {
//	case messaging.NextNone:
//		// Done. If err is not nil, the response could not be read, and the results of the
//		// call are zero values.
//	case messaging.NextRetry:
//		// Make the same call again later. For example, there was no connection, or you
//		// hit a rate limit.
//	case messaging.NextFixRequest:
//		// Set this request aside and go on with others: the arguments are invalid, or a
//		// guard or the service refused it.
//	case messaging.NextFixSetup:
//		// Keep it, stop, and raise an alert: the API key, the base URL, the host, a proxy
//		// or your own transport needs attention.
//	case messaging.NextCheck:
//		// Set it aside: someone has to find out whether it was carried out.
//	}
//
// For logs and metrics, [DeliveryOf] returns what happened to the request; see [Delivery]. A
// 503 does not prove that nothing was done: a gateway can return one after the service has
// done the work. With the default transport, an attempt that cannot connect has sent
// nothing, and never will.
//
// # Contexts
//
// Do not pass the context of an HTTP handler, r.Context(), to a send. It ends when the
// browser disconnects, and the delivery of a send that is in progress is then unknown. Keep
// the values of the context, and give the send its own time limit:
//
//	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), time.Minute)
//	defer cancel()
//
// # Errors
//
// There is one error type for each kind of failure:
//
//   - [ValidationError]: the arguments are invalid, and nothing was sent.
//   - [GuardError]: a guard refused the send, and nothing was sent.
//   - [TransportError]: there was no usable response.
//   - [APIError]: the service returned a status other than 2xx, or success false.
//   - [DecodeError]: a 2xx response cannot be read.
//   - [PageError]: an iteration ended with one of the errors above.
//
// Use [errors.Is] with the Err variables to test for a particular condition, and
// [errors.As] to read the details.
//
// Error texts name the operation. They contain neither the API key nor the query of a URL,
// and no personal data except what the service itself wrote in its message.
//
// # Failures and retries
//
// This table lists what [NextStepOf] returns, without the prefix Next. GET and HEAD requests are
// reads; all others are sends. The delivery column is about sends.
//
//	what happened                                        delivery  read        send
//	invalid arguments, a guard's refusal                 not sent  FixRequest  FixRequest
//	not begun: key source, limiter, context              not sent  Retry       Retry
//	not begun: malformed API key                         not sent  FixSetup    FixSetup
//	no connection (temporary)                            not sent  Retry       Retry
//	no connection: host, certificate or proxy            not sent  FixSetup    FixSetup
//	an unknown error from your transport                 not sent  Retry       FixSetup (1)
//	connected, no response                               unknown   Retry       Check (1)
//	connected, and the caller's context ended            unknown   Retry       Check (1)
//	429                                                  rejected  Retry       Retry
//	408, 425, 500, 502, 503, 504, 520 to 599             unknown   Retry       Check (1)
//	422 with JSON, 413, 414, most other 4xx (2)          rejected  FixRequest  FixRequest
//	404 (2)                                              rejected  FixSetup    FixRequest
//	any other 4xx, 501, 505                              rejected  FixSetup    FixSetup
//	3xx, 101, 511, any other status                      unknown   FixSetup    Check
//	2xx with success false; a trigger with data false    rejected  FixRequest  FixRequest
//	2xx with a truncated body                            unknown   Retry       Check
//	2xx that is not from the service, such as HTML       unknown   FixSetup    Check
//	2xx with success true and unreadable data            accepted  FixSetup    None
//
// (1) It is Retry with [WithRepeatableSend]. (2) Only if the body is JSON from the service:
// an object with a boolean success. The statuses 401, 402, 403, 405, 406, 407, 410, 421,
// 423, 426, 428, 431, 451 and 499 are FixSetup with any body. If the
// base URL ends in /v1, any 404 is FixSetup. [ErrCustomerNotFound], [ErrEventNotFound] and
// [ErrEventDiffers] are FixRequest, and so is a 404 (2) of a read with [Client.Do].
// Creating an event is FixSetup after any 404, since it refers to no existing
// record.
//
// The client itself retries where the table says Retry, unless the key source, the limiter
// or the context stopped the attempt before it began. It also retries a 401 if the key source
// returns another key. The [RetryPolicy], [WithNotAfter] and the context of the call limit the
// retries. A call that ends because of WithNotAfter is FixRequest, or Check if its delivery is
// unknown.
//
// The table assumes that the service has done nothing when it returns success false, or a
// 4xx other than 408 and 425; for 429, RFC 6585 suggests as much. The table also assumes
// that the service never acts on an incomplete request body.
//
// With several attempts, a call is accepted if any attempt was, otherwise unknown if any was,
// otherwise rejected if any was. If the context ends while a call waits to retry,
// the row of its last attempt applies.
//
// [WithHTTPClient] explains which connection rows apply to your own transport.
// Which failures are retried may change in a minor version.
//
// # Iteration
//
// All and Pages return iterators. An iterator sends nothing until you range over it, and
// a second range starts over. If a page fails, the iterator yields a [*PageError], which has
// the cursor to resume at, and ends. The items before it are valid. Always range with two
// variables: with one, an error looks like a zero item.
//
// To resume after a crash, range over Pages, and save the Cursor of a page before you
// process its items. After a crash you get that page again, so overwrite or undo what you
// did with it, as [examples/export] does by truncating its file. When a page is done, save
// its Meta.NextPageCursor. After the last page it is "", so a new range starts over.
//
// Once the loop has reached the second page, each following page is fetched while the
// loop works on the one before it; see [WithoutReadAhead]. Leaving the loop cancels a
// request in progress and leaves no goroutine behind. Items that have been fetched are
// yielded even after the context is done.
//
// A loop never stops early without an error, and never follows a cursor that it has seen. It
// ends with [ErrBadCursor] if the next cursor is missing or repeated, or after more than 100
// empty pages in a row. It ends with a [*DecodeError] if a later page does not say whether
// another one follows. The service decides whether you see records that
// are added during the loop.
//
// # Observability
//
// [WithLogger] logs each attempt. [Hooks] observe calls and attempts for traces and
// metrics; the module github.com/messaging-go/messaging/otelmessaging does that with
// OpenTelemetry.
//
// # Testing and dependencies
//
// The services of a [Client] are concrete types without interfaces. Tests need no mocks of
// them: the fake in package messagingtest can fail as the service does. In a bubble of
// [testing/synctest], its option InMemory lets retries and timeouts take no time.
//
// Seven small modules are linked into your program. github.com/hashicorp/go-retryablehttp,
// which uses github.com/hashicorp/go-cleanhttp, does the retries.
// github.com/google/go-querystring writes the queries of lists. github.com/go-faster/jx, which
// uses github.com/go-faster/errors, github.com/segmentio/asm and golang.org/x/sys, reads
// responses token by token. go-retryablehttp and go-cleanhttp have the license MPL-2.0, and the
// others have MIT, BSD or Apache-2.0.
//
// # What the service cannot do
//
// The service has no operation to send a single transactional message, to update or delete a
// customer or an event, or to list triggers, broadcasts or segments. It has no webhooks. It
// documents no limit on the size of a request. If your service has more operations, call them
// with [Client.Do].
//
// # Compatibility
//
// This package supports the two latest releases of Go. What is deprecated is kept until the
// next major version.
//
// In a minor version, structs can get fields, and may stop being comparable. So name the
// fields of a literal, and do not compare structs with ==. Compare filters and audiences with
// their Equal methods. When a member of Extra gets a field, it moves from Extra to that field.
// Functions can get options. To store a [Delivery] or a [NextStep], store its
// MarshalText. All of this also applies to the other packages of this repository.
//
// # Concurrency
//
// A [Client] is immutable and can be used by any number of goroutines. Do not modify the
// maps and slices in params during the call.
//
// An iterator fetches the next page in another goroutine. So everything that you give a
// client (key source, rate limiter, guards, hooks, log handler, transport, cookie jar) must
// be safe for concurrent use, even if your program starts no goroutines.
//
// [examples/export]: https://github.com/messaging-go/messaging/tree/main/examples/export
package messaging

// Version is the version of this package, sent in the User-Agent header.
const Version = "1.0.0"
