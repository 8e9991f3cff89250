package view

import (
	"cmp"
	"encoding/json"
	"html"
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/findings"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/mail"
	"github.com/messaging-go/messaging/internal/fake"
)

// mailHead returns the beginning of a message that is read as HTML, without a part of a character.
func mailHead(message string) string {
	return strings.ToValidUTF8(message[:min(len(message), maxShown)], "")
}

const plainStyle = `<!doctype html><meta charset="utf-8"><meta name="color-scheme" content="light">` +
	`<style>body{margin:24px 28px;font:15px/1.6 system-ui,sans-serif;color:#1d1c1a;background:#fff;white-space:pre-wrap;` +
	`overflow-wrap:anywhere}</style>`

// Document returns the document of a preview.
func Document(message string) string {
	message = mailHead(message)
	if mail.IsHTML(message) {
		if cleaned, ok := mail.Clean(message); ok {
			return cleaned
		}
	}
	return plainStyle + html.EscapeString(cmp.Or(mail.Text(message), message)) // it may not be read as HTML
}

// preview is what the frame of an email is shown with.
type preview struct {
	Number       int
	HTML, Fixed  bool // whether the message needs a width that no phone has
	RemoteImages int
}

// parameter is a parameter of an event as a trigger sent it.
type parameter struct {
	Name, Type string
	Required   bool
	Value      string // as it was sent, in JSON; "" if it was not
	Tag        Tag
	Skipped    bool
	Why        string // of the tag, if it needs a reason
}

const (
	whySkipped = "Only the form YYYY-MM-DDThh:mm:ssZ is read; the service silently drops anything else and reports success. " +
		"With the Go SDK, pass a time.Time."
	whyUndocumented = "It is not documented what the service makes of this value."
)

// parameters returns those of the event of a trigger that was carried out, and then the values that belong to none.
func parameters(e *history.Entry, events findings.Events) (list []parameter) {
	event, _ := events.Event(e.EventID)
	values := e.Values()
	for _, p := range event.Parameters {
		list = append(list, newParameter(p, values[p.Name], e.Skips(p.Name)))
		delete(values, p.Name)
	}
	for _, name := range sortedKeys(values) {
		list = append(list, parameter{Name: name, Value: cut(string(values[name])), Tag: Tag{"warn", "unknown"},
			Why: "The event has no such parameter."})
	}
	return list
}

func newParameter(p fake.EventParameter, value json.RawMessage, skipped bool) parameter {
	view := parameter{Name: p.Name, Type: p.Type, Required: p.Required, Value: cut(string(value)), Skipped: skipped}
	switch {
	case skipped:
		view.Tag, view.Why = Tag{"warn", "skipped"}, whySkipped
	case len(value) == 0 || string(value) == "null":
		view.Value, view.Tag = "", Tag{"", "not sent"}
	case p.Required && findings.IsBlank(value):
		view.Tag = Tag{"warn", "empty"}
	case !findings.IsOfType(p.Type, value):
		view.Tag, view.Why = Tag{"warn", "not documented"}, whyUndocumented
	default:
		view.Tag = Tag{"ok", "read"}
	}
	return view
}
