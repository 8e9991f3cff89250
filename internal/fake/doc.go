// Package fake is the messaging service in memory, for package messagingtest and the
// sandbox. It knows the JSON of the service, and nothing of the client: its validation
// shares no code with the client's.
//
// A [Server] is an http.Handler without a listener. It keeps state: a broadcast or a trigger
// creates or updates the customers that it names, and a created event can be triggered.
// What it returns is shared, and must not be modified.
package fake
