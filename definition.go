package messaging

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
)

// Validate checks, without sending anything, what [EventsService.Trigger] would
// refuse of p when p.Definition is e: a missing required parameter, a value
// that the definition does not know, of another type or in a timestamp form
// that the service skips, and everything that is wrong whatever the definition.
// The error is a [*ValidationError] that lists it all. Parameter types that
// this package does not know take any value.
func (e Event) Validate(p EventTriggerParams) error {
	p.Definition = &e
	var problems problems
	p.validate(&problems)
	p.wire(&problems)
	return problems.err(triggerEvent.name)
}

// check holds the payload, as it would be sent, against the definition.
func (e *Event) check(problems *problems, p *EventTriggerParams, payload map[string]any) {
	if p.EventID != "" && p.EventID != e.ID {
		problems.add("event_id", "is not the id of the definition")
	}
	at := problems.in("payload")
	known := make(map[string]bool, len(e.Parameters))
	for _, parameter := range e.Parameters {
		known[parameter.Name] = true
		value := payload[parameter.Name]
		switch {
		case value == nil && !isNull(p.Values[parameter.Name]): // it can't be sent, which has been said
		case isNull(value):
			if parameter.Required {
				at.add(parameter.Name, "is required by the event")
			}
		case !slices.Contains(reservedKeys, parameter.Name):
			parameter.Type.check(at, parameter.Name, value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Values)) {
		if !known[name] && !slices.Contains(reservedKeys, name) {
			at.add(name, "is not a parameter of the event")
		}
	}
}

// check holds a value, as it would be sent, against the type.
func (t ParameterType) check(p *problems, name string, value any) {
	text, isText, isNumber := wireForm(value)
	switch t.lower() {
	case ParameterText:
		if !isText {
			p.add(name, "must be a string")
		}
	case ParameterNumeric:
		if !isNumber {
			p.add(name, "must be a number")
		}
	case ParameterTimestamp:
		if !isText || !isTimestamp(text) {
			p.add(name, "must be a time.Time, or a string in the form "+timestampForm+"; the service skips any other form")
		}
	}
}

// wireForm tells a value that encoding/json writes as text, and as a number.
func wireForm(value any) (text string, isText, isNumber bool) {
	if raw, ok := value.(json.RawMessage); ok {
		if json.Unmarshal(raw, &text) == nil && raw[0] == '"' {
			return text, true, false
		}
		return "", false, raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9'
	}
	v := reflect.ValueOf(value)
	if v.Kind() == reflect.String {
		return v.String(), true, false
	}
	return "", false, v.CanInt() || v.CanUint() || v.CanFloat()
}

// isNull reports whether encoding/json writes value as null.
func isNull(value any) bool {
	if raw, ok := value.(json.RawMessage); ok {
		return string(raw) == "null"
	}
	v := reflect.ValueOf(value)
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface:
		return v.IsNil()
	default:
		return false
	}
}
