package messaging

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"time"
	"unicode/utf8"
)

// timestampForm is the one form of a timestamp that the service reads in the
// payload of a trigger. It skips every other in silence.
const timestampForm = "2006-01-02T15:04:05Z"

// maxNesting is how deep a value may be nested, in what is sent and what is read.
const maxNesting = 100

// templateValues checks the variables of a template.
func templateValues(p *problems, values map[string]any) map[string]any {
	return (&valueWalk{}).object(p, values, 0)
}

// payloadValues checks the values of a trigger and writes every time in them as
// the service reads it. The map it returns is the caller's to add to.
func payloadValues(p *problems, values map[string]any) map[string]any {
	plain := make(map[string]any, len(values)+len(reservedKeys))
	for key, value := range values {
		if !isPlain(key) || !isPlain(value) {
			return (&valueWalk{timestamps: true}).object(p.in("payload"), values, 0)
		}
		plain[key] = value
	}
	return plain
}

// valueWalk copies a free-form value into maps, slices and scalars that
// encoding/json writes without fail, and names by its path what it can't write.
type valueWalk struct {
	timestamps bool // times take timestampForm
	tooDeep    bool // somewhere; one can go round in a value within itself for ever
}

func (w *valueWalk) object(p *problems, values map[string]any, depth int) map[string]any {
	if values == nil {
		return nil
	}
	plain := make(map[string]any, len(values)+len(reservedKeys))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		p.text("", key)
		plain[key] = w.value(p.in(key), reflect.ValueOf(values[key]), depth+1)
	}
	return plain
}

// isPlain reports whether encoding/json is sure to write value as it is meant,
// which it is in most payloads.
func isPlain(value any) bool {
	switch value := value.(type) {
	case string:
		return utf8.ValidString(value)
	case nil, bool, int, int64:
		return true
	default:
		return false
	}
}

func (w *valueWalk) value(p *problems, v reflect.Value, depth int) any {
	if w.tooDeep {
		return nil
	}
	if depth > maxNesting {
		w.tooDeep = true
		p.add("", "is nested too deeply, or within itself")
		return nil
	}
	if !v.IsValid() || (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && v.IsNil() {
		return nil
	}
	if w.timestamps && isTime(v.Type()) {
		return timestamp(p, v.Convert(timeType).Interface().(time.Time))
	}
	if v.Kind() == reflect.Interface {
		return w.value(p, v.Elem(), depth)
	}
	if v.Kind() == reflect.Pointer && isFollowed(v.Type()) {
		return w.value(p, v.Elem(), depth+1)
	}
	if v.CanAddr() && !isMarshaler(v.Type()) && isMarshaler(reflect.PointerTo(v.Type())) {
		v = v.Addr() // encoding/json, too, finds the method of an element of a slice
	}
	if isMarshaler(v.Type()) || v.Type() == numberType {
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
		return w.mapping(p, v, depth)
	case reflect.Slice, reflect.Array:
		return w.sequence(p, v, depth)
	case reflect.Struct:
		if w.timestamps && holdsTime(v) {
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

func (w *valueWalk) mapping(p *problems, v reflect.Value, depth int) any {
	if v.IsNil() {
		return nil
	}
	if v.Type().Key().Kind() != reflect.String {
		if w.timestamps && holdsTime(v) {
			p.add("", "is a map that holds a time, and must have string keys")
			return nil
		}
		return w.marshaled(p, v)
	}
	values := make(map[string]any, v.Len())
	for entries := v.MapRange(); entries.Next(); {
		values[entries.Key().String()] = entries.Value().Interface()
	}
	return w.object(p, values, depth)
}

func (w *valueWalk) sequence(p *problems, v reflect.Value, depth int) any {
	if v.Kind() == reflect.Slice && v.IsNil() {
		return nil
	}
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return v.Interface()
	}
	elements := make([]any, v.Len())
	for i := range elements {
		elements[i] = w.value(p.index(i), v.Index(i), depth+1)
	}
	return elements
}

// marshaled writes a value that is left to encoding/json, or decides for itself
// how it is written, so that a failure is known here, under its path.
func (w *valueWalk) marshaled(p *problems, v reflect.Value) any {
	raw, err := json.Marshal(v.Interface())
	switch {
	case err != nil, v.Type() == numberType && v.Len() == 0: // encoding/json would make it 0
		p.add("", "can't be written as JSON")
		return nil
	case !utf8.Valid(raw), !v.Type().Implements(jsonMarshalerType) && hasReplacedText(raw):
		p.add("", "must be valid UTF-8")
	}
	var text string
	if !w.timestamps || !embedsTime(v.Type()) || json.Unmarshal(raw, &text) != nil {
		return json.RawMessage(raw)
	}
	switch {
	case !isTimestamp(text):
		p.add("", "is a time that writes itself in a form that the service skips; use time.Time")
		return nil
	case text == time.Time{}.Format(timestampForm):
		p.add("", "is the zero time")
	}
	return json.RawMessage(raw)
}

// hasReplacedText reports whether encoding/json has come upon invalid UTF-8: it
// writes that as an escape, and a sound U+FFFD as it stands.
func hasReplacedText(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		if raw[i] == '\\' {
			if bytes.HasPrefix(raw[i:], []byte(`\ufffd`)) {
				return true
			}
			i++
		}
	}
	return false
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
	numberType        = reflect.TypeFor[json.Number]()
	jsonMarshalerType = reflect.TypeFor[json.Marshaler]()
	textMarshalerType = reflect.TypeFor[encoding.TextMarshaler]()
)

// isTime reports whether t is time.Time, or a type made of it that has no way of
// its own to write itself: encoding/json would write such a type as {}.
func isTime(t reflect.Type) bool {
	return t == timeType || t.Kind() == reflect.Struct && t.ConvertibleTo(timeType) && !isMarshaler(t)
}

func isMarshaler(t reflect.Type) bool {
	return t.Implements(jsonMarshalerType) || t.Implements(textMarshalerType)
}

// isFollowed reports whether a pointer type is written as what it points to:
// always, unless the pointer alone knows how to write itself.
func isFollowed(t reflect.Type) bool { return !isMarshaler(t) || isMarshaler(t.Elem()) }

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
		f := t.Field(i)
		if f.Anonymous && (f.Type == timeType || f.Type == reflect.PointerTo(timeType) || embedsTime(f.Type)) {
			return true
		}
	}
	return false
}

// holdsTime reports whether encoding/json would come upon a time in v, or upon
// a place for one that happens to be empty today.
func holdsTime(v reflect.Value) bool {
	return (&timeSearch{map[reflect.Type]bool{}, map[place]bool{}}).value(v)
}

// timeSearch remembers where it has been, since types and values can hold
// themselves.
type timeSearch struct {
	types  map[reflect.Type]bool
	places map[place]bool
}

// place is more than an address, which a struct shares with its first field and
// a slice with the beginning of it.
type place struct {
	address uintptr
	t       reflect.Type
	length  int
}

func placeOf(v reflect.Value) place {
	p := place{address: v.Pointer(), t: v.Type()}
	if v.Kind() == reflect.Slice {
		p.length = v.Len()
	}
	return p
}

// value looks into what only the value tells: the contents of interfaces.
func (s *timeSearch) value(v reflect.Value) bool {
	switch {
	case !v.IsValid():
		return false
	case s.in(v.Type()):
		return true
	case isMarshaler(v.Type()):
		return false
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		if v.IsNil() || s.places[placeOf(v)] {
			return false
		}
		s.places[placeOf(v)] = true
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return s.value(v.Elem())
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if s.value(v.Index(i)) {
				return true
			}
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			if s.value(entries.Value()) {
				return true
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if isWritten(v.Type().Field(i)) && s.value(v.Field(i)) {
				return true
			}
		}
	}
	return false
}

// in looks into what the type alone tells.
func (s *timeSearch) in(t reflect.Type) bool {
	found, seen := s.types[t]
	if seen {
		return found
	}
	s.types[t] = false // while its parts are looked at
	switch {
	case isTime(t) || embedsTime(t):
		found = true
	case t.Kind() == reflect.Pointer && isFollowed(t):
		found = s.in(t.Elem())
	case isMarshaler(t):
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Array || t.Kind() == reflect.Map:
		found = s.in(t.Elem())
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			found = found || isWritten(t.Field(i)) && s.in(t.Field(i).Type)
		}
	}
	s.types[t] = found
	return found
}

// isWritten reports whether encoding/json writes the field.
func isWritten(f reflect.StructField) bool {
	return (f.IsExported() || f.Anonymous) && f.Tag.Get("json") != "-"
}
