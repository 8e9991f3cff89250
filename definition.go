package messaging

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"time"
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

// check holds the payload of p against the definition.
func (e *Event) check(problems *problems, p *EventTriggerParams) {
	if p.EventID != "" && p.EventID != e.ID {
		problems.add("event_id", "is not the id of the definition")
	}
	payload := problems.in("payload")
	known := make(map[string]bool, len(e.Parameters))
	for _, parameter := range e.Parameters {
		known[parameter.Name] = true
		parameter.check(payload, p)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Values)) {
		if !known[name] && !isReservedKey(name) {
			payload.add(name, "is not a parameter of the event")
		}
	}
}

func (e *EventParameter) check(payload *problems, p *EventTriggerParams) {
	switch e.Name {
	case "email":
		if e.Required && p.Email == "" {
			payload.add("email", "is required by the event")
		}
		return
	case "customer":
		if e.Required && p.Customer == nil {
			payload.add("customer", "is required by the event")
		}
		return
	}
	value := reflect.ValueOf(p.Values[e.Name])
	for value.Kind() == reflect.Pointer && !value.IsNil() {
		value = value.Elem()
	}
	if !value.IsValid() || value.Kind() == reflect.Pointer {
		if e.Required {
			payload.add(e.Name, "is required by the event")
		}
		return
	}
	if problem := e.Type.problem(value); problem != "" {
		payload.add(e.Name, problem)
	}
}

// problem says what keeps v from being a value of type t, "" for nothing.
func (t ParameterType) problem(v reflect.Value) string {
	switch t.lower() {
	case ParameterText:
		if v.Kind() != reflect.String {
			return "must be text"
		}
	case ParameterNumeric:
		if _, isNumber := v.Interface().(json.Number); !isNumber && !v.CanInt() && !v.CanUint() && !v.CanFloat() {
			return "must be a number"
		}
	case ParameterTimestamp:
		if _, isTime := v.Interface().(time.Time); isTime {
			return ""
		}
		if v.Kind() != reflect.String || !isTimestamp(v.String()) {
			return "must be a time.Time, or text in the form " + timestampForm + ": the service skips any other"
		}
	}
	return ""
}
