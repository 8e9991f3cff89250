package fake

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
)

// problems holds the validation errors of a request by the path of the field.
type problems map[string][]string

// object is a JSON object of a request. Each method reads one member. If the member is
// invalid, the method reports it under its path and returns the zero value. Keys are
// case-sensitive, and null counts as absent.
type object struct {
	members  map[string]json.RawMessage
	path     string // "" for the request body
	problems problems
}

func (o object) pathOf(name string) string {
	if o.path == "" {
		return name
	}
	return o.path + "." + name
}

func (o object) addProblem(name, message string) {
	path := o.pathOf(name)
	o.problems[path] = append(o.problems[path], message)
}

// invalidIf adds a problem if the member is invalid and has no problem yet.
func (o object) invalidIf(invalid bool, name, message string) {
	if invalid && o.problems[o.pathOf(name)] == nil {
		o.addProblem(name, message)
	}
}

func (o object) has(name string) bool {
	raw, ok := o.members[name]
	return ok && string(raw) != "null"
}

// read decodes a member into a T. kind is what a problem calls a T, such as "a string".
func read[T any](o object, name, kind string) T {
	var value, zero T
	if !o.has(name) {
		return zero
	}
	if err := json.Unmarshal(o.members[name], &value); err != nil {
		o.addProblem(name, "must be "+kind)
		return zero
	}
	return value
}

func (o object) boolean(name string) bool { return read[bool](o, name, "a boolean") }

func (o object) string(name string) string { return read[string](o, name, "a string") }

func (o object) requiredString(name string) string {
	value := o.string(name)
	o.invalidIf(value == "", name, "is required")
	return value
}

func (o object) email(name string) string {
	value := o.string(name)
	if value != "" && !isEmail(value) {
		o.addProblem(name, "must be an email address")
	}
	return value
}

func (o object) requiredEmail(name string) string {
	value := o.email(name)
	o.invalidIf(value == "", name, "is required")
	return value
}

func isEmail(s string) bool {
	local, domain, _ := strings.Cut(s, "@")
	return local != "" && domain != "" && !strings.ContainsFunc(s, unicode.IsSpace) && !strings.Contains(domain, "@")
}

// object reads an object. If the member is not an object, object returns one without
// members.
func (o object) object(name string) object {
	return object{read[map[string]json.RawMessage](o, name, "an object"), o.pathOf(name), o.problems}
}

// array reads an array. It returns an object whose keys are the indexes.
func (o object) array(name string) (elements object, length int) {
	return o.elements(name, read[[]json.RawMessage](o, name, "an array"))
}

// objectOrArray reads an array. It reads an object as an array with one element.
func (o object) objectOrArray(name string) (elements object, length int) {
	if raw := o.members[name]; len(raw) > 0 && raw[0] == '{' {
		return o.elements(name, []json.RawMessage{raw})
	}
	return o.array(name)
}

func (o object) elements(name string, list []json.RawMessage) (elements object, length int) {
	members := make(map[string]json.RawMessage, len(list))
	for i, raw := range list {
		members[strconv.Itoa(i)] = raw
	}
	return object{members, o.pathOf(name), o.problems}, len(list)
}

// each reads the elements of an array in order.
func each[T any](elements object, length int, read func(index string) T) []T {
	if length == 0 {
		return nil
	}
	values := make([]T, length)
	for i := range values {
		values[i] = read(strconv.Itoa(i))
	}
	return values
}

// emails reads an array of email addresses.
func (o object) emails(name string) []string {
	elements, length := o.array(name)
	return each(elements, length, elements.requiredEmail)
}
