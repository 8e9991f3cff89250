// Package messaging is a client for a messaging and events service: it sends
// e-mail and push broadcasts, defines and triggers events, and lists customers,
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
// Every error of this package tells what became of the request. Ask with
// [DeliveryOf]:
//
//   - [DeliveryNotSent]: the service never got it. Send it again when you like.
//   - [DeliveryRejected]: the service refused it and did nothing. Mend it first,
//     or wait where the error is [ErrRateLimited].
//   - [DeliveryUnknown]: the answer was lost, or says nothing that can be relied
//     upon. It may have been carried out: find out before sending it again.
//   - [DeliveryAccepted]: it was carried out, and only the answer could not be
//     read. Do not send it again.
//
// In code:
//
//	_, err := client.Broadcasts.SendEmail(ctx, params)
//	switch messaging.DeliveryOf(err) {
//	case messaging.DeliveryAccepted: // sent; err is nil, or only the answer was lost on us
//	case messaging.DeliveryNotSent: // queue it again
//	case messaging.DeliveryRejected: // mend it, errors.As(err, &apiError) tells how
//	case messaging.DeliveryUnknown: // put it aside: somebody has to look
//	}
//
// This matters for sends. A read changes nothing, and can be repeated whatever
// its delivery.
//
// "Not sent" is said only where it is proved: the transport asked for a
// connection and never got one. Nothing else can be known. A connection that
// breaks before the answer looks the same whether the service has acted or not,
// no kind of error tells the one from the other, and a gateway can answer 503 for
// a service that has done its work.
//
// # Errors
//
// There is one type of error for each stage of a call. [ValidationError]: the
// arguments were refused here. [TransportError]: there was no usable answer.
// [APIError]: the service answered no. [DecodeError]: a 2xx answer can't be
// understood. A range ends with a [PageError] around one of them. Test for a
// situation with [errors.Is] and the Err variables, and read the details with
// [errors.As]. The texts name the operation, and hold neither the API key nor a
// URL; personal data can stand in them only where the service quotes it.
//
// # Retries
//
// A call is repeated, up to [RetryPolicy] and within its context, only where that
// can do no harm. A send is every method but GET and HEAD.
//
//	what happened                                   read  send  delivery
//	refused here, or by key source or limiter       no    no    not sent
//	no connection, for the moment                   yes   yes   not sent
//	no connection: host, certificate or proxy       no    no    not sent
//	connected, no answer                            yes   (1)   unknown
//	the context ended, connected                    no    no    unknown
//	429                                             yes   (2)   rejected
//	408, 425, 500, 502, 503, 504, 520 to 599        yes   (1)   unknown
//	any other 4xx, 501, 505                         no    no    rejected
//	3xx, 101, 511, any other status                 no    no    unknown
//	2xx, success false                              no    no    rejected
//	2xx, cut short                                  yes   no    unknown
//	2xx, no answer of the service                   no    no    unknown
//	2xx, success true, data that can't be read      no    no    accepted
//
// (1) with [WithRepeatableSend]. (2) with RetryRateLimitedSends in the policy.
//
// The delivery of a call is the worst of its attempts. Redirects are never
// followed. Which failures are repeated is not covered by semantic versioning.
//
// # Ranges
//
// All and Pages send nothing before the range begins, and every range starts
// over. An error comes once, last, with the zero item, as a [*PageError]; the
// items before it stay valid, and its Cursor, given back in the params, resumes
// at the page that failed. A loop that has to resume after an error of its own
// ranges over Pages, where every page tells its cursor.
//
// From the second page on, the next page is fetched while the loop works on the
// current one; see [WithoutReadAhead]. Leaving the loop cancels what is under
// way and leaves no goroutine behind. Items that have been fetched are still
// yielded after the context ends.
//
// An empty page in the middle does not end the range. A page that leads back to
// an earlier one, that promises a next page without a cursor, or that is the end
// of too many empty ones is [ErrBadCursor]: never a silent end, never a circle.
// The service decides what happens to records that are added meanwhile.
//
// # Validation
//
// Arguments are checked before anything is sent, and everything that is wrong is
// reported at once, each under its path on the wire. [WithoutValidation] lifts
// the checks for required and well-formed fields. It does not lift those that
// keep the service from misreading a request: filters that select somebody else,
// and timestamps that it would skip in silence.
//
// # Concurrency
//
// A [Client] never changes and can be used by any number of goroutines. Params
// are taken by value; what they point to must not change during the call.
package messaging
