// Package history keeps the exchanges of the sandbox, finds them and waits for new
// ones.
package history

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/outcome"
	"github.com/messaging-go/messaging/internal/fake"
	"github.com/messaging-go/messaging/internal/service"
)

// Entry is a recorded exchange, which is never modified. Of what the request did, it keeps
// what a row shows: decoded, all of it would take many times the memory of the body, which
// has it too. So the Effect and the Customers of the exchange are nil.
type Entry struct {
	*fake.Exchange
	// Delivery is what the SDK reports.
	Delivery messaging.Delivery
	// Kind is what the request created, or "".
	Kind Kind
	// Subject is that of a broadcast, even if it was not carried out.
	Subject string
	// EventID and EventName are those of the event that was triggered or created. An event
	// that was not created has no id. The name of one that was triggered is that at the time,
	// if it existed.
	EventID, EventName string
	// Parameters is how many the event has that was to be created.
	Parameters int
	// Names are the addresses of the first customers that the request names, even if it was not carried out, or else what else
	// names them. Named is how many there are. Those of a segment are not known.
	Names []string
	Named int
	// Everyone reports whether a broadcast is for all customers.
	Everyone bool
	// Segments are the first segments of a broadcast, and SegmentCount is how many there are.
	Segments     []string
	SegmentCount int
	// Changes are the first customers that the request created or updated.
	Changes          []Change
	Created, Updated int
	// Skipped lists the parameters of a trigger that the service skipped.
	Skipped []Skipped
	// Attempt counts what look like the attempts of a call from 1, and Previous is the number
	// of the one before this one, or 0. They can be separate calls too.
	Attempt, Previous int
	// DuplicateOf is the number of the same request that was carried out not long before this
	// one, which was carried out too, or 0. DuplicateAfter is the time between them.
	DuplicateOf    int
	DuplicateAfter time.Duration
	// Mark is the latest mark before the request, or nil.
	Mark *Mark
	// Notes returns what is worth a look. It is found out once, when somebody asks.
	Notes func() []Note

	size    int64
	content uint64       // the same for requests that are the same
	same    int          // the number of the same request before it, or 0
	next    atomic.Int64 // the number of the next attempt
	retried bool
}

// Note is what a rule finds in an entry.
type Note struct {
	Code string `json:"code"` // of the rule
	Text string `json:"text"`
}

// Codes are the codes of the rules, for searches.
var Codes = []string{"foreign_key", "key_header", "skipped", "duplicate", "name_as_id", "wrong_path", "sdk_refuses", "unknown_parameter",
	"wrong_type", "empty_value", "no_variable"}

// Change is a customer that a request created or updated.
type Change struct {
	Number     int    `json:"number"`
	Created    bool   `json:"created"`
	CustomerID string `json:"customer_id"`
	Email      string `json:"email"`
}

// Skipped is a parameter of a trigger that the service skipped without an error.
type Skipped struct {
	Parameter string          `json:"parameter"`
	Value     json.RawMessage `json:"value"` // as it was sent
	Reason    string          `json:"reason"`
}

const skippedReason = "a timestamp is read only in UTC, with seconds and a Z at its end, such as 2026-11-21T09:00:00Z"

// Kind is what a request created.
type Kind string

// The kinds of effects.
const (
	EmailBroadcast Kind = "email_broadcast"
	PushBroadcast  Kind = "push_broadcast"
	Trigger        Kind = "trigger"
	Event          Kind = "event"
)

// How many changes of customers, names of customers and names of segments an entry keeps, and how many bytes of a text that
// its body has whole.
const (
	MaxChanges  = 500
	maxNames    = 5
	maxSegments = 20
	maxClip     = 500
)

// What an entry counts as, beside its bodies: for itself, and for each change and problem.
const entryBytes, changeBytes = 2 << 10, 100

func newEntry(e *fake.Exchange, eventName func(id string) string) *Entry {
	kept := *e
	kept.Effect, kept.Customers = nil, nil
	err := outcome.Of(e)
	entry := &Entry{Exchange: &kept, Attempt: 1, content: contentOf(e),
		Delivery: messaging.DeliveryOf(err), retried: messaging.NextStepOf(err) == messaging.NextRetry}
	sent := e.Effect
	if sent == nil && len(e.Request.Body) <= maxRefused {
		sent = entry.Sent()
	}
	kind := entry.describe(sent, eventName)
	if e.Effect != nil {
		entry.Kind = kind
	}
	for _, change := range e.Customers {
		if change.Created {
			entry.Created++
		} else {
			entry.Updated++
		}
		if len(entry.Changes) < MaxChanges {
			customer := change.Customer
			entry.Changes = append(entry.Changes, Change{customer.Number, change.Created, customer.CustomerID, customer.Email})
		}
	}
	entry.size = int64(cap(kept.Request.Body) + cap(kept.ResponseBody) + entryBytes +
		changeBytes*(len(entry.Changes)+len(kept.Problems)+len(entry.Skipped)))
	return entry
}

// maxRefused is the size of the largest body that is read for the row of a refused request.
const maxRefused = 256 << 10

// describe keeps what a row shows of what was sent, and returns its kind, or "".
func (e *Entry) describe(sent any, eventName func(id string) string) Kind {
	switch sent := sent.(type) {
	case *fake.EmailBroadcast:
		e.broadcast(sent.Params.Subject, sent.Everyone, sent.Customers, sent.Segments)
		return EmailBroadcast
	case *fake.PushBroadcast:
		e.broadcast(sent.Params.Subject, sent.Everyone, sent.Customers, sent.Segments)
		return PushBroadcast
	case *fake.Trigger:
		id := sent.Params.EventID
		e.EventID, e.EventName = clip(id), clip(eventName(id))
		if to := cmp.Or(sent.Params.Email, nameOf(sent.Params.Customer)); to != "" {
			e.name(to)
		}
		e.keepSkipped(sent.Skipped)
		return Trigger
	case *fake.Event:
		e.EventID, e.EventName, e.Parameters = sent.ID, clip(sent.Name), len(sent.Parameters)
		return Event
	}
	return ""
}

func (e *Entry) broadcast(subject string, everyone bool, customers []messaging.CustomerParams, segments []string) {
	e.Subject, e.Everyone, e.SegmentCount = clip(subject), everyone, len(segments)
	for i := range customers {
		e.name(nameOf(&customers[i]))
	}
	for _, segment := range segments[:min(len(segments), maxSegments)] {
		e.Segments = append(e.Segments, clip(segment))
	}
}

// name adds a customer. One without a name is only counted.
func (e *Entry) name(name string) {
	if e.Named++; name != "" && len(e.Names) < maxNames {
		e.Names = append(e.Names, clip(name))
	}
}

// nameOf returns the address of a customer, or else what else names it.
func nameOf(c *messaging.CustomerParams) string {
	if c == nil {
		return ""
	}
	return cmp.Or(c.Email, c.CustomerID, c.PhoneNo)
}

// clip returns the beginning of a text, without a part of a character.
func clip(text string) string {
	if len(text) <= maxClip {
		return text
	}
	return strings.ToValidUTF8(strings.Clone(text[:maxClip]), "")
}

func (e *Entry) keepSkipped(names []string) {
	if len(names) == 0 {
		return
	}
	values := e.Values()
	for _, name := range names[:min(len(names), MaxChanges)] {
		value := json.RawMessage(bytes.ToValidUTF8(bytes.Clone(values[name]), []byte("\uFFFD"))) // JSON cannot hold what is invalid
		if len(value) > maxClip {
			value = json.RawMessage(`"…"`)
		}
		e.Skipped = append(e.Skipped, Skipped{name, value, skippedReason})
	}
}

// Values returns the values of a trigger as they were sent.
func (e *Entry) Values() map[string]json.RawMessage {
	var body, values map[string]json.RawMessage
	_ = json.Unmarshal(e.Request.Body, &body) // what is no object has no values
	_ = json.Unmarshal(body["payload"], &values)
	delete(values, "email")
	delete(values, "customer")
	return values
}

// Skips reports whether the service skipped a parameter.
func (e *Entry) Skips(parameter string) bool {
	return slices.ContainsFunc(e.Skipped, func(s Skipped) bool { return s.Parameter == parameter })
}

// Sent returns what the body of a send says, like [fake.Read].
func (e *Entry) Sent() any { return fake.Read(service.Named(e.Op), e.Request.Body) }

// Broadcast returns the broadcast that the request created, an email or a push notification, or nil. It reads the body again.
func (e *Entry) Broadcast() (email *fake.EmailBroadcast, push *fake.PushBroadcast) {
	if e.Kind == EmailBroadcast || e.Kind == PushBroadcast {
		sent := e.Sent()
		email, _ = sent.(*fake.EmailBroadcast)
		push, _ = sent.(*fake.PushBroadcast)
	}
	return email, push
}

// IsRead reports whether a request changes nothing, so that it can be repeated.
func (e *Entry) IsRead() bool {
	return e.Request.Method == http.MethodGet || e.Request.Method == http.MethodHead
}

// LacksKey reports whether the service refused the request because of its key.
func (e *Entry) LacksKey() bool { return e.Status == http.StatusUnauthorized && e.Fault == "" }

// RightKey is what [Entry.Key] returns if the service takes the key.
const RightKey = "that of this sandbox"

// Key says in a few words how a request was sent with its API key, which is never kept. The service reads X-Authorization alone.
func (e *Entry) Key() string {
	const header = "X-Authorization"
	sent := func(name string) bool { return strings.Join(e.Request.Header.Values(name), "") != "" }
	switch {
	case e.ForeignKey:
		return "not " + RightKey
	case sent(header) && e.LacksKey():
		return `"Bearer " before the key in ` + header
	case sent(header):
		return RightKey
	case sent("Authorization"):
		return "the key is in Authorization instead of " + header
	case sent("X-Api-Key"):
		return "the key is in X-Api-Key instead of " + header
	case len(e.Request.Header.Values(header)) > 0:
		return header + " is empty"
	default:
		return "no " + header + " header"
	}
}
