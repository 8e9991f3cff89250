// Package history keeps the exchanges of the sandbox, finds them and waits for new
// ones.
package history

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/memory"
	"github.com/messaging-go/messaging/internal/fake"
)

// Entry is a recorded exchange. It is never modified. Its effect has no variables and no
// values of a payload: decoded, they take many times the memory of the body, which has
// them too.
type Entry struct {
	*fake.Exchange
	// Skipped lists the parameters of a trigger that the service skipped.
	Skipped []Skipped
	// ReplayOf is the number of the request that this one repeats, or 0.
	ReplayOf int
	// Cut reports whether only the beginning of the request is kept, because it is too
	// large.
	Cut bool
	// Attempt counts what look like the attempts of a call from 1, and Previous is the number
	// of the one before this one, or 0. They can be separate calls too.
	Attempt, Previous int
	// Mark is the latest mark before the request, or nil.
	Mark *Mark

	variables  map[string]json.RawMessage // of a large email
	size       int64
	content    uint64 // the same for requests that are the same
	call       uint64 // the same for those of one client
	twin       int    // the number of the latest send that is the same, if both were carried out
	afterTwin  time.Duration
	duplicate  atomic.Int64  // the number of the next send that is a duplicate of this one
	next       atomic.Int64  // the number of the next attempt
	delivery   atomic.Uint32 // of the method Delivery
	noteFinder *noteFinder
	notes      atomic.Pointer[[]Note] // of the method Notes, or nil if it is not known yet
	// eventName is the name of the event of a trigger that was not carried out.
	eventName string
}

// Skipped is a parameter of a trigger that the service skipped without an error.
type Skipped struct {
	Parameter string          `json:"parameter"`
	Value     json.RawMessage `json:"value"` // as it was sent
	Reason    string          `json:"reason"`
}

const skippedReason = "a timestamp is read only in UTC, with seconds and a Z at its end, such as 2026-11-21T09:00:00Z"

// newEntry returns an entry that holds at most about maxBytes.
func newEntry(e *fake.Exchange, eventName func(id string) string, maxBytes int64) *Entry {
	kept := *e
	kept.Effect = withoutValues(e.Effect)
	kept.Customers = withoutDevices(e.Customers)
	entry := &Entry{Exchange: &kept, ReplayOf: takeReplay(&kept), Attempt: 1}
	entry.content, entry.call = sameAs(e)
	if e.Effect == nil && eventName != nil {
		if id, _ := entry.EventName(); id != "" {
			entry.eventName = eventName(id)
		}
	}
	if trigger, ok := e.Effect.(*fake.Trigger); ok && len(trigger.Skipped) > 0 {
		payload := entry.Payload()
		for _, name := range trigger.Skipped {
			entry.Skipped = append(entry.Skipped, Skipped{name, validJSON(payload[name]), skippedReason})
		}
	}
	if email, ok := e.Effect.(*fake.EmailBroadcast); ok && len(e.Request.Body) > maxDecoded {
		entry.variables = rawValues(email.Variables)
	}
	if entry.size = memory.SizeOf(entry) + besideEntry; entry.size > maxBytes {
		entry.cut()
		entry.size = memory.SizeOf(entry) + besideEntry
	}
	return entry
}

// besideEntry is about how many bytes the overview of the inspector keeps for an entry.
const besideEntry = 48

// rawValues returns values as JSON, to show them without reading a large body again.
func rawValues(values map[string]any) map[string]json.RawMessage {
	raw := make(map[string]json.RawMessage)
	for name, value := range values {
		raw[name], _ = json.Marshal(value) // it was read from JSON
	}
	return raw
}

// withoutValues returns an effect without the values that its body has too.
func withoutValues(effect any) any {
	switch effect := effect.(type) {
	case *fake.EmailBroadcast:
		kept := *effect
		kept.Variables = nil
		return &kept
	case *fake.Trigger:
		kept := *effect
		kept.Values = nil
		return &kept
	default:
		return effect
	}
}

// withoutDevices returns changes without the devices of the customers: otherwise each
// change of a customer would keep all of them again.
func withoutDevices(changes []fake.CustomerChange) []fake.CustomerChange {
	kept := slices.Clone(changes)
	for i := range kept {
		kept[i].Customer.Devices = nil
	}
	return kept
}

// What an entry that is too large keeps of its bodies, and of its lists.
const keptBytes, keptItems = 64 << 10, 100

// cut keeps the beginning of each part of an entry.
func (e *Entry) cut() {
	e.Cut = true
	e.Request.Body = bytes.Clone(first(e.Request.Body, keptBytes))
	e.ResponseBody = bytes.Clone(first(e.ResponseBody, keptBytes))
	e.Customers = slices.Clone(first(e.Customers, keptItems))
	e.Skipped = slices.Clone(first(e.Skipped, keptItems))
	for i, skipped := range e.Skipped {
		if len(skipped.Value) > keptBytes/keptItems {
			e.Skipped[i].Value = json.RawMessage(`"…"`)
		}
	}
	problems := make(map[string][]string)
	for path, list := range e.Problems {
		if len(problems) < keptItems {
			problems[path] = list
		}
	}
	e.Problems = problems
	switch effect := e.Effect.(type) {
	case *fake.EmailBroadcast:
		e.variables = nil
		effect.Message, effect.Subject = firstText(effect.Message), firstText(effect.Subject)
		effect.CC, effect.BCC, effect.ReplyTo = nil, nil, nil
		effect.Recipients = nil
	case *fake.PushBroadcast:
		kept := *effect
		kept.Message, kept.Subject, kept.Recipients = firstText(effect.Message), firstText(effect.Subject), nil
		e.Effect = &kept
	case *fake.Trigger:
		effect.Skipped = first(effect.Skipped, keptItems)
		if effect.Customer != nil {
			customer := *effect.Customer
			customer.Devices = nil
			effect.Customer = &customer
		}
	}
}

func first[T any](list []T, n int) []T { return list[:min(len(list), n)] }

// firstText returns the beginning of a text, without a part of a character.
func firstText(text string) string {
	return strings.ToValidUTF8(strings.Clone(text[:min(len(text), keptBytes)]), "")
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

// Variables returns the variables of an email broadcast as they were sent.
func (e *Entry) Variables() map[string]json.RawMessage {
	if e.variables != nil {
		return e.variables
	}
	var body struct {
		Variables map[string]json.RawMessage `json:"variables"`
	}
	_ = json.Unmarshal(e.Request.Body, &body) // a body that is not JSON has no variables
	return body.Variables
}

// Values returns the values of a trigger as they were sent, without those that the service
// skipped.
func (e *Entry) Values() map[string]json.RawMessage {
	values := e.Payload()
	delete(values, "email")
	delete(values, "customer")
	for _, skipped := range e.Skipped {
		delete(values, skipped.Parameter)
	}
	return values
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
	case *fake.EmailBroadcast:
		return EmailBroadcast
	case *fake.PushBroadcast:
		return PushBroadcast
	case *fake.Trigger:
		return Trigger
	case *fake.Event:
		return Event
	default:
		return ""
	}
}

// ReplayHeader marks a request that repeats a recorded one, with its number. It is not
// kept, and requests from outside cannot have it.
const ReplayHeader = "Messaging-Sandbox-Replay"

// takeReplay removes the mark of a replay from the header, and returns its number.
func takeReplay(e *fake.Exchange) int {
	mark := e.Request.Header.Get(ReplayHeader)
	if mark == "" {
		return 0
	}
	e.Request.Header = e.Request.Header.Clone()
	e.Request.Header.Del(ReplayHeader)
	number, _ := strconv.Atoi(mark) // the sandbox itself wrote it
	return number
}
