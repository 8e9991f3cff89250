// Package history keeps the exchanges of the sandbox, finds them and tells when
// there are new ones.
package history

import (
	"encoding/json"
	"net/http"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

// Entry is a recorded exchange. It is never modified.
type Entry struct {
	*messagingtest.Exchange
	// Skipped lists the parameters of a trigger that the service skipped.
	Skipped []Skipped
	size    int64
}

// Skipped is a parameter of a trigger that the service skipped without an error.
type Skipped struct {
	Parameter string          `json:"parameter"`
	Value     json.RawMessage `json:"value"` // as it was sent
	Reason    string          `json:"reason"`
}

const skippedReason = "a timestamp is read only in the form 2006-01-02T15:04:05Z"

func newEntry(e *messagingtest.Exchange) *Entry {
	entry := &Entry{Exchange: e, size: size(e)}
	if trigger, ok := e.Effect.(*messagingtest.Trigger); ok && len(trigger.Skipped) > 0 {
		payload := entry.Payload()
		for _, name := range trigger.Skipped {
			entry.Skipped = append(entry.Skipped, Skipped{name, payload[name], skippedReason})
		}
	}
	return entry
}

// Payload returns the payload of a trigger as it was sent.
func (e *Entry) Payload() map[string]json.RawMessage {
	var body struct {
		Payload map[string]json.RawMessage `json:"payload"`
	}
	_ = json.Unmarshal(e.Request.Body, &body) // a body that is not JSON has no payload
	return body.Payload
}

// Kind is what a request created.
type Kind string

// The kinds of effects.
const (
	EmailBroadcast Kind = "email_broadcast"
	PushBroadcast  Kind = "push_broadcast"
	Trigger        Kind = "trigger"
	Event          Kind = "event"
)

// Kind returns what the request created, or "".
func (e *Entry) Kind() Kind {
	switch e.Effect.(type) {
	case *messagingtest.EmailBroadcast:
		return EmailBroadcast
	case *messagingtest.PushBroadcast:
		return PushBroadcast
	case *messagingtest.Trigger:
		return Trigger
	case *messaging.Event:
		return Event
	default:
		return ""
	}
}

// size estimates the memory of an exchange in bytes.
func size(e *messagingtest.Exchange) int64 {
	const fixed = 1536 // structs, and the maps of headers
	n := fixed + len(e.Request.Path) + len(e.ResponseBody) + 256*len(e.Customers)
	// The effect and the changes hold the values of the body once more.
	n += 2 * len(e.Request.Body)
	for _, header := range []http.Header{e.Request.Header, http.Header(e.Request.Query)} {
		for name, values := range header {
			n += len(name)
			for _, value := range values {
				n += len(value)
			}
		}
	}
	return int64(n)
}
