package openapi

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/service"
)

// Parameters returns the names of the parameters that an operation has in its query.
func Parameters(op *service.Operation) (names []string) {
	for _, p := range descriptions[op].query {
		names = append(names, p.Name)
	}
	return names
}

// Unknown returns the members of the body of an operation that the operation does not have,
// by their paths, each with the one that was probably meant, or "". The payload of a trigger
// has the parameters of its event too; if that is unknown, they are nil, and the payload is
// not looked at.
func Unknown(op *service.Operation, body []byte, parameters []string) map[string]string {
	request := descriptions[op].request
	var value any
	if request == nil || json.Unmarshal(body, &value) != nil {
		return nil
	}
	u := unknown{found: make(map[string]string), parameters: parameters}
	u.look(request, "", value)
	return u.found
}

type unknown struct {
	found      map[string]string
	parameters []string
}

// look adds the unknown members of a value.
func (u unknown) look(s *schema, path string, value any) {
	if s == nil { // of an unknown member
		return
	}
	s = resolve(s, value)
	switch value := value.(type) {
	case map[string]any:
		if s.Properties == nil {
			return
		}
		known := slices.Sorted(maps.Keys(s.Properties))
		if path == "payload" {
			known = append(known, u.parameters...)
		}
		for name, member := range value {
			if !slices.Contains(known, name) && (path != "payload" || u.parameters != nil) {
				u.found[join(path, name)] = words.Nearest(name, known)
			}
			u.look(s.Properties[name], join(path, name), member)
		}
	case []any:
		if s.Items != nil {
			for i, element := range value {
				u.look(s.Items, join(path, strconv.Itoa(i)), element)
			}
		}
	}
}

// resolve returns the schema that a reference or a choice stands for, for a value.
func resolve(s *schema, value any) *schema {
	if s.Ref != "" {
		return resolve(schemas[s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]], value)
	}
	if len(s.OneOf) == 0 {
		return s
	}
	_, isArray := value.([]any)
	for _, choice := range s.OneOf {
		if choice = resolve(choice, value); (choice.Items != nil) == isArray {
			return choice
		}
	}
	return &schema{}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
