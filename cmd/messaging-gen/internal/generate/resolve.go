package generate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging-gen/internal/definitions"
)

// goPackage is what the templates show.
type goPackage struct {
	Header, Package, Source string
	Events                  []goEvent
	UsesTime                bool // and imports it
}

type goEvent struct {
	Go string
	definitions.Event
	Fields       []goField
	MayBeEmpty   []string // the names of required texts
	ChecksFields bool     // if one of them is left out of the payload although it is required
}

type goField struct {
	Go, Name string
	Type     string // in Go
	Comment  string
	Set      string // the function that adds the value to the payload; "" for a text that may be empty
}

// fixed are the names that every package has.
var fixed = []string{"Bind", "Decimal", "Definitions", "Events", "Float", "Int", "Number", "Recipient", "To", "ToCustomer"}

// resolve gives every event and every parameter a Go name.
func resolve(list definitions.List, c Config) (*goPackage, error) {
	if err := c.check(list); err != nil {
		return nil, err
	}
	events := newScope(c, "", "Params")
	for _, name := range fixed {
		events.owners[name] = "which every package has"
	}
	var all []named
	for _, event := range list {
		all = append(all, named{event.Name, event.Name, fmt.Sprintf("event %q", event.Name)})
	}
	events.assign(all)
	p, problems := &goPackage{}, events.problems
	for _, definition := range list {
		event := goEvent{Go: events.names[definition.Name], Event: definition}
		problems = append(problems, event.addFields(c)...)
		for _, f := range event.Fields {
			p.UsesTime = p.UsesTime || strings.HasSuffix(f.Type, "time.Time")
		}
		p.Events = append(p.Events, event)
	}
	if problems != nil {
		return nil, c.renaming(problems)
	}
	return p, nil
}

// addFields adds the fields of an event: first those that are required.
func (e *goEvent) addFields(c Config) []problem {
	fields := newScope(c, "")
	var all []named
	for _, p := range e.Parameters {
		if hasField(p) {
			all = append(all, named{p.Name, key(e.Name, p.Name), fmt.Sprintf("parameter %q of event %q", p.Name, e.Name)})
		}
	}
	fields.assign(all)
	for _, required := range []bool{true, false} {
		for _, p := range e.Parameters {
			if p.Required != required || !hasField(p) {
				continue
			}
			f := newField(p, slices.Contains(c.AllowEmpty, key(e.Name, p.Name)))
			f.Go, f.Name = fields.names[key(e.Name, p.Name)], p.Name
			e.Fields = append(e.Fields, f)
			if f.Set == "" {
				e.MayBeEmpty = append(e.MayBeEmpty, p.Name)
			}
			e.ChecksFields = e.ChecksFields || p.Required && f.Set != ""
		}
	}
	return fields.problems
}

// hasField reports whether a parameter has a field. A Recipient supplies the others.
func hasField(p definitions.Parameter) bool { return p.Name != "email" && p.Name != "customer" }

// key returns the key of a parameter in gen.json.
func key(event, parameter string) string { return event + "." + parameter }

func newField(p definitions.Parameter, allowEmpty bool) goField {
	comment := fmt.Sprintf("%q: %s", p.Name, oneLine(string(p.Type)))
	if p.Required {
		comment += ", required"
	}
	switch {
	case p.Type == messaging.ParameterText && p.Required && allowEmpty:
		return goField{Type: "string", Comment: comment + "; may be empty"}
	case p.Type == messaging.ParameterText && p.Required:
		return goField{Type: "string", Comment: comment, Set: "set"}
	case p.Type == messaging.ParameterText:
		return goField{Type: "*string", Comment: comment, Set: "optional"}
	case p.Type == messaging.ParameterNumeric:
		return goField{Type: "Number", Comment: comment, Set: "number"}
	case p.Type == messaging.ParameterTimestamp && p.Required:
		return goField{Type: "time.Time", Comment: comment + "; sent in UTC to the second", Set: "timestamp"}
	case p.Type == messaging.ParameterTimestamp:
		return goField{Type: "*time.Time", Comment: comment + "; sent in UTC to the second", Set: "optional"}
	default:
		return goField{Type: "any", Comment: comment + "; a type that messaging-gen does not know", Set: "set"}
	}
}
