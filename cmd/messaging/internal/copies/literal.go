package copies

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

// literal returns a value as Go code, without the fields that are zero.
func literal(v reflect.Value) string {
	switch value := v.Interface().(type) {
	case json.Number:
		if n, err := value.Int64(); err == nil && strconv.FormatInt(n, 10) == value.String() {
			return value.String()
		}
		return "json.Number(" + strconv.Quote(value.String()) + ")"
	}
	switch v.Kind() {
	case reflect.String:
		return stringCode(v.String())
	case reflect.Pointer:
		return "&" + literal(v.Elem())
	case reflect.Interface:
		if v.IsNil() {
			return "nil"
		}
		return literal(v.Elem())
	case reflect.Slice:
		return typeCode(v.Type()) + "{" + elements(v) + "}"
	case reflect.Map:
		return typeCode(v.Type()) + "{" + members(v) + "}"
	case reflect.Struct:
		return structCode(v, "")
	default:
		return fmt.Sprint(v.Interface())
	}
}

func typeCode(t reflect.Type) string {
	return strings.ReplaceAll(t.String(), "interface {}", "any")
}

// list joins parts, each on its own line if they are long.
func list(parts []string) string {
	const short = 80
	if joined := strings.Join(parts, ", "); len(joined) <= short && !strings.Contains(joined, "\n") {
		return joined
	}
	return "\n" + strings.Join(parts, ",\n") + ",\n"
}

func elements(v reflect.Value) string {
	var parts []string
	for i := range v.Len() {
		parts = append(parts, literalOf(v.Index(i), v.Type().Elem()))
	}
	return list(parts)
}

// literalOf returns an element, without its type where the type of the list has it.
func literalOf(v reflect.Value, elem reflect.Type) string {
	code := literal(v)
	if elem.Kind() == reflect.Struct {
		code = strings.TrimPrefix(code, typeCode(elem))
	}
	return code
}

func members(v reflect.Value) string {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	var parts []string
	for _, key := range keys {
		value := v.MapIndex(key)
		code := "nil"
		if value.Kind() != reflect.Interface || !value.IsNil() {
			code = literal(value)
		}
		parts = append(parts, strconv.Quote(key.String())+": "+code)
	}
	return list(parts)
}

// structCode returns a struct. An audience cannot be read back, so its code is given.
func structCode(v reflect.Value, audience string) string {
	var parts []string
	for i := range v.NumField() {
		field := v.Field(i)
		if field.IsZero() {
			continue
		}
		code := audience
		if field.Type() != reflect.TypeFor[messaging.Audience]() {
			code = literal(field)
		}
		parts = append(parts, v.Type().Field(i).Name+": "+code)
	}
	return typeCode(v.Type()) + "{" + list(parts) + "}"
}

func audienceCode(all bool, recipients []messagingtest.Recipient) string {
	if all {
		return "messaging.AllCustomers()"
	}
	var parts []string
	for _, r := range recipients {
		if r.Type == messagingtest.RecipientSegment {
			parts = append(parts, "messaging.ToSegments("+elements(reflect.ValueOf(r.Segments))+")")
			continue
		}
		var customers []string
		for _, c := range r.Customers {
			customers = append(customers, literal(reflect.ValueOf(c)))
		}
		parts = append(parts, "messaging.ToCustomers("+list(customers)+")")
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return "messaging.ToEach(" + list(parts) + ")"
}
