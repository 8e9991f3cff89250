// Package strictjson reads JSON that people write.
package strictjson

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// forms are the forms of JSON values, by the kinds of the values in Go.
var forms = map[reflect.Kind]string{
	reflect.String: "a string", reflect.Bool: "a boolean", reflect.Slice: "an array",
	reflect.Struct: "an object", reflect.Map: "an object"}

// Decode decodes JSON without unknown keys. Its errors name a line where there is one.
func Decode(data []byte, into any) error {
	if !utf8.Valid(data) {
		return errors.New("the file is not UTF-8")
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // which some editors write
	line := func(offset int64) int { return 1 + bytes.Count(data[:offset], []byte("\n")) }
	strict := json.NewDecoder(bytes.NewReader(data))
	strict.DisallowUnknownFields()
	err := json.Unmarshal(data, new(json.RawMessage)) // which notices text after the object
	if err == nil {
		if name, at, twice := repeatedKey(data, isStruct(into)); twice {
			return fmt.Errorf("line %d: %q is there already", line(at), name)
		}
		err = strict.Decode(into)
	}
	switch syntax, kind := new(json.SyntaxError), new(json.UnmarshalTypeError); {
	case errors.As(err, &syntax):
		return fmt.Errorf("line %d: %w", line(syntax.Offset), err)
	case errors.As(err, &kind):
		return fmt.Errorf("line %d: %s must be %s", line(kind.Offset), cmp.Or(kind.Field, "the file"), forms[kind.Type.Kind()])
	case err != nil: // which encoding/json has no type for
		return unknownField(data, strings.TrimPrefix(err.Error(), "json: "), reflect.TypeOf(into), line)
	}
	return nil
}

// unknownField adds to an error the line of the field, and the field that was probably meant.
func unknownField(data []byte, text string, into reflect.Type, line func(int64) int) error {
	quoted, is := strings.CutPrefix(text, "unknown field ")
	if nearest := words.Nearest(strings.Trim(quoted, `"`), namesIn(into, nil)); is && nearest != "" {
		text += "; did you mean " + nearest + "?"
	}
	for at := 0; is; at++ {
		next := bytes.Index(data[at:], []byte(quoted))
		if next < 0 {
			break
		}
		at += next
		if bytes.HasPrefix(bytes.TrimLeft(data[at+len(quoted):], " \t\r\n"), []byte(":")) {
			return fmt.Errorf("line %d: %s", line(int64(at)), text)
		}
	}
	return errors.New(text)
}

// namesIn adds the names of the fields of a type, and of what it holds.
func namesIn(t reflect.Type, names []string) []string {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		return namesIn(t.Elem(), names)
	case reflect.Struct:
		for i := range t.NumField() {
			if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "" {
				names = namesIn(t.Field(i).Type, append(names, name))
			}
		}
	}
	return names
}

// isStruct reports whether into points to a struct, whose fields encoding/json also finds by
// names in other letter case.
func isStruct(into any) bool {
	kind := reflect.TypeOf(into)
	return kind.Kind() == reflect.Pointer && kind.Elem().Kind() == reflect.Struct
}

// repeatedKey finds a key that an object has twice, and where it ends. encoding/json would
// keep the last one. With fold, the case of letters makes no difference in the outer object.
func repeatedKey(data []byte, fold bool) (name string, end int64, found bool) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	type level struct {
		keys  map[string]bool // nil in an array
		isKey bool            // the next token is a key
	}
	levels := []level{{}}
	for {
		token, err := decoder.Token()
		if err != nil {
			return "", 0, false
		}
		top := &levels[len(levels)-1]
		if key, ok := token.(string); ok && top.isKey {
			same := key
			if fold && len(levels) == 2 {
				same = strings.ToLower(key)
			}
			if top.keys[same] {
				return key, decoder.InputOffset(), true
			}
			top.keys[same], top.isKey = true, false
			continue
		}
		top.isKey = top.keys != nil
		switch token {
		case json.Delim('{'):
			levels = append(levels, level{make(map[string]bool), true})
		case json.Delim('['):
			levels = append(levels, level{})
		case json.Delim('}'), json.Delim(']'):
			levels = levels[:len(levels)-1]
		}
	}
}
