// Package fake is the messaging service in memory, for package messagingtest and the
// sandbox. What was sent to it, it keeps as the params of the client, which it reads by
// itself: neither reading nor validation shares code with the client's.
//
// A [Server] is an http.Handler without a listener. It keeps state: a broadcast or a trigger
// creates or updates the customers that it names, and a created event can be triggered.
// What it returns is shared, and must not be modified.
package fake
