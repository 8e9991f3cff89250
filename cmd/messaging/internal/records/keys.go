package records

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// keys are the keys that an object can have, each with the form of its value.
type keys map[string]form

func (k keys) String() string { return strings.Join(slices.Sorted(maps.Keys(k)), ", ") }

// form is the form of a JSON value.
type form struct {
	name     string
	elements keys // of the objects in an array; nil for other forms
}

var (
	text    = form{name: "a string"}
	number  = form{name: "a number"}
	boolean = form{name: "a boolean"}
)

func arrayOf(elements keys) form { return form{"an array", elements} }

const null = "null"

// formOf returns the name of the form of a JSON value.
func formOf(raw []byte) string {
	switch raw[0] {
	case '"':
		return text.name
	case '[':
		return "an array"
	case '{':
		return "an object"
	case 't', 'f':
		return boolean.name
	case 'n':
		return null
	default:
		return number.name
	}
}

// checkKeys returns an error for a record that is not an object, and for a key or a
// value that it cannot have.
func (p *parser) checkKeys(raw []byte, start int64, field string, known keys) error {
	inner := newParser(raw)
	if len(raw) == 0 || raw[0] != '{' {
		return p.errorAt(start, field, errors.New("must be an object"))
	}
	seen := make(map[string]bool)
	return inner.object("", func(key string) error {
		at, path := start+inner.decoder.InputOffset(), field+"."+key
		if seen[key] {
			return p.errorAt(at, path, errTwice)
		}
		seen[key] = true
		want, ok := known[key]
		if !ok {
			return p.errorAt(at, path, fmt.Errorf("unknown key; must be one of %s", known))
		}
		var value json.RawMessage
		if err := inner.decoder.Decode(&value); err != nil {
			return p.errorAt(at, path, err)
		}
		at = start + inner.decoder.InputOffset() - int64(len(value))
		got := formOf(value)
		switch {
		case got == null:
			return nil
		case got != want.name:
			return p.errorAt(at, path, fmt.Errorf("must be %s", want.name))
		case want.elements != nil:
			return p.checkElements(value, at, path, want.elements)
		}
		return nil
	})
}

// checkElements checks the keys of each object in an array.
func (p *parser) checkElements(raw []byte, start int64, field string, known keys) error {
	inner := json.NewDecoder(bytes.NewReader(raw))
	if _, err := inner.Token(); err != nil {
		return p.errorAt(start, field, err)
	}
	for i := 0; inner.More(); i++ {
		var element json.RawMessage
		if err := inner.Decode(&element); err != nil {
			return p.errorAt(start, field, err)
		}
		at := start + inner.InputOffset() - int64(len(element))
		if err := p.checkKeys(element, at, fmt.Sprintf("%s.%d", field, i), known); err != nil {
			return err
		}
	}
	return nil
}
