package inspector

import (
	"encoding/json"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/findings"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
)

type triggerView struct {
	EventNumber int
	Event       messaging.Event
	Parameters  []parameterView
	Customer    *history.Change
}

// refusedTrigger is what a trigger names that was not carried out.
type refusedTrigger struct {
	EventNumber int // 0 if there is no such event
	Event       string
	Customer    string // the address or the id
	Search      string // for the customer
}

func (in *Inspector) newRefused(e *history.Entry) *refusedTrigger {
	refused := &refusedTrigger{}
	if number, event, ok := in.box.Event(e.EventID); ok {
		refused.EventNumber, refused.Event = number, event.Name
	}
	if len(e.Names) > 0 {
		refused.Customer, refused.Search = e.Names[0], recipientSearch(e.Names[0])
	}
	return refused
}

type parameterView struct {
	Name, Type string
	Required   bool
	Value      string // as it was sent, in JSON; "" if it was not
	Tag        tag
	Skipped    bool
	Corrected  string // the time of a value that was skipped, if it is one, as the service reads it
	// Undocumented means that the service does not document what it makes of the value.
	Undocumented bool
	// Unknown means that the event has no such parameter.
	Unknown bool
}

func (in *Inspector) newTrigger(e *history.Entry) *triggerView {
	view := &triggerView{Event: messaging.Event{ID: e.EventID, Name: e.EventName}}
	if number, event, ok := in.box.Event(e.EventID); ok {
		view.EventNumber, view.Event = number, event
	}
	if len(e.Changes) > 0 {
		view.Customer = &e.Changes[0]
	}
	payload := e.Payload()
	for _, p := range view.Event.Parameters {
		view.Parameters = append(view.Parameters, newParameter(p, payload[p.Name], e))
		delete(payload, p.Name)
	}
	for _, name := range sortedKeys(payload) {
		if name == "email" || name == "customer" {
			continue
		}
		view.Parameters = append(view.Parameters, parameterView{Name: name, Value: cutText(string(payload[name])),
			Tag: tag{"warn", "unknown"}, Unknown: true})
	}
	return view
}

func newParameter(p messaging.EventParameter, value json.RawMessage, e *history.Entry) parameterView {
	view := parameterView{Name: p.Name, Type: string(p.Type), Required: p.Required, Value: cutText(string(value)),
		Skipped: e.Skips(p.Name)}
	switch {
	case view.Skipped:
		view.Tag, view.Corrected = tag{"warn", "skipped"}, corrected(value)
	case len(value) == 0 || string(value) == "null":
		view.Value, view.Tag = "", tag{"", "not sent"}
	case p.Required && findings.IsBlank(value):
		view.Tag = tag{"warn", "empty"}
	case !findings.IsOfType(p.Type, value):
		view.Tag, view.Undocumented = tag{"warn", "not documented"}, true
	default:
		view.Tag = tag{"ok", "read"}
	}
	return view
}

// corrected returns a time with another zone, or in seconds since 1970, in the form that the service
// reads. It returns "" for anything else.
func corrected(value json.RawMessage) string {
	var at time.Time
	var seconds int64
	if json.Unmarshal(value, &seconds) == nil && seconds > 0 && seconds < 1<<33 {
		at = time.Unix(seconds, 0)
	} else if json.Unmarshal(value, &at) != nil {
		return ""
	}
	return at.UTC().Format("2006-01-02T15:04:05Z")
}
