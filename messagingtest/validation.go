package messagingtest

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
)

// problems are what is wrong with a request, by the path of the field.
type problems map[string][]string

// object is a JSON object of a request, read member by member. A member that is
// not as it should be is reported under its path, and reads as its zero value.
// Keys are matched to the letter, and null counts as absent.
type object struct {
	members  map[string]json.RawMessage
	path     string // "" for the body
	problems problems
}

func (o object) pathOf(name string) string {
	if o.path == "" {
		return name
	}
	return o.path + "." + name
}

func (o object) complain(name, message string) {
	path := o.pathOf(name)
	o.problems[path] = append(o.problems[path], message)
}

// refuseIf complains about a member that is wrong, unless there has been a
// complaint about it.
func (o object) refuseIf(wrong bool, name, message string) {
	if wrong && o.problems[o.pathOf(name)] == nil {
		o.complain(name, message)
	}
}

func (o object) has(name string) bool {
	raw, given := o.members[name]
	return given && string(raw) != "null"
}

// read reads a member of one kind.
func read[T any](o object, name, kind string) T {
	var value, none T
	if !o.has(name) {
		return none
	}
	if err := json.Unmarshal(o.members[name], &value); err != nil {
		o.complain(name, "must be "+kind)
		return none
	}
	return value
}

func (o object) boolean(name string) bool { return read[bool](o, name, "true or false") }

func (o object) text(name string) string { return read[string](o, name, "text") }

func (o object) requiredText(name string) string {
	value := o.text(name)
	o.refuseIf(value == "", name, "is required")
	return value
}

func (o object) email(name string) string {
	value := o.text(name)
	if value != "" && !isEmail(value) {
		o.complain(name, "must be an e-mail address")
	}
	return value
}

func (o object) requiredEmail(name string) string {
	value := o.email(name)
	o.refuseIf(value == "", name, "is required")
	return value
}

func isEmail(s string) bool {
	local, domain, _ := strings.Cut(s, "@")
	return local != "" && domain != "" && !strings.ContainsFunc(s, unicode.IsSpace) && !strings.Contains(domain, "@")
}

// object reads a member that is an object; one that is not has no members.
func (o object) object(name string) object {
	return object{read[map[string]json.RawMessage](o, name, "an object"), o.pathOf(name), o.problems}
}

// list reads a member that is a list, as an object whose keys are positions.
func (o object) list(name string) (elements object, length int) {
	return o.elements(name, read[[]json.RawMessage](o, name, "a list"))
}

// oneOrMore reads a list, in which a single object can stand for itself.
func (o object) oneOrMore(name string) (elements object, length int) {
	if raw := o.members[name]; len(raw) > 0 && raw[0] == '{' {
		return o.elements(name, []json.RawMessage{raw})
	}
	return o.list(name)
}

func (o object) elements(name string, list []json.RawMessage) (elements object, length int) {
	members := make(map[string]json.RawMessage, len(list))
	for i, raw := range list {
		members[strconv.Itoa(i)] = raw
	}
	return object{members, o.pathOf(name), o.problems}, len(list)
}

// each reads the elements of a list, one after the other, by their positions.
func each[T any](elements object, length int, read func(position string) T) []T {
	if length == 0 {
		return nil
	}
	values := make([]T, length)
	for i := range values {
		values[i] = read(strconv.Itoa(i))
	}
	return values
}

// emails reads a list of e-mail addresses.
func (o object) emails(name string) []string {
	elements, length := o.list(name)
	return each(elements, length, elements.requiredEmail)
}
