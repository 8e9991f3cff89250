// Package strictjson decodes JSON to the letter: a key that is unknown or repeated, or that
// differs in the case of a letter, is an error in every object.
package strictjson

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Decode decodes data into what into points to. Its errors name a line.
func Decode(data []byte, into any) error {
	if !utf8.Valid(data) {
		return errors.New("the file is not UTF-8")
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // which some editors write
	err := json.Unmarshal(data, into)
	k := keys{data, json.NewDecoder(bytes.NewReader(data))}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return k.errorf(syntax.Offset, "%w", err)
	}
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return k.errorf(kind.Offset, "%s must be %s", cmp.Or(kind.Field, "the file"), forms[kind.Type.Kind()])
	}
	if err != nil {
		return err
	}
	return k.check(reflect.TypeOf(into).Elem())
}

// forms are the forms of JSON values, by the kinds of the values in Go.
var forms = map[reflect.Kind]string{
	reflect.String: "a string", reflect.Bool: "true or false", reflect.Slice: "an array",
	reflect.Struct: "an object", reflect.Map: "an object"}

// keys checks the keys of data, in which encoding/json has found nothing wrong.
type keys struct {
	data    []byte
	decoder *json.Decoder
}

// check checks the keys of the next value, which was decoded into a t.
func (k *keys) check(t reflect.Type) error {
	token, _ := k.decoder.Token()
	if token != json.Delim('{') && token != json.Delim('[') {
		return nil
	}
	there := make(map[string]bool)
	for k.decoder.More() {
		element := t
		if token == json.Delim('{') {
			read, _ := k.decoder.Token()
			key, _ := read.(string)
			if there[key] {
				return k.errorf(k.decoder.InputOffset(), "the key %q is there already", key)
			}
			there[key] = true
			var names []string
			if element, names = member(t, key); element == nil {
				return k.errorf(k.decoder.InputOffset(), "unknown key %q; must be %s", key, strings.Join(names, " or "))
			}
		} else {
			element = t.Elem()
		}
		if err := k.check(element); err != nil {
			return err
		}
	}
	_, _ = k.decoder.Token() // the end
	return nil
}

// member returns the type of the member of an object, or nil and the names that it can have.
func member(object reflect.Type, key string) (t reflect.Type, names []string) {
	if object.Kind() == reflect.Map {
		return object.Elem(), nil
	}
	for field := range object.Fields() {
		name := field.Tag.Get("json")
		switch name {
		case "": // no member
		case key:
			return field.Type, nil
		default:
			names = append(names, name)
		}
	}
	return nil, names
}

func (k *keys) errorf(offset int64, format string, args ...any) error {
	line := 1 + bytes.Count(k.data[:offset], []byte("\n"))
	return fmt.Errorf("line %d: "+format, append([]any{line}, args...)...)
}

// hidden are characters that a reader cannot see: controls, and marks that change the
// direction of text. Others of this kind are always escaped by encoding/json.
var hidden = regexp.MustCompile(`[^\n\PC]`)

// Encode returns texts, lists and maps as indented JSON, with an escape for each hidden character.
func Encode(v any) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(v)
	return hidden.ReplaceAllStringFunc(b.String(), func(character string) (escaped string) {
		for _, unit := range utf16.Encode([]rune(character)) {
			escaped += fmt.Sprintf(`\u%04x`, unit)
		}
		return escaped
	})
}
