package messagingtest

import (
	"bytes"
	"encoding/json"
)

// cloneSlice returns a deep copy of values, and copies each of them with clone.
func cloneSlice[T any](values []T, clone func(T) T) []T {
	if values == nil {
		return nil
	}
	clones := make([]T, len(values))
	for i, value := range values {
		clones[i] = clone(value)
	}
	return clones
}

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	value := *p
	return &value
}

// cloneObject returns a deep copy of a JSON object that encoding/json decoded.
func cloneObject(o map[string]any) map[string]any {
	if o == nil {
		return nil
	}
	clones := make(map[string]any, len(o))
	for key, value := range o {
		clones[key] = cloneValue(value)
	}
	return clones
}

func cloneValue(value any) any {
	switch value := value.(type) {
	case map[string]any:
		return cloneObject(value)
	case []any:
		return cloneSlice(value, cloneValue)
	default:
		return value
	}
}

func cloneExtra(extra map[string]json.RawMessage) map[string]json.RawMessage {
	if extra == nil {
		return nil
	}
	clones := make(map[string]json.RawMessage, len(extra))
	for key, value := range extra {
		clones[key] = bytes.Clone(value)
	}
	return clones
}
