package messaging

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
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

// compare returns an error that lists why e can't be triggered as p describes it.
func (e *Event) compare(p EventCreateParams) error {
	var differences []string
	there := make(map[string]EventParameter, len(e.Parameters))
	for _, parameter := range e.Parameters {
		there[parameter.Name] = parameter
	}
	wanted := make(map[string]bool, len(p.Parameters))
	for _, parameter := range p.Parameters {
		wanted[parameter.Name] = parameter.Required
		switch found, ok := there[parameter.Name]; {
		case !ok:
			differences = append(differences, "parameter "+parameter.Name+" is missing")
		case found.Type.lower() != parameter.Type.lower():
			differences = append(differences, fmt.Sprintf("parameter %s is %s, not %s", parameter.Name, found.Type, parameter.Type.lower()))
		}
	}
	for _, parameter := range e.Parameters {
		if parameter.Required && !wanted[parameter.Name] {
			differences = append(differences, "parameter "+parameter.Name+" is required")
		}
	}
	if differences == nil {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrEventDiffers, strings.Join(differences, ", "))
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
		switch value := payload[parameter.Name].(type) {
		case refused:
		case nil:
			if parameter.Required {
				at.add(parameter.Name, "is required by the event")
			}
		default:
			if !slices.Contains(reservedKeys, parameter.Name) {
				parameter.Type.check(at, parameter.Name, value)
			}
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
		if !isTimestamp(text) {
			p.add(name, "must be a time.Time, or a string in the form "+timestampForm+"; the service skips any other form")
		}
	}
}

// wireForm tells a plain value that is written as a string, and as a number.
func wireForm(value any) (text string, isText, isNumber bool) {
	switch value := value.(type) {
	case string:
		return value, true, false
	case int, int64, uint64, float32, float64:
		return "", false, true
	case json.RawMessage:
		isText = json.Unmarshal(value, &text) == nil
		return text, isText, value[0] == '-' || value[0] >= '0' && value[0] <= '9'
	default:
		return "", false, false
	}
}
