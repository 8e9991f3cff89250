// Package openapi describes the service as OpenAPI 3.1, so that other languages get
// clients, and other tools can import it.
package openapi

import "encoding/json"

// Document is a description of the service.
type Document struct {
	OpenAPI    string                `json:"openapi"`
	Info       info                  `json:"info"`
	Servers    []server              `json:"servers"`
	Security   []map[string][]string `json:"security"`
	Paths      map[string]pathItem   `json:"paths"`
	Components components            `json:"components"`
}

type info struct {
	Title       string `json:"title"`
	Version     string `json:"version"`
	Description string `json:"description"`
}

type server struct {
	URL         string `json:"url"`
	Description string `json:"description"`
}

// pathItem holds the operations of a path by their methods in lower case.
type pathItem map[string]operation

type operation struct {
	OperationID string              `json:"operationId"`
	Summary     string              `json:"summary"`
	Tags        []string            `json:"tags"`
	Parameters  []parameter         `json:"parameters,omitempty"`
	RequestBody *requestBody        `json:"requestBody,omitempty"`
	Responses   map[string]response `json:"responses"`
}

type parameter struct {
	Name        string  `json:"name"`
	In          string  `json:"in"`
	Description string  `json:"description"`
	Schema      *schema `json:"schema"`
}

type requestBody struct {
	Required bool                 `json:"required"`
	Content  map[string]mediaType `json:"content"`
}

type response struct {
	Description string               `json:"description"`
	Content     map[string]mediaType `json:"content,omitempty"`
}

type mediaType struct {
	Schema *schema `json:"schema"`
}

type components struct {
	Schemas         map[string]*schema        `json:"schemas"`
	SecuritySchemes map[string]securityScheme `json:"securitySchemes"`
}

type securityScheme struct {
	Type        string `json:"type"`
	In          string `json:"in"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

// schema is a JSON Schema. The zero schema allows every value.
type schema struct {
	Ref         string             `json:"$ref,omitempty"`
	Type        types              `json:"type,omitempty"`
	Format      string             `json:"format,omitempty"`
	Description string             `json:"description,omitempty"`
	Enum        []string           `json:"enum,omitempty"`
	Const       *bool              `json:"const,omitempty"`
	Minimum     *int               `json:"minimum,omitempty"`
	Properties  map[string]*schema `json:"properties,omitempty"`
	Required    []string           `json:"required,omitempty"`
	Additional  *schema            `json:"additionalProperties,omitempty"`
	Items       *schema            `json:"items,omitempty"`
	OneOf       []*schema          `json:"oneOf,omitempty"`
	AnyOf       []*schema          `json:"anyOf,omitempty"`
}

// types are the types that a value can have.
type types []string

// MarshalJSON writes a single type without an array.
func (t types) MarshalJSON() ([]byte, error) {
	if len(t) == 1 {
		return json.Marshal(t[0])
	}
	return json.Marshal([]string(t))
}

func jsonContent(s *schema) map[string]mediaType {
	return map[string]mediaType{"application/json": {Schema: s}}
}
