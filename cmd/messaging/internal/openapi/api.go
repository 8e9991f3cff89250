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

	"github.com/messaging-go/messaging"
)

// Route is a route of an API of this program.
type Route struct {
	Pattern  string // such as "GET /items/{n}"
	About    string
	Query    []Parameter
	Body     any // an example, or nil if there is no body
	Response any // a value of the type of the response, a MediaType, an AnyOf, or nil if there is no content
}

// Parameter is a parameter of a query.
type Parameter struct {
	Name, About string
	Type        string // "string" or "integer"
}

// MediaType is that of a response that is not JSON.
type MediaType string

// AnyOf are values of the types that a response can have.
type AnyOf []any

// DescribeAPI returns the description of the API of the inspector at an address.
func DescribeAPI(url string, routes []Route) []byte {
	d := document{OpenAPI: "3.1.0", Paths: object{}, Servers: []object{{"url": url}}, Security: []object{{}, {"token": []string{}}},
		Info: object{"title": "Messaging sandbox", "version": messaging.Version,
			"description": "The API of the inspector of the messaging sandbox, for tests in any language."}}
	d.Components.SecuritySchemes = object{"token": object{"type": "http", "scheme": "bearer", "description": "Needed with --listen."}}
	s := schemas{"Error": object{"type": "object", "required": []string{"error"}, "properties": object{"error": object{"type": "string"}}}}
	d.Components.Schemas = object(s)
	for _, r := range routes {
		method, path, _ := strings.Cut(r.Pattern, " ")
		d.add(method, path, s.route(method, path, r))
	}
	return d.encode()
}

var (
	word          = regexp.MustCompile(`\w+`)
	pathParameter = regexp.MustCompile(`\{(\w+)\}`)
)

func (s schemas) route(method, path string, r Route) object {
	parameters := []object{}
	for _, name := range pathParameter.FindAllStringSubmatch(path, -1) {
		parameters = append(parameters, object{"name": name[1], "in": "path", "required": true, "schema": object{"type": "integer"}})
	}
	for _, p := range r.Query {
		parameters = append(parameters, object{"name": p.Name, "in": "query", "description": p.About, "schema": object{"type": p.Type}})
	}
	status, success := s.success(r.Response)
	described := object{"operationId": strings.Join(word.FindAllString(strings.ToLower(method)+path, -1), "_"), "summary": r.About,
		"parameters": parameters, "responses": object{status: success,
			"default": object{"description": "The request was refused", "content": content(reference("Error"))}}}
	if r.Body != nil {
		schema := object{}
		if t := reflect.TypeOf(r.Body); t.Kind() == reflect.Struct {
			schema = s.members(t)
			delete(schema, "required") // what is left out has its default
		}
		described["requestBody"] = object{"content": object{"application/json": object{"schema": schema, "example": r.Body}}}
	}
	return described
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
		var any []object
		for _, value := range response {
			any = append(any, s.ofType(reflect.TypeOf(value)))
		}
		described["content"] = content(object{"anyOf": any})
	default:
		described["content"] = content(s.ofType(reflect.TypeOf(response)))
	}
	return "200", described
}

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
	switch t.Kind() {
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return object{"type": "integer"}
	case reflect.Float64:
		return object{"type": "number"}
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
