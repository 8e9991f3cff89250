// Package memory measures how much memory values hold.
package memory

import (
	"reflect"
	"time"
)

// SizeOf returns about how many bytes a value holds: those that it points to, in any
// depth, with what the allocator and maps add.
func SizeOf(v any) int64 { return held(reflect.ValueOf(v)) }

// held returns the bytes that a value points to, without those of the value itself.
func held(v reflect.Value) (n int64) {
	switch v.Kind() {
	case reflect.String:
		return allocated(v.Len())
	case reflect.Slice:
		return allocated(v.Cap()*int(v.Type().Elem().Size())) + heldByElements(v)
	case reflect.Array:
		return heldByElements(v)
	case reflect.Map:
		return heldByMap(v)
	case reflect.Pointer:
		if v.IsNil() {
			return 0
		}
		return allocated(int(v.Type().Elem().Size())) + held(v.Elem())
	case reflect.Interface:
		if v.IsNil() {
			return 0
		}
		if v.Elem().Kind() != reflect.Pointer { // a pointer is in the interface itself
			n = allocated(int(v.Elem().Type().Size()))
		}
		return n + held(v.Elem())
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() { // its location is shared
			return 0
		}
		for i := range v.NumField() {
			n += held(v.Field(i))
		}
		return n
	default:
		return 0
	}
}

// heldByElements returns what the elements of a slice or an array point to.
func heldByElements(v reflect.Value) (n int64) {
	if kind := v.Type().Elem().Kind(); kind <= reflect.Complex128 {
		return 0
	}
	for i := range v.Len() {
		n += held(v.Index(i))
	}
	return n
}

// heldByMap counts eight slots for a small map, and a power of two for another, of which
// at most seven eighths are used.
func heldByMap(v reflect.Value) int64 {
	if v.IsNil() {
		return 0
	}
	const header, control = 48, 1
	slots := 8
	for slots*7/8 < v.Len() && v.Len() > 8 {
		slots *= 2
	}
	slot := control + int(v.Type().Key().Size()+v.Type().Elem().Size())
	n := header + allocated(slots*slot)
	for entries := v.MapRange(); entries.Next(); {
		n += held(entries.Key()) + held(entries.Value())
	}
	return n
}

// allocated returns the bytes that the allocator takes for n.
func allocated(n int) int64 {
	switch {
	case n <= 32:
		return int64(n+7) &^ 7
	case n <= 512:
		return int64(n+15) &^ 15
	default:
		return int64(n + n/12)
	}
}
