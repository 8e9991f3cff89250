// Package history keeps the exchanges of the sandbox, finds them and waits for new
// ones.
package history

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

// Entry is a recorded exchange. It is never modified.
type Entry struct {
	*messagingtest.Exchange
	// Skipped lists the parameters of a trigger that the service skipped.
	Skipped []Skipped
	size    int64
	// eventName is the name of the event of a trigger that was not carried out.
	eventName string
}

// Skipped is a parameter of a trigger that the service skipped without an error.
type Skipped struct {
	Parameter string          `json:"parameter"`
	Value     json.RawMessage `json:"value"` // as it was sent
	Reason    string          `json:"reason"`
}

const skippedReason = "a timestamp is read only in the form 2006-01-02T15:04:05Z"

func newEntry(e *messagingtest.Exchange, eventName func(id string) string) *Entry {
	entry := &Entry{Exchange: withoutDevices(e), size: size(e)}
	if e.Effect == nil && eventName != nil {
		if id, _ := entry.EventName(); id != "" {
			entry.eventName = eventName(id)
		}
	}
	if trigger, ok := e.Effect.(*messagingtest.Trigger); ok && len(trigger.Skipped) > 0 {
		payload := entry.Payload()
		for _, name := range trigger.Skipped {
			entry.Skipped = append(entry.Skipped, Skipped{name, validJSON(payload[name]), skippedReason})
		}
	}
	return entry
}

// withoutDevices returns the exchange without the devices of customers: otherwise each
// change of a customer would keep all of them again.
func withoutDevices(e *messagingtest.Exchange) *messagingtest.Exchange {
	if len(e.Customers) == 0 {
		return e
	}
	kept := *e
	kept.Customers = slices.Clone(e.Customers)
	for i := range kept.Customers {
		kept.Customers[i].Customer.Devices = nil
	}
	return &kept
}

// validJSON returns a value with its invalid UTF-8 replaced, which JSON cannot hold.
func validJSON(value json.RawMessage) json.RawMessage {
	return bytes.ToValidUTF8(value, []byte("\uFFFD"))
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
	const bytesOfValue = 100
	const fixed = 768 // structs, and the maps of headers
	n := fixed + len(e.Request.Path) + len(e.ResponseBody) + 256*len(e.Customers)
	// The effect and the changes hold the values of the body once more, each with its
	// own memory.
	values := bytes.Count(e.Request.Body, []byte(",")) + bytes.Count(e.Request.Body, []byte(":"))
	n += 2*len(e.Request.Body) + bytesOfValue*values
	for path, problems := range e.Problems {
		n += bytesOfValue + len(path)
		for _, problem := range problems {
			n += bytesOfValue + len(problem)
		}
	}
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
