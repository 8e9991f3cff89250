// Package strictjson reads JSON that people write: its keys are those of the type, to the letter and once, at every level.
package strictjson

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// forms are the forms of JSON values, by the kinds of the values in Go.
var forms = map[reflect.Kind]string{
	reflect.String: "a string", reflect.Bool: "a boolean", reflect.Slice: "an array",
	reflect.Struct: "an object", reflect.Map: "an object"}

// elements are the numbers of elements in a path, which encoding/json has only with GOEXPERIMENT=jsonv2.
var elements = regexp.MustCompile(`\.\d+`)

// Decode decodes JSON into what a pointer points to. Its errors name a line where there is one.
func Decode(data []byte, into any) error {
	if !utf8.Valid(data) {
		return errors.New("the file is not UTF-8")
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // which some editors write
	if string(bytes.TrimSpace(data)) == "null" {
		return errors.New("it is null, and holds nothing")
	}
	line := func(offset int64) int { return 1 + bytes.Count(data[:offset], []byte("\n")) }
	err := json.Unmarshal(data, new(json.RawMessage)) // which notices text after the value
	if err == nil {
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.UseNumber()
		if problem := checkKeys(decoder, reflect.TypeOf(into)); problem != nil {
			return fmt.Errorf("line %d: %w", line(decoder.InputOffset()), problem)
		}
		decoder = json.NewDecoder(bytes.NewReader(data))
		decoder.UseNumber() // a number keeps its digits
		err = decoder.Decode(into)
	}
	switch syntax, kind, moment := new(json.SyntaxError), new(json.UnmarshalTypeError), new(time.ParseError); {
	case errors.As(err, &moment):
		at := max(0, bytes.Index(data, []byte(moment.Value)))
		return fmt.Errorf("line %d: %q must be a time such as 2026-11-21T09:00:00Z", line(int64(at)), moment.Value)
	case errors.As(err, &syntax):
		return fmt.Errorf("line %d: %w", line(syntax.Offset), err)
	case errors.As(err, &kind):
		form := cmp.Or(forms[kind.Type.Kind()], "a number")
		if reflect.PointerTo(kind.Type).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
			form = "a string"
		}
		return fmt.Errorf("line %d: %s must be %s", line(kind.Offset),
			cmp.Or(elements.ReplaceAllString(kind.Field, ""), "the JSON"), form)
	}
	return err
}

// Value decodes any JSON value. A number keeps all its digits.
func Value(text []byte) (value any, err error) {
	if !json.Valid(text) {
		return nil, errors.New("is not JSON")
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	err = decoder.Decode(&value)
	return value, err
}

// checkKeys checks the keys of the next value, which is valid JSON and becomes one of a type, or of any if the type is nil. The decoder
// stays after the key of the error. encoding/json would keep the last of two keys, and find a field by a key in other letter case.
func checkKeys(decoder *json.Decoder, t reflect.Type) error {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t != nil && reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		t = nil
	}
	begin, _ := decoder.Token()
	if begin != json.Delim('{') && begin != json.Delim('[') {
		return nil
	}
	seen := map[string]bool{}
	fields, names := fieldsOf(t)
	for decoder.More() {
		value := elementOf(t)
		if begin == json.Delim('{') {
			token, _ := decoder.Token()
			key := token.(string) // within an object, a decoder accepts only strings here
			field, known := fields[key]
			switch {
			case seen[key]:
				return fmt.Errorf("%q is there already", key)
			case fields != nil && !known:
				return fmt.Errorf("unknown field %q; must be %s", key, words.List(names, "or"))
			case known:
				value = field
			}
			seen[key] = true
		}
		if err := checkKeys(decoder, value); err != nil {
			return err
		}
	}
	_, _ = decoder.Token() // the end
	return nil
}

// elementOf returns the type of the elements of a slice or a map.
func elementOf(t reflect.Type) reflect.Type {
	if t != nil && slices.Contains([]reflect.Kind{reflect.Slice, reflect.Array, reflect.Map}, t.Kind()) {
		return t.Elem()
	}
	return nil
}

// fieldsOf returns the types of the fields of a struct by their names in JSON, and the names in order. It returns nil for
// another type.
func fieldsOf(t reflect.Type) (fields map[string]reflect.Type, names []string) {
	if t == nil || t.Kind() != reflect.Struct {
		return nil, nil
	}
	fields = map[string]reflect.Type{}
	for i := range t.NumField() {
		field := t.Field(i)
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "-" && field.IsExported() {
			name = cmp.Or(name, field.Name)
			fields[name], names = field.Type, append(names, name)
		}
	}
	return fields, names
}
