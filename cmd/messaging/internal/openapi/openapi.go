// Package openapi describes the service and the API of the inspector as OpenAPI 3.1, so that
// other languages get clients, and other tools can import it. The descriptions are built from the
// catalog of the service, and from the routes of the inspector.
package openapi

import (
	_ "embed"
	"encoding/json"
	"strings"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/service"
)

var (
	//go:embed frame.json
	frame []byte
	//go:embed api.json
	apiFrame []byte
)

// object is an object of the description.
type object = map[string]any

// Document is a description. A frame has what neither the catalog nor the routes have.
type Document struct {
	OpenAPI    string   `json:"openapi"`
	Info       object   `json:"info"`
	Servers    []object `json:"servers"`
	Security   any      `json:"security"`
	Paths      object   `json:"paths"`
	Components struct {
		Schemas         object `json:"schemas"`
		SecuritySchemes any    `json:"securitySchemes"`
	} `json:"components"`
}

func newDocument(frame []byte, url string) (d *Document) {
	_ = json.Unmarshal(frame, &d) // it is embedded, and a test reads the result
	d.Info["version"], d.Servers[0]["url"], d.Paths = messaging.Version, url, object{}
	return d
}

// add adds an operation.
func (d *Document) add(method, path string, described object) {
	methods, _ := d.Paths[path].(object)
	if methods == nil {
		methods = object{}
		d.Paths[path] = methods
	}
	methods[strings.ToLower(method)] = described
}

// Describe returns the description of the service at an address.
func Describe(url string) *Document {
	d := newDocument(frame, url)
	schemas := schemas(d.Components.Schemas)
	for op := range service.Served() {
		d.add(op.Method, op.Path, schemas.operation(op))
	}
	return d
}

// schemas holds the schemas that have a name.
type schemas object

func (s schemas) operation(op *service.Operation) object {
	described := object{
		"operationId": strings.ReplaceAll(op.Name, " ", "_"),
		"summary":     strings.ToUpper(op.Name[:1]) + op.Name[1:],
		"tags":        []string{strings.Split(op.Path, "/")[2]}, // after the version
	}
	responses := object{
		"200":     object{"description": "Success", "content": content(s.response(op))},
		"default": object{"description": "The request was refused, or failed", "content": content(reference("Error"))},
	}
	if op.IsRead() {
		described["parameters"] = s.query(op)
	} else {
		described["requestBody"] = object{"required": true, "content": content(s.object(op.Body))}
		responses["422"] = object{"description": "The request is invalid", "content": content(reference("Error"))}
	}
	described["responses"] = responses
	return described
}

func (s schemas) query(op *service.Operation) (parameters []object) {
	for _, m := range op.Query {
		schema := object{"type": "string"}
		if m.Kind == service.Number {
			schema = object{"type": "integer", "minimum": 1}
		}
		parameters = append(parameters, object{"name": m.Name, "in": "query", "description": m.Note, "schema": schema})
	}
	return parameters
}

// response returns the schema of a success. The list of customers is within its data.
func (s schemas) response(op *service.Operation) object {
	members := object{"success": object{"type": "boolean", "const": true}, "message": object{"type": "string"}}
	switch {
	case op == service.ListCustomers:
		members["data"] = object{"type": "object", "required": []string{"data"},
			"properties": object{"data": listOf(s.object(op.Record)), "meta": reference("PageMeta")}}
	case op.IsRead():
		members["data"], members["meta"] = listOf(s.object(op.Record)), reference("PageMeta")
	case op.Record != nil:
		members["data"] = s.object(op.Record)
	case op.FalseRejects:
		members["data"] = object{"type": "boolean"}
	default:
		members["data"] = object{"type": "null"}
	}
	return object{"type": "object", "properties": members, "required": []string{"success", "message"}}
}

func content(schema object) object { return object{"application/json": object{"schema": schema}} }

func reference(name string) object { return object{"$ref": "#/components/schemas/" + name} }

func listOf(schema object) object { return object{"type": "array", "items": schema} }

// object returns the schema of an object, or a reference to it if it has a name.
func (s schemas) object(of *service.Object) object {
	members := object{}
	schema := object{"type": "object", "properties": members}
	var required []string
	for _, m := range of.Members {
		members[m.Name] = s.member(&m)
		if m.Required {
			required = append(required, m.Name)
		}
	}
	if required != nil {
		schema["required"] = required
	}
	var any []object
	for _, name := range of.Any {
		any = append(any, object{"required": []string{name}})
	}
	if any != nil {
		schema["anyOf"] = any
	}
	if of.Name == "" {
		return schema
	}
	s[of.Name] = schema
	return reference(of.Name)
}

func (s schemas) member(m *service.Member) object {
	schema := s.value(m)
	if kind, ok := schema["type"].(string); ok && !m.Required {
		schema["type"] = []string{kind, "null"}
	}
	if m.Note != "" {
		schema["description"] = m.Note
	}
	return schema
}

func (s schemas) value(m *service.Member) object {
	email := object{"type": "string", "format": "email"}
	switch m.Kind {
	case service.Email:
		return email
	case service.Boolean:
		return object{"type": "boolean"}
	case service.Number:
		return object{"type": "integer"}
	case service.Map:
		return object{"type": "object"}
	case service.Single:
		return s.object(m.Of)
	case service.Texts:
		return listOf(object{"type": "string"})
	case service.Emails:
		return listOf(email)
	case service.List:
		return listOf(s.object(m.Of))
	case service.OneOrList:
		return object{"oneOf": []object{s.object(m.Of), listOf(s.object(m.Of))}}
	}
	text := object{"type": "string"}
	if m.Values != nil {
		text["enum"] = m.Values
	}
	return text
}
