// Package messagingtest is the messaging and events service in memory: for the
// tests of programs that use package messaging, and for trying it out without an
// account.
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
// A [Server] keeps state: a broadcast or a trigger creates the customers that it
// names or updates them, an event that was created can be triggered and listed.
// What was carried out can be read back with [Server.EmailBroadcasts],
// [Server.PushBroadcasts], [Server.Triggers] and [Server.Customers], and every
// request as it came, refused ones included, with [Server.Requests].
//
// # Failures
//
// [Server.FailNext] makes the next requests fail, in the ways that a program
// has to be ready for. The awkward one is [AnswerLost]: the broadcast goes out,
// and the caller never hears of it.
//
//	service.FailNext(1, messagingtest.AnswerLost())
//
// # What is checked
//
// Requests are held against the rules of the service by code that shares nothing
// with the client. One that breaks them is answered 422 and changes nothing; the
// answer lists every problem under the path of its field, such as
// recipients.0.customers.1.email, where a single recipient counts as
// recipients.0. A request over 64 MiB is answered 413, a body that is not
// announced as application/json 415, one that is not a JSON object 400, a missing
// or wrong API key 401, an unknown path 404, and a known one with another method
// 405.
//
// Two things pass on purpose. A value of a timestamp parameter in any form but
// 2006-01-02T15:04:05Z is skipped, as the service does: the event is triggered
// without it, and [Trigger] lists it as Skipped. And what the service has no
// stated rule for is taken as it comes: values of other parameters, template
// variables, schedule dates and time zones.
package messagingtest
