package openapi

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"strings"
	"time"
)

// Parameter is a parameter of a query.
type Parameter struct {
	Name, About string
	Type        string // "string" or "integer"
}

// MediaType is that of a response that is not JSON.
type MediaType string

// AnyOf are values of the types that a response can have.
type AnyOf []any

// NewAPI returns the description of the API of the inspector at an address. It has no routes yet.
func NewAPI(url string) *Document { return newDocument(apiFrame, url) }

var (
	word          = regexp.MustCompile(`\w+`)
	pathParameter = regexp.MustCompile(`\{(\w+)\}`)
)

// Add adds a route with a pattern such as "GET /items/{n}". The body is an example, or nil if there is none. The response is a value
// of its type, a [MediaType], an [AnyOf], or nil if there is no content.
func (d *Document) Add(pattern, about string, query []Parameter, body, response any) {
	method, path, _ := strings.Cut(pattern, " ")
	s := schemas(d.Components.Schemas)
	parameters := []object{}
	for _, name := range pathParameter.FindAllStringSubmatch(path, -1) {
		parameters = append(parameters, object{"name": name[1], "in": "path", "required": true, "schema": object{"type": "integer"}})
	}
	for _, p := range query {
		parameters = append(parameters, object{"name": p.Name, "in": "query", "description": p.About, "schema": object{"type": p.Type}})
	}
	status, success := s.success(response)
	described := object{"operationId": strings.Join(word.FindAllString(strings.ToLower(method)+path, -1), "_"), "summary": about,
		"parameters": parameters, "responses": object{status: success,
			"default": object{"description": "The request was refused", "content": content(reference("Error"))}}}
	if body != nil {
		schema := object{}
		if t := reflect.TypeOf(body); t.Kind() == reflect.Struct {
			schema = s.members(t)
			delete(schema, "required") // what is left out has its default
		}
		described["requestBody"] = object{"content": object{"application/json": object{"schema": schema, "example": body}}}
	}
	d.add(method, path, described)
}

// success returns the status of a success, and its description.
func (s schemas) success(response any) (status string, described object) {
	described = object{"description": "Success"}
	switch response := response.(type) {
	case nil:
		return "204", described
	case MediaType:
		described["content"] = object{string(response): object{}}
	case AnyOf:
		var choices []object
		for _, value := range response {
			choices = append(choices, s.ofType(reflect.TypeOf(value)))
		}
		described["content"] = content(object{"anyOf": choices})
	default:
		described["content"] = content(s.ofType(reflect.TypeOf(response)))
	}
	return "200", described
}

// names are the names of simple types.
var names = map[reflect.Kind]string{reflect.Bool: "boolean", reflect.String: "string", reflect.Int: "integer", reflect.Int64: "integer",
	reflect.Uint64: "integer", reflect.Float64: "number"}

// ofType returns the schema of the JSON of a type. What writes its JSON itself can be anything.
func (s schemas) ofType(t reflect.Type) object {
	switch {
	case t.Kind() == reflect.Pointer:
		return object{"anyOf": []object{s.ofType(t.Elem()), {"type": "null"}}}
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t.Implements(reflect.TypeFor[json.Marshaler]()), t.Kind() == reflect.Interface:
		return object{"type": []string{"object", "array", "string", "number", "boolean", "null"}}
	case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return object{"type": "string"}
	}
	if name := names[t.Kind()]; name != "" {
		return object{"type": name}
	}
	switch t.Kind() {
	case reflect.Slice:
		return listOf(s.ofType(t.Elem()))
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.ofType(t.Elem())}
	case reflect.Struct:
		name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
		if strings.Contains(name, "[") { // a list
			return s.members(t)
		}
		if s[name] == nil {
			s[name] = s.members(t)
		}
		return reference(name)
	}
	panic(fmt.Sprintf("openapi: no schema for %v", t)) // which a test would meet
}

// members returns the schema of a struct, with the fields of those that it embeds.
func (s schemas) members(t reflect.Type) object {
	properties, required := object{}, []string{}
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous:
			embedded := s.members(field.Type)
			maps.Copy(properties, embedded["properties"].(object))
			required = append(required, embedded["required"].([]string)...)
		case field.IsExported() && name != "-":
			name = cmp.Or(name, field.Name)
			properties[name] = s.ofType(field.Type)
			if !strings.HasPrefix(options, "omit") {
				required = append(required, name)
			}
		}
	}
	return object{"type": "object", "properties": properties, "required": required}
}
