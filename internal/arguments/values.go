package arguments

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/messaging-go/messaging/internal/wire"
)

// TemplateValues returns the variables of a template as encoding/json writes them.
func TemplateValues(p *Problems, values map[string]any) map[string]any {
	return written(p, values, false)
}

// PayloadValues returns the values of a trigger as encoding/json writes them, except for
// times, which get the form that the service reads. The caller may add to the map.
func PayloadValues(p *Problems, values map[string]any) map[string]any {
	return written(p.In("payload"), values, true)
}

// written returns a copy of values that encoding/json writes without an error. A value is
// then nil, a bool, a string, an int, an int64, or a json.RawMessage, or it is Invalid.
func written(p *Problems, values map[string]any, inPayload bool) map[string]any {
	const reserved = 2 // for the identity of the customer
	copied := make(map[string]any, len(values)+reserved)
	var others []string
	for key, value := range values {
		if utf8.ValidString(key) && isPlain(value) {
			copied[key] = value
		} else {
			others = append(others, key)
		}
	}
	slices.Sort(others) // so that the problems are sorted too
	for _, key := range others {
		name := key
		if !utf8.ValidString(key) {
			quoted := strconv.Quote(key)
			name = quoted[1 : len(quoted)-1]
			p.Add(name, "has a name that is not valid UTF-8")
		}
		if inPayload {
			copied[key] = payloadValue(p.In(name), values[key])
		} else {
			copied[key] = marshaled(p.In(name), values[key])
		}
	}
	return copied
}

// isPlain reports whether value stays as it is. This is so for the values of most payloads.
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

// Invalid stands for an invalid value, for which a problem was added.
type Invalid struct{}

func invalid(p *Problems, message string) any {
	p.Add("", message)
	return Invalid{}
}

func payloadValue(p *Problems, value any) any {
	switch value := value.(type) {
	case time.Time:
		return timestamp(p, value)
	case *time.Time:
		if value == nil {
			return nil
		}
		return timestamp(p, *value)
	case time.Duration, *time.Duration:
		return invalid(p, "is a time.Duration, which would be sent in nanoseconds: say the unit, such as Minutes()")
	}
	return marshaled(p, value)
}

// timestamp returns t in the form that the service reads.
func timestamp(p *Problems, t time.Time) any {
	t = t.UTC()
	switch {
	case t.IsZero():
		return invalid(p, "is the zero time: use nil for no time")
	case t.Year() < 0 || t.Year() > 9999:
		return invalid(p, "is a time outside the years 0 to 9999: use a time within them")
	}
	return t.Format(wire.TimestampForm)
}

// marshaled returns value as encoding/json writes it.
func marshaled(p *Problems, value any) any {
	w := wire.NewWriter()
	w.Value(value)
	raw, err := w.Finish()
	_, isNumber := value.(json.Number)
	switch text := reflect.Indirect(reflect.ValueOf(value)); {
	case isNumber && (err != nil || !json.Valid(raw)):
		return invalid(p, "must be a number")
	case err != nil, !json.Valid(raw): // its text could quote the value
		return invalid(p, "cannot be written as JSON")
	case !utf8.Valid(raw), text.Kind() == reflect.String && !utf8.ValidString(text.String()): // which was replaced
		return invalid(p, "must be valid UTF-8")
	case string(raw) == "null":
		return nil
	}
	return json.RawMessage(raw)
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
