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
// "Not sent" is said only where it is proved: the transport asked for a
// connection and never got one. No kind of error proves as much; a connection
// that breaks in the middle looks the same whether the service acted or not.
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
// can do no harm. Reads are repeated after a lost answer, a timeout, and the
// statuses 408, 425, 429, 500, 502, 503, 504 and 520 to 599. A send, which is
// every other method, is repeated only while it is proved that nothing was sent,
// unless the call says otherwise with [WithRepeatableSend] or the policy with
// RetryRateLimitedSends. Redirects are never followed. Which failures are
// repeated is not covered by semantic versioning.
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
