// Package messagingtest provides an in-memory messaging and events service. Use it in the
// tests of programs that use package messaging, or to try package messaging without an
// account.
//
//	func TestOrdersAreConfirmed(t *testing.T) {
//		service := messagingtest.NewServer(t)
//		shop := NewShop(service.Client())
//
//		shop.Confirm(t.Context(), "A-1001")
//
//		require.Len(t, service.EmailBroadcasts(), 1)
//		assert.Equal(t, "Order A-1001", service.EmailBroadcasts()[0].Params.Subject)
//	}
//
// A [Server] keeps state. A broadcast or a trigger creates or updates the customers that
// it names. A created event can be triggered, and appears in the list of events.
// [Server.EmailBroadcasts], [Server.PushBroadcasts], [Server.Triggers] and
// [Server.Customers] return what the service has carried out. [Server.Requests] returns
// every request, including the refused ones.
//
// # Failures
//
// [Server.Fail] makes requests fail in the way that a [Fault] describes. The most
// important fault is [AnswerLost]: the service sends the broadcast, but the caller does
// not receive the response.
//
//	service.Fail("send email broadcast", 1, messagingtest.AnswerLost())
//
// # Tests that take no time
//
// With [InMemory], a server works in a bubble of [testing/synctest]. The clock of a bubble
// moves on when all of its goroutines wait, so that a retry after a minute takes no time:
//
//	func TestSaleIsSentAfterARetry(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			service := messagingtest.NewServer(t, messagingtest.InMemory())
//			service.Fail("", 1, messagingtest.RateLimited(time.Minute))
//			shop := NewShop(service.Client(messaging.WithRetryPolicy(
//				messaging.RetryPolicy{MaxRetryAfter: 2 * time.Minute})))
//
//			shop.AnnounceSale(t.Context())
//
//			assert.Len(t, service.PushBroadcasts(), 1)
//		})
//	}
//
// When a client gives up on a [Slow] request, the service still carries it out. In a bubble,
// synctest.Wait waits for that.
//
// # What the service does not document
//
// The documentation of the service leaves open what a trigger does if an email address
// alone identifies the customer, and no customer has that address. This server creates the
// customer. With [IdentifyByCustomerID], such a trigger is invalid. Do not rely on either.
//
// It also leaves open what happens to a broadcast that is scheduled for a time in the past.
// This server refuses the broadcast if that time is more than a minute before the request
// arrives.
//
// # What is checked
//
// The server validates requests by the rules of the service. Its validation shares no
// code with the client's. An invalid request changes nothing. Its response has status
// 422, and lists every problem under the path of the field, such as
// recipients.0.customers.1.email. The path has that 0 even if recipients
// is an object rather than a list. These are the status codes of the
// other refused requests:
//
//   - 400: the body is incomplete or not a JSON object, or the query is malformed
//   - 401: the API key is missing or wrong
//   - 404: the path is unknown
//   - 405: the path does not allow the method
//   - 413: the body is larger than 16 MiB
//   - 415: the Content-Type is not application/json
//
// The server accepts two kinds of questionable values:
//
//   - The value of a timestamp parameter that is not in the form 2006-01-02T15:04:05Z.
//     Like the service, the server triggers the event and silently ignores the value. It
//     lists the parameter in the Skipped field of the [Trigger].
//   - Values for which the service documents no rule: the values of other parameters, and
//     template variables.
package messagingtest
