package messaging

import (
	"encoding"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// maxNesting is how deep a value may be nested, in what is sent and what is read.
const maxNesting = 100

// templateValues returns the variables of a template as plain values.
func templateValues(p *problems, values map[string]any) map[string]any {
	return (&freeForm{}).object(p, values)
}

// payloadValues returns the values of a trigger as plain values. The map is the
// caller's to add to.
func payloadValues(p *problems, values map[string]any) map[string]any {
	return (&freeForm{strict: true}).object(p.in("payload"), values)
}

// freeForm turns what a caller gives into plain values, which encoding/json
// writes without an error: nil, bool, string, int, int64, uint64, float32,
// float64, []byte, json.RawMessage, map[string]any and []any.
type freeForm struct {
	strict  bool // times take timestampForm, and structs are refused
	tooDeep bool // the value, at some place in it
}

func (f *freeForm) object(p *problems, values map[string]any) map[string]any {
	plain := make(map[string]any, len(values)+len(reservedKeys))
	var others []string
	for key, value := range values {
		if utf8.ValidString(key) && isPlain(value) {
			plain[key] = value
		} else {
			others = append(others, key)
		}
	}
	slices.Sort(others) // and with them their problems
	for _, key := range others {
		p.text("", key)
		plain[key] = f.member(p.in(key), values[key])
	}
	return plain
}

// isPlain spares the values of most payloads the reflection.
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

// member reports nothing else of a value that is nested too deeply: one that
// contains itself has every other problem on every level.
func (f *freeForm) member(p *problems, value any) any {
	var within problems
	f.tooDeep = false
	plain := f.value(&within, reflect.ValueOf(value), 0)
	if f.tooDeep {
		return refuse(p, "is nested deeper than 100 levels, or contains itself")
	}
	for found := within.first; found != nil; found = found.next {
		p.add(found.path, found.message)
	}
	return plain
}

// refused is in the place of a value that a problem was added for.
type refused struct{}

func refuse(p *problems, message string) any {
	p.add("", message)
	return refused{}
}

func (f *freeForm) value(p *problems, v reflect.Value, depth int) any {
	if f.tooDeep = f.tooDeep || depth > maxNesting; f.tooDeep {
		return nil
	}
	switch v.Kind() {
	case reflect.Invalid:
		return nil
	case reflect.Interface:
		return f.value(p, v.Elem(), depth)
	case reflect.Pointer:
		return f.value(p, v.Elem(), depth+1)
	}
	whole, kind := v, v.Kind()
	if v.CanAddr() {
		whole = v.Addr() // encoding/json, too, finds the methods of the pointer
	}
	switch {
	case f.strict && v.Type() == reflect.TypeFor[time.Time]():
		return timestamp(p, v.Interface().(time.Time))
	case writesItself(whole.Type()):
		return f.marshaled(p, whole.Interface())
	case (kind == reflect.Map || kind == reflect.Slice) && v.IsNil():
		return nil
	case kind == reflect.Map && v.Type().Key().Kind() == reflect.String:
		return f.mapping(p, v, depth)
	case kind == reflect.Slice && isByte(v.Type().Elem()):
		return v.Bytes()
	case kind == reflect.Slice || kind == reflect.Array:
		return f.sequence(p, v, depth)
	case kind == reflect.Map && f.strict:
		return refuse(p, "is a map with keys that are not strings; use string keys")
	case kind == reflect.Struct && f.strict:
		return refuse(p, "is a struct; use a map, a time.Time, or a type with MarshalJSON")
	case kind == reflect.Map || kind == reflect.Struct:
		return f.marshaled(p, whole.Interface())
	default:
		return scalar(p, v)
	}
}

func (f *freeForm) mapping(p *problems, v reflect.Value, depth int) any {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	plain := make(map[string]any, len(keys))
	for _, key := range keys {
		p.text("", key.String())
		plain[key.String()] = f.value(p.in(key.String()), v.MapIndex(key), depth+1)
	}
	return plain
}

func (f *freeForm) sequence(p *problems, v reflect.Value, depth int) any {
	plain := make([]any, v.Len())
	for i := range plain {
		plain[i] = f.value(p.index(i), v.Index(i), depth+1)
	}
	return plain
}

func scalar(p *problems, v reflect.Value) any {
	switch {
	case v.Type() == reflect.TypeFor[json.Number]():
		raw, err := json.Marshal(v.Interface())
		if err != nil || v.Len() == 0 { // encoding/json takes "" for 0
			return refuse(p, "must be a valid number")
		}
		return json.RawMessage(raw)
	case v.Kind() == reflect.String:
		p.text("", v.String())
		return v.String()
	case v.Kind() == reflect.Bool:
		return v.Bool()
	case v.CanInt():
		return v.Int()
	case v.CanUint():
		return v.Uint()
	case !v.CanFloat():
		return refuse(p, "is of kind "+v.Kind().String()+"; use a bool, a string, a number, a time.Time, a map or a slice")
	case math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0):
		return refuse(p, "must be a finite number")
	case v.Kind() == reflect.Float32:
		return float32(v.Float()) // is written with fewer digits
	default:
		return v.Float()
	}
}

// marshaled leaves it to value, or to encoding/json, how value is written.
func (f *freeForm) marshaled(p *problems, value any) any {
	raw, err := json.Marshal(value)
	_, verbatim := value.(json.Marshaler)
	switch {
	case err != nil: // its text could quote the value
		return refuse(p, "can't be written as JSON")
	case string(raw) == "null":
		return nil
	case !utf8.Valid(raw), !verbatim && hasReplacedText(value, raw):
		return refuse(p, "must be valid UTF-8")
	}
	var text string
	switch {
	case !f.strict || json.Unmarshal(raw, &text) != nil:
	case text == time.Time{}.Format(timestampForm):
		return refuse(p, isZeroTime)
	case !isTimestamp(text) && isTime(text):
		return refuse(p, "is a time in a form that the service skips; use time.Time, or the form "+timestampForm)
	}
	return json.RawMessage(raw)
}

// isByte reports whether encoding/json writes a slice of t as one string.
func isByte(t reflect.Type) bool {
	return t.Kind() == reflect.Uint8 && !writesItself(reflect.PointerTo(t))
}

func writesItself(t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}
