// Package findings finds what is worth a look in a request: each rule finds one thing.
package findings

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/mail"
	"github.com/messaging-go/messaging/cmd/messaging/internal/openapi"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/fake"
	"github.com/messaging-go/messaging/internal/service"
)

// maxRead is the size of the largest body that is read for a finding.
const maxRead = 256 << 10

// Events are the event definitions of the service.
type Events interface {
	Event(id string) (fake.Event, bool)
	Events() []fake.Event
}

// Rule finds one thing that is worth a look.
type Rule struct {
	ID   string // for searches and programs
	Text string // what it finds
	// Refusal is whether the rule is about a refusal, and so ignores the responses of a fault. A rule about content does not.
	Refusal bool

	find func(*history.Entry, Events) string
}

// Rules are all rules, what nothing else shows first.
var Rules = []Rule{
	{"foreign_key", "The API key is not that of this sandbox", true, foreignKey},
	{"key_header", "The API key is missing, or in another header", true, keyHeader},
	{"skipped", "A value was skipped, although the response reports success", false, skipped},
	{"duplicate", "The same send was carried out shortly before", false, duplicate},
	{"name_as_id", "The name of an event is where its id is needed", true, nameAsID},
	{"wrong_path", "The method or the path is almost that of an operation", true, wrongPath},
	{"sdk_refuses", "By default, the SDK refuses this request and sends nothing", false, sdkRefuses},
	{"unknown_parameter", "The operation or the event has no such parameter", false, unknownParameter},
	{"wrong_type", "A value has another type than its parameter", false, wrongType},
	{"empty_value", "A required value is empty", false, emptyValue},
	{"no_variable", "A placeholder has no variable", false, noVariable},
}

// Of returns what the rules find in an entry.
func Of(e *history.Entry, events Events) (found []history.Note) {
	for _, rule := range Rules {
		if rule.Refusal && e.Fault != "" {
			continue
		}
		if text := rule.find(e, events); text != "" {
			found = append(found, history.Note{Code: rule.ID, Text: text})
		}
	}
	return found
}

func foreignKey(e *history.Entry, _ Events) string {
	if !e.ForeignKey {
		return ""
	}
	return "The API key is not that of this sandbox: it belongs to another service, or to a sandbox that ran earlier, " +
		"since the key changes with each start unless --key sets it. It was not recorded; if it belongs to a real account, rotate it."
}

func keyHeader(e *history.Entry, _ Events) string {
	if key := e.Key(); e.LacksKey() && !e.ForeignKey && key != history.RightKey {
		return "The service expects the API key alone, in X-Authorization. This request: " + key + "."
	}
	return ""
}

func skipped(e *history.Entry, _ Events) string {
	var names []string
	for _, each := range e.Skipped {
		names = append(names, each.Parameter)
	}
	return about(names, "skipped, although the response reports success: the service reads a time only in UTC, "+
		"in the form YYYY-MM-DDThh:mm:ssZ.")
}

// about says something about one name or several, or returns "" for none.
func about(names []string, what string) string {
	const most = 5
	verb := "was"
	switch {
	case len(names) == 0:
		return ""
	case len(names) > most:
		names = append(slices.Clone(names[:most]), fmt.Sprintf("%d more", len(names)-most))
	}
	if len(names) > 1 {
		verb = "were"
	}
	return words.List(names, "and") + " " + verb + " " + what
}

func duplicate(e *history.Entry, _ Events) string {
	if e.DuplicateOf == 0 {
		return ""
	}
	return fmt.Sprintf("Possibly a duplicate: the same request was carried out %v earlier, as request %s.",
		e.DuplicateAfter.Round(1e6), words.Thousands(e.DuplicateOf))
}

func nameAsID(e *history.Entry, events Events) string {
	if e.Op != service.TriggerEvent.Name || e.Status != http.StatusUnprocessableEntity {
		return ""
	}
	for _, event := range events.Events() {
		if event.Name == e.EventID {
			return fmt.Sprintf("event_id is the name of an event. Its id is %s.", event.ID)
		}
	}
	return ""
}

func wrongPath(e *history.Entry, _ Events) string {
	if right := RightOperation(e); e.Op == "" && right != "" {
		return "No operation has this method and path: " + right
	}
	return ""
}

// RightOperation says which operation was probably meant by a request for none, or returns "".
func RightOperation(e *history.Entry) string {
	var paths []string
	for op := range service.Served() {
		if op.Path == e.Request.Path {
			return fmt.Sprintf("this path needs %s, not %s", op.Method, e.Request.Method)
		}
		paths = append(paths, op.Path)
	}
	path := words.Nearest(e.Request.Path, paths)
	for _, each := range paths { // a base URL without the version, or with a path
		if strings.HasSuffix(each, e.Request.Path) && strings.Count(e.Request.Path, "/") > 1 || strings.HasSuffix(e.Request.Path, each) {
			path = each
		}
	}
	if path == "" {
		return ""
	}
	return "did you mean " + path + "?"
}

func sdkRefuses(e *history.Entry, _ Events) string {
	if Refusal(e) == nil {
		return ""
	}
	return "By default, the SDK refuses this request and sends nothing."
}

// Refusal returns the error with which the SDK refuses a request that was carried out, or nil.
func Refusal(e *history.Entry) error {
	if e.Delivery != messaging.DeliveryAccepted || len(e.Request.Body) > maxRead {
		return nil
	}
	var params interface {
		Prepare() (*messaging.Prepared, error)
	}
	switch sent := e.Sent().(type) {
	case *fake.EmailBroadcast:
		sent.Params.Schedule = unlessOver(sent.Params.Schedule)
		params = sent.Params
	case *fake.PushBroadcast:
		sent.Params.Schedule = unlessOver(sent.Params.Schedule)
		params = sent.Params
	case *fake.Trigger:
		params = sent.Params
	case *fake.Event:
		params = createParams(sent)
	default:
		return nil
	}
	_, err := params.Prepare()
	return err
}

// unlessOver returns a schedule, or nil if it is over by now: that was judged when the request arrived.
func unlessOver(s *messaging.Schedule) *messaging.Schedule {
	if s == nil {
		return nil
	}
	if zone, err := time.LoadLocation(s.Timezone); err == nil {
		if at, err := time.ParseInLocation(time.DateTime, s.Date, zone); err == nil && time.Since(at) > 0 {
			return nil
		}
	}
	return s
}

// createParams returns the params that create an event.
func createParams(event *fake.Event) messaging.EventCreateParams {
	params := messaging.EventCreateParams{Name: event.Name, Description: event.Description, Parameters: []messaging.EventParameter{}}
	for _, p := range event.Parameters {
		params.Parameters = append(params.Parameters,
			messaging.EventParameter{Name: p.Name, Type: messaging.ParameterType(p.Type), Required: p.Required})
	}
	return params
}

func unknownParameter(e *history.Entry, events Events) string {
	op := service.Named(e.Op)
	if op == nil || len(e.Request.Body) > maxRead {
		return ""
	}
	var parameters []string
	if event, ok := events.Event(e.EventID); ok && op == service.TriggerEvent {
		parameters = []string{} // an event without parameters is known too
		for _, p := range event.Parameters {
			parameters = append(parameters, p.Name)
		}
	}
	found := openapi.Unknown(op, e.Request.Query, e.Request.Body, parameters)
	var names []string
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if meant := found[name]; meant != "" {
			name += " (did you mean " + meant + "?)"
		}
		names = append(names, name)
	}
	return about(names, "sent, which the operation or the event does not have.")
}

// parameters returns the names of the parameters of a trigger that was carried out whose value matches.
func parameters(e *history.Entry, events Events, matches func(fake.EventParameter, json.RawMessage) bool) (names []string) {
	if e.Kind != history.Trigger || len(e.Request.Body) > maxRead {
		return nil
	}
	event, _ := events.Event(e.EventID)
	values := e.Values()
	for _, p := range event.Parameters {
		value := values[p.Name]
		wasRead := len(value) > 0 && string(value) != "null" && !e.Skips(p.Name)
		if wasRead && matches(p, value) {
			names = append(names, p.Name)
		}
	}
	return names
}

func wrongType(e *history.Entry, events Events) string {
	return about(parameters(e, events, func(p fake.EventParameter, value json.RawMessage) bool {
		return !IsOfType(p.Type, value) && (!p.Required || !IsBlank(value))
	}), "sent with another type than that of the parameter. What the service makes of it is not documented.")
}

func emptyValue(e *history.Entry, events Events) string {
	return about(parameters(e, events, func(p fake.EventParameter, value json.RawMessage) bool { return p.Required && IsBlank(value) }),
		"empty, although the event requires a value.")
}

// IsBlank reports whether a value is a text of white space alone.
func IsBlank(value json.RawMessage) bool {
	var text string
	return json.Unmarshal(value, &text) == nil && strings.TrimSpace(text) == ""
}

// IsOfType reports whether a value has the form of a documented type.
func IsOfType(t string, value json.RawMessage) bool {
	switch messaging.ParameterType(t) {
	case messaging.ParameterText, messaging.ParameterTimestamp:
		return value[0] == '"'
	case messaging.ParameterNumeric:
		return value[0] == '-' || value[0] >= '0' && value[0] <= '9'
	default:
		return false
	}
}

func noVariable(e *history.Entry, _ Events) string {
	if len(e.Request.Body) > maxRead {
		return ""
	}
	email, _ := e.Broadcast()
	if email == nil {
		return ""
	}
	var names []string
	for _, name := range mail.Placeholders(email.Params.Subject, email.Params.Message) {
		if !mail.HasVariable(email.Params.Variables, name) {
			names = append(names, "{{"+name+"}}")
		}
	}
	return about(names, "sent without a variable. What the service does with it is not documented.")
}
