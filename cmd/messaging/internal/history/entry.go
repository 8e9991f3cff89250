// Package history keeps the exchanges of the sandbox, finds them and waits for new
// ones.
package history

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
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
	// Kind is what the request created, or "".
	Kind Kind
	// Subject is that of a broadcast, even if it was not carried out.
	Subject string
	// EventID and EventName are those of the event that was triggered or created. An event
	// that was not created has no id. If a trigger was not carried out, the name is that of
	// the event at the time, if it existed.
	EventID, EventName string
	// Parameters is how many the event has that was created.
	Parameters int
	Audience
	// Changes are the first customers that the request created or updated.
	Changes          []Change
	Created, Updated int
	// Skipped lists the parameters of a trigger that the service skipped.
	Skipped []Skipped
	// Attempt counts what look like the attempts of a call from 1, and Previous is the number
	// of the one before this one, or 0. They can be separate calls too.
	Attempt, Previous int
	// Mark is the latest mark before the request, or nil.
	Mark *Mark

	size      int64
	content   uint64 // the same for requests that are the same
	call      uint64 // the same for those of one client
	twin      int    // the number of the latest send that is the same, if both were carried out
	afterTwin time.Duration
	next      atomic.Int64 // the number of the next attempt
	delivery  messaging.Delivery
	retried   bool
	notes     func() []Note
}

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

// MaxChanges is how many changes of customers an entry keeps.
const MaxChanges = 500

// What an entry counts as, beside its bodies: for itself, and for each change and problem.
const entryBytes, changeBytes = 2 << 10, 100

func newEntry(e *fake.Exchange, eventName func(id string) string) *Entry {
	kept := *e
	kept.Effect, kept.Customers = nil, nil
	entry := &Entry{Exchange: &kept, Attempt: 1}
	entry.content, entry.call = sameAs(e)
	found := outcome.Of(e)
	entry.delivery, entry.retried = found.Delivery, found.Retryable
	switch effect := e.Effect.(type) {
	case *fake.EmailBroadcast:
		entry.Kind, entry.Subject = EmailBroadcast, clip(effect.Subject)
		entry.Audience = audienceOf(effect.AllCustomers, effect.Recipients)
	case *fake.PushBroadcast:
		entry.Kind, entry.Subject = PushBroadcast, clip(effect.Subject)
		entry.Audience = audienceOf(effect.AllCustomers, effect.Recipients)
	case *fake.Trigger:
		entry.Kind, entry.EventID, entry.EventName = Trigger, effect.EventID, clip(effect.EventName)
		entry.add(cmp.Or(effect.Email, nameOf(effect.Customer)))
		entry.keepSkipped(effect.Skipped)
	case *fake.Event:
		entry.Kind, entry.EventID, entry.EventName = Event, effect.ID, clip(effect.Name)
		entry.Parameters = len(effect.Parameters)
	case nil:
		entry.readRefused(eventName)
	}
	for _, change := range e.Customers {
		entry.keepChange(change)
	}
	entry.size = int64(cap(kept.Request.Body) + cap(kept.ResponseBody) + entryBytes +
		changeBytes*(len(entry.Changes)+len(kept.Problems)+len(entry.Skipped)))
	return entry
}

// maxRefused is the size of the largest body that is read for the row of a refused request.
const maxRefused = 256 << 10

// readRefused reads what a request names that was not carried out, as far as it can be read.
func (e *Entry) readRefused(eventName func(id string) string) {
	if len(e.Request.Body) > maxRefused {
		return
	}
	body := read[struct {
		Subject, Name string
		EventID       string          `json:"event_id"`
		AllCustomers  bool            `json:"all_customers"`
		Recipients    json.RawMessage // one, or several
		Payload       struct {
			Email    string
			Customer fake.CustomerParams
		}
	}](e.Request.Body)
	e.Subject = clip(body.Subject)
	switch e.Op {
	case service.SendEmailBroadcast.Name, service.SendPushBroadcast.Name:
		e.Audience = audienceOf(body.AllCustomers, readRecipients(body.Recipients))
	case service.TriggerEvent.Name:
		if e.EventID = clip(body.EventID); e.EventID != "" && eventName != nil {
			e.EventName = clip(eventName(e.EventID))
		}
		if name := cmp.Or(body.Payload.Email, nameOf(&body.Payload.Customer)); name != "" {
			e.add(name)
		}
	case service.CreateEvent.Name:
		e.EventName = clip(body.Name)
	}
}

func (e *Entry) keepChange(change fake.CustomerChange) {
	if change.Created {
		e.Created++
	} else {
		e.Updated++
	}
	if len(e.Changes) < MaxChanges {
		customer := change.Customer
		e.Changes = append(e.Changes, Change{customer.Number, change.Created, customer.CustomerID, customer.Email})
	}
}

func (e *Entry) keepSkipped(names []string) {
	if len(names) == 0 {
		return
	}
	payload := e.Payload()
	for _, name := range names[:min(len(names), MaxChanges)] {
		value := validJSON(bytes.Clone(payload[name]))
		if len(value) > maxClip {
			value = json.RawMessage(`"…"`)
		}
		e.Skipped = append(e.Skipped, Skipped{name, value, skippedReason})
	}
}

// validJSON returns a value with its invalid UTF-8 replaced, which JSON cannot hold.
func validJSON(value json.RawMessage) json.RawMessage {
	return bytes.ToValidUTF8(value, []byte("\uFFFD"))
}

// Payload returns the payload of a trigger as it was sent.
func (e *Entry) Payload() map[string]json.RawMessage { return e.object("payload") }

// Variables returns the variables of an email broadcast as they were sent.
func (e *Entry) Variables() map[string]json.RawMessage { return e.object("variables") }

// object returns a member of the body, which has none if it is not JSON.
func (e *Entry) object(name string) map[string]json.RawMessage {
	body := read[map[string]json.RawMessage](e.Request.Body)
	return read[map[string]json.RawMessage](body[name])
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

// Skips reports whether the service skipped a parameter.
func (e *Entry) Skips(parameter string) bool {
	return slices.ContainsFunc(e.Skipped, func(s Skipped) bool { return s.Parameter == parameter })
}

// Email returns the email broadcast that the request created, or nil.
func (e *Entry) Email() *fake.EmailBroadcast {
	email, _ := e.readAgain(EmailBroadcast).(*fake.EmailBroadcast)
	return email
}

// Push returns the push notification broadcast that the request created, or nil.
func (e *Entry) Push() *fake.PushBroadcast {
	push, _ := e.readAgain(PushBroadcast).(*fake.PushBroadcast)
	return push
}

// readAgain returns what a request created, if it is of the kind: a fresh service reads the body again.
func (e *Entry) readAgain(kind Kind) any {
	op := service.Named(e.Op)
	if e.Kind != kind || op == nil {
		return nil
	}
	reader := fake.New(fake.Config{NoHistory: true})
	r := httptest.NewRequest(op.Method, op.Path, bytes.NewReader(e.Request.Body))
	r.Header = http.Header{"X-Authorization": {reader.APIKey()}, "Content-Type": {"application/json"}}
	return reader.Replay(r, e.Number).Effect
}

// Notes returns what is worth a look in an entry. It is found out once, when somebody asks.
func (e *Entry) Notes() []Note {
	if e.notes == nil { // it is not of a store
		return nil
	}
	return e.notes()
}

func (e *Entry) has(code string) bool {
	return slices.ContainsFunc(e.Notes(), func(n Note) bool { return n.Code == code })
}
