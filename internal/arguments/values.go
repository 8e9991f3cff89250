package arguments

import (
	"encoding"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/messaging-go/messaging/internal/wire"
)

// TemplateValues returns the variables of a template as plain values.
func TemplateValues(p *Problems, values map[string]any) map[string]any {
	return (&freeForm{}).object(p, values)
}

// PayloadValues returns the values of a trigger as plain values. The caller may add to the
// map.
func PayloadValues(p *Problems, values map[string]any) map[string]any {
	return (&freeForm{strict: true}).object(p.In("payload"), values)
}

// freeForm converts the values of a caller to plain values, which encoding/json writes
// without an error: nil, bool, string, int, int64, uint64, float32, float64, []byte,
// json.RawMessage, map[string]any and []any.
type freeForm struct {
	strict  bool // times get the form that the service reads, and structs are invalid
	tooDeep bool // some part of the value is nested too deeply
}

func (f *freeForm) object(p *Problems, values map[string]any) map[string]any {
	const reserved = 2 // for the identity of the customer
	plain := make(map[string]any, len(values)+reserved)
	var others []string
	for key, value := range values {
		if utf8.ValidString(key) && isPlain(value) {
			plain[key] = value
		} else {
			others = append(others, key)
		}
	}
	slices.Sort(others) // so that the problems are sorted too
	for _, key := range others {
		plain[key] = f.member(p.In(p.step(key)), values[key])
	}
	return plain
}

// isPlain reports whether value is plain. It avoids reflection for the values of most
// payloads.
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

// member returns value as a plain value. If value is nested too deeply, no other problem is
// added: a value that contains itself would have its other problems on every level.
func (f *freeForm) member(p *Problems, value any) any {
	var within Problems
	f.tooDeep = false
	plain := f.value(&within, reflect.ValueOf(value), 0)
	if f.tooDeep {
		return invalid(p, "is nested deeper than 100 levels, or contains itself")
	}
	for path, message := range within.All() {
		p.Add(path, message)
	}
	return plain
}

// Invalid stands for an invalid value, for which a problem was added.
type Invalid struct{}

func invalid(p *Problems, message string) any {
	p.Add("", message)
	return Invalid{}
}

func (f *freeForm) value(p *Problems, v reflect.Value, depth int) any {
	if f.tooDeep = f.tooDeep || depth > 100; f.tooDeep {
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
		whole = v.Addr() // encoding/json also uses the methods of the pointer
	}
	switch {
	case f.strict && depth == 0 && v.Type() == reflect.TypeFor[time.Duration]():
		return invalid(p, "is a time.Duration, which would be sent in nanoseconds: say the unit, such as Minutes()")
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
		return invalid(p, "is a map with keys that are not strings: use string keys")
	case kind == reflect.Struct && f.strict:
		return invalid(p, "is a struct: use a map, a time.Time, or a type with MarshalJSON")
	case kind == reflect.Map || kind == reflect.Struct:
		return f.marshaled(p, whole.Interface())
	default:
		return scalar(p, v)
	}
}

const isZeroTime = "is the zero time: use nil for no time"

// timestamp returns t in the form that the service reads.
func timestamp(p *Problems, t time.Time) any {
	t = t.UTC()
	switch {
	case t.IsZero():
		return invalid(p, isZeroTime)
	case t.Year() < 0 || t.Year() > 9999:
		return invalid(p, "is a time outside the years 0 to 9999: use a time within them")
	}
	return t.Format(wire.TimestampForm)
}

func (f *freeForm) mapping(p *Problems, v reflect.Value, depth int) any {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	plain := make(map[string]any, len(keys))
	for _, key := range keys {
		plain[key.String()] = f.value(p.In(p.step(key.String())), v.MapIndex(key), depth+1)
	}
	return plain
}

func (f *freeForm) sequence(p *Problems, v reflect.Value, depth int) any {
	plain := make([]any, v.Len())
	for i := range plain {
		plain[i] = f.value(p.Index(i), v.Index(i), depth+1)
	}
	return plain
}

func scalar(p *Problems, v reflect.Value) any {
	switch {
	case v.Type() == reflect.TypeFor[json.Number]():
		raw, err := json.Marshal(v.Interface())
		if err != nil || v.Len() == 0 { // encoding/json writes "" as 0
			return invalid(p, "must be a valid number")
		}
		return json.RawMessage(raw)
	case v.Kind() == reflect.String:
		p.Text("", v.String())
		return v.String()
	case v.Kind() == reflect.Bool:
		return v.Bool()
	case v.CanInt():
		return v.Int()
	case v.CanUint():
		return v.Uint()
	case !v.CanFloat():
		return invalid(p, "is of kind "+v.Kind().String()+": use a bool, a string, a number, a time.Time, a map or a slice")
	case math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0):
		return invalid(p, "must be a finite number")
	case v.Kind() == reflect.Float32:
		return float32(v.Float()) // which is written with fewer digits
	default:
		return v.Float()
	}
}

// marshaled returns value as its own methods, or encoding/json, write it.
func (f *freeForm) marshaled(p *Problems, value any) any {
	raw, err := json.Marshal(value)
	_, verbatim := value.(json.Marshaler)
	switch {
	case err != nil: // its text could quote the value
		return invalid(p, "cannot be written as JSON")
	case string(raw) == "null":
		return nil
	case !utf8.Valid(raw), !verbatim && hasReplacedText(value, raw):
		return invalid(p, "must be valid UTF-8")
	}
	var text string
	switch {
	case !f.strict || json.Unmarshal(raw, &text) != nil:
	case text == time.Time{}.Format(wire.TimestampForm):
		return invalid(p, isZeroTime)
	case !wire.IsTimestamp(text) && wire.IsTime(text):
		return invalid(p, "is a time in a form that the service ignores: use time.Time, or the form "+wire.TimestampForm)
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

// IsNil reports whether value is a nil pointer, map, slice or function in an interface.
func IsNil(value any) bool {
	v := reflect.ValueOf(value)
	switch v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Func:
		return v.IsNil()
	}
	return false
}
