package view

import (
	"encoding/json"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/findings"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/internal/fake"
)

// parameter is a parameter of an event as a trigger sent it.
type parameter struct {
	Name, Type string
	Required   bool
	Value      string // as it was sent, in JSON; "" if it was not
	Tag        Tag
	Skipped    bool
	Corrected  string // the time of a value that was skipped, if it is one, as the service reads it
	// Undocumented means that the service does not document what it makes of the value.
	Undocumented bool
	// Unknown means that the event has no such parameter.
	Unknown bool
}

// parameters returns those of the event of a trigger that was carried out, and then the values that belong to none.
func parameters(e *history.Entry, events findings.Events) (list []parameter) {
	if e.Kind != history.Trigger {
		return nil
	}
	event, _ := events.Event(e.EventID)
	payload := e.Object("payload")
	delete(payload, "email")
	delete(payload, "customer")
	for _, p := range event.Parameters {
		list = append(list, newParameter(p, payload[p.Name], e))
		delete(payload, p.Name)
	}
	for _, name := range sortedKeys(payload) {
		list = append(list, parameter{Name: name, Value: cut(string(payload[name])), Tag: Tag{"warn", "unknown"}, Unknown: true})
	}
	return list
}

func newParameter(p fake.EventParameter, value json.RawMessage, e *history.Entry) parameter {
	view := parameter{Name: p.Name, Type: p.Type, Required: p.Required, Value: cut(string(value)), Skipped: e.Skips(p.Name)}
	switch {
	case view.Skipped:
		view.Tag, view.Corrected = Tag{"warn", "skipped"}, corrected(value)
	case len(value) == 0 || string(value) == "null":
		view.Value, view.Tag = "", Tag{"", "not sent"}
	case p.Required && findings.IsBlank(value):
		view.Tag = Tag{"warn", "empty"}
	case !findings.IsOfType(p.Type, value):
		view.Tag, view.Undocumented = Tag{"warn", "not documented"}, true
	default:
		view.Tag = Tag{"ok", "read"}
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
