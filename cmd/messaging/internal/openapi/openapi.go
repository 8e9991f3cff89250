// Package openapi has the description of the service as OpenAPI 3.1, so that other languages get
// clients, and other tools can import it.
package openapi

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/service"
)

//go:embed openapi.json
var document []byte

// Describe returns the description of the service at an address, in place of that in the document.
func Describe(url string) []byte {
	var compact bytes.Buffer
	_ = json.Compact(&compact, document) // a test reads it
	return bytes.Replace(compact.Bytes(), []byte("http://127.0.0.1:8077"), []byte(url), 1)
}

// description is what is looked up in the document.
type description struct {
	Paths map[string]map[string]struct {
		Parameters  []struct{ Name string }
		RequestBody struct {
			Content map[string]struct{ Schema *schema }
		}
	}
	Components struct{ Schemas map[string]*schema }
}

type schema struct {
	Ref        string `json:"$ref"`
	Properties map[string]*schema
	Items      *schema
	OneOf      []*schema
}

var described = sync.OnceValue(func() (d description) {
	if err := json.Unmarshal(document, &d); err != nil {
		panic(err) // the file is embedded, and tested
	}
	return d
})

// Unknown returns the parameters of a query, and the members of a body, that an operation does not have, by their paths, each
// with the one that was probably meant, or "". The payload of a trigger has the parameters of its event too; if the event is
// unknown, they are nil, and the payload is not looked at.
func Unknown(op *service.Operation, query url.Values, body []byte, parameters []string) map[string]string {
	operation := described().Paths[op.Path][strings.ToLower(op.Method)]
	var known []string
	for _, p := range operation.Parameters {
		known = append(known, p.Name)
	}
	found := make(map[string]string)
	for name := range query {
		if !slices.Contains(known, name) {
			found[name] = words.Nearest(name, known)
		}
	}
	var value any
	if json.Unmarshal(body, &value) == nil {
		look(found, operation.RequestBody.Content["application/json"].Schema, "", value, parameters)
	}
	return found
}

// look adds the unknown members of a value. Without a schema, the value is not looked at.
func look(found map[string]string, s *schema, path string, value any, parameters []string) {
	if s = resolve(s, value); s == nil { // of an unknown member
		return
	}
	switch value := value.(type) {
	case map[string]any:
		known := slices.Sorted(maps.Keys(s.Properties))
		if path == "payload" {
			known = append(known, parameters...)
		}
		for name, member := range value {
			at := strings.TrimPrefix(path+"."+name, ".")
			if s.Properties != nil && !slices.Contains(known, name) && (path != "payload" || parameters != nil) {
				found[at] = words.Nearest(name, known)
			}
			look(found, s.Properties[name], at, member, parameters)
		}
	case []any:
		for i, element := range value {
			look(found, s.Items, path+"."+strconv.Itoa(i), element, parameters)
		}
	}
}

// resolve returns the schema that a reference or a choice stands for, for a value.
func resolve(s *schema, value any) *schema {
	switch {
	case s == nil:
		return nil
	case s.Ref != "":
		return resolve(described().Components.Schemas[s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]], value)
	case len(s.OneOf) == 0:
		return s
	}
	_, isArray := value.([]any)
	for _, choice := range s.OneOf {
		if choice = resolve(choice, value); (choice.Items != nil) == isArray {
			return choice
		}
	}
	return nil
}
