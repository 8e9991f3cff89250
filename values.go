package messaging

import (
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"time"
)

// timestampForm is the one form of a timestamp that the service reads in the
// payload of a trigger. It skips every other in silence.
const timestampForm = "2006-01-02T15:04:05Z"

// maxNesting is how deep a value may be nested, in what is sent and what is read.
const maxNesting = 100

// templateValues checks the variables of a template.
func templateValues(p *problems, values map[string]any) map[string]any {
	return valueWalk{}.object(p, values)
}

// payloadValues checks the values of a trigger and writes every time in them as
// the service reads it.
func payloadValues(p *problems, values map[string]any) map[string]any {
	return valueWalk{timestamps: true}.object(p, values)
}

// valueWalk copies a free-form value into maps, slices and scalars that
// encoding/json writes without fail, and names by its path what it can't write.
type valueWalk struct {
	timestamps bool // times take timestampForm
	depth      int
}

func (w valueWalk) object(p *problems, values map[string]any) map[string]any {
	if values == nil {
		return nil
	}
	plain := make(map[string]any, len(values))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		p.text("", key)
		plain[key] = w.value(p.in(key), reflect.ValueOf(values[key]))
	}
	return plain
}

func (w valueWalk) value(p *problems, v reflect.Value) any {
	if w.depth++; w.depth > maxNesting {
		p.add("", "is nested too deeply, or within itself")
		return nil
	}
	if !v.IsValid() || (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && v.IsNil() {
		return nil
	}
	if t, ok := v.Interface().(time.Time); ok && w.timestamps {
		return timestamp(p, t)
	}
	// A pointer is followed unless only the pointer knows how to write itself.
	if v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer && isMarshaler(v.Type()) == isMarshaler(v.Type().Elem()) {
		return w.value(p, v.Elem())
	}
	if isMarshaler(v.Type()) || v.Type() == reflect.TypeFor[json.Number]() {
		return w.marshaled(p, v)
	}
	switch v.Kind() {
	case reflect.String:
		p.text("", v.String())
	case reflect.Float32, reflect.Float64:
		if f := v.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
			p.add("", "must be a finite number")
			return nil
		}
	case reflect.Map:
		return w.mapping(p, v)
	case reflect.Slice, reflect.Array:
		return w.sequence(p, v)
	case reflect.Struct:
		if w.timestamps && holdsTime(v, 0) {
			p.add("", "is a struct that holds a time, which would be sent in a form that the service skips; use a map")
			return nil
		}
		return w.marshaled(p, v)
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		p.add("", fmt.Sprintf("is a %s, which JSON has no form for", v.Kind()))
		return nil
	}
	return v.Interface()
}

func (w valueWalk) mapping(p *problems, v reflect.Value) any {
	if v.IsNil() {
		return nil
	}
	if v.Type().Key().Kind() != reflect.String {
		if w.timestamps && holdsTime(v, 0) {
			p.add("", "is a map that holds a time, and must have string keys")
			return nil
		}
		return w.marshaled(p, v)
	}
	values := make(map[string]any, v.Len())
	for entries := v.MapRange(); entries.Next(); {
		values[entries.Key().String()] = entries.Value().Interface()
	}
	return w.object(p, values)
}

func (w valueWalk) sequence(p *problems, v reflect.Value) any {
	if v.Kind() == reflect.Slice && v.IsNil() {
		return nil
	}
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return v.Interface()
	}
	elements := make([]any, v.Len())
	for i := range elements {
		elements[i] = w.value(p.index(i), v.Index(i))
	}
	return elements
}

// marshaled writes a value that decides for itself how it is written, so that a
// failure is known here, under its path.
func (w valueWalk) marshaled(p *problems, v reflect.Value) any {
	raw, err := json.Marshal(v.Interface())
	if err != nil {
		p.add("", "can't be written as JSON")
		return nil
	}
	if w.timestamps && embedsTime(v.Type()) {
		var text string
		if json.Unmarshal(raw, &text) == nil && !isTimestamp(text) {
			p.add("", "is a time that writes itself in a form that the service skips; use time.Time")
			return nil
		}
	}
	return json.RawMessage(raw)
}

// timestamp writes t as the service reads it.
func timestamp(p *problems, t time.Time) any {
	t = t.UTC()
	switch {
	case t.IsZero():
		p.add("", "is the zero time")
	case t.Year() < 0 || t.Year() > 9999:
		p.add("", "has a year outside 0 to 9999")
	}
	return t.Format(timestampForm)
}

// isTimestamp reports whether s is in timestampForm to the letter. time.Parse
// alone would let a fraction of a second pass.
func isTimestamp(s string) bool {
	_, err := time.Parse(timestampForm, s)
	return err == nil && len(s) == len(timestampForm)
}

var (
	timeType          = reflect.TypeFor[time.Time]()
	jsonMarshalerType = reflect.TypeFor[json.Marshaler]()
	textMarshalerType = reflect.TypeFor[encoding.TextMarshaler]()
)

func isMarshaler(t reflect.Type) bool {
	return t.Implements(jsonMarshalerType) || t.Implements(textMarshalerType)
}

// embedsTime reports whether t is a struct around a time.Time, whose way of
// writing itself may be the one of time.Time.
func embedsTime(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return false
	}
	for i := range t.NumField() {
		if f := t.Field(i); f.Anonymous && (f.Type == timeType || f.Type == reflect.PointerTo(timeType)) {
			return true
		}
	}
	return false
}

// holdsTime reports whether encoding/json would come upon a time in v, or upon
// a place for one that happens to be empty today.
func holdsTime(v reflect.Value, depth int) bool {
	if !v.IsValid() || depth > maxNesting {
		return false
	}
	t := v.Type()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == timeType || embedsTime(t) {
		return true
	}
	if isMarshaler(t) {
		return false
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return holdsTime(v.Elem(), depth+1)
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if holdsTime(v.Index(i), depth+1) {
				return true
			}
		}
		return holdsTime(reflect.Zero(t.Elem()), depth+1)
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			if holdsTime(entries.Value(), depth+1) {
				return true
			}
		}
		return holdsTime(reflect.Zero(t.Elem()), depth+1)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if written := f.IsExported() || f.Anonymous; written && f.Tag.Get("json") != "-" && holdsTime(v.Field(i), depth+1) {
				return true
			}
		}
	}
	return false
}
