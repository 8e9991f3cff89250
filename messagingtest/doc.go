// Package messagingtest provides an in-memory messaging and events service. It
// is for tests of programs that use package messaging, and for trying package
// messaging without an account.
//
//	func TestOrdersAreConfirmed(t *testing.T) {
//		service := messagingtest.NewServer(t)
//		shop := NewShop(service.Client())
//
//		shop.Confirm(t.Context(), "A-1001")
//
//		require.Len(t, service.EmailBroadcasts(), 1)
//		assert.Equal(t, "Order A-1001", service.EmailBroadcasts()[0].Subject)
//	}
//
// A [Server] keeps state. A broadcast or a trigger creates or updates the
// customers that it names. An event that was created can be triggered and
// listed. [Server.EmailBroadcasts], [Server.PushBroadcasts], [Server.Triggers]
// and [Server.Customers] return what the service has carried out.
// [Server.Requests] returns every request, including those that were refused.
//
// # Failures
//
// [Server.FailNext] makes the next requests fail. A [Fault] says how. The most
// important one is [AnswerLost]: the service sends the broadcast, but the caller
// does not receive the response.
//
//	service.FailNext(1, messagingtest.AnswerLost())
//
// [Server.AddFaultRule] selects the requests that fail by their operation, so
// that other calls of the program under test do not take the fault:
//
//	service.AddFaultRule(messagingtest.Rule{Op: "trigger event", Count: 1, Fault: messagingtest.AnswerLost()})
//
// # Long-running programs
//
// [WithObserver] reports each request with its outcome as an [Exchange]: what the
// request created, which customers it changed and why it was refused.
// [WithHistory] limits what the server records, and [Server.Reset] empties it.
//
// # What is checked
//
// The server validates requests by the rules of the service. Its code is
// independent of the client's validation. An invalid request changes nothing.
// Its response has status 422 and lists every problem under the path of the
// field, such as recipients.0.customers.1.email. The path of a single recipient
// starts with recipients.0 too. The other status codes of refused requests are:
//
//   - 400: the body is incomplete or not a JSON object, or the query is malformed
//   - 401: the API key is missing or wrong
//   - 404: the path is unknown
//   - 405: the path does not allow the method
//   - 413: the body is larger than 64 MiB
//   - 415: the Content-Type is not application/json
//
// The server accepts two kinds of questionable values. Like the service, it skips
// the value of a timestamp parameter that is not in the form
// 2006-01-02T15:04:05Z: it triggers the event without the value and lists the
// parameter in the Skipped field of the [Trigger]. And it does not check values
// for which the service documents no rule: values of other parameters, template
// variables, schedule dates and time zones.
package messagingtest
