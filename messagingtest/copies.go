package messagingtest

import (
	"bytes"

	"github.com/messaging-go/messaging"
)

// copied copies a list, each element in full.
func copied[T any](list []T, element func(T) T) []T {
	if list == nil {
		return nil
	}
	copies := make([]T, len(list))
	for i, value := range list {
		copies[i] = element(value)
	}
	return copies
}

func copiedPointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	value := *p
	return &value
}

// copiedObject copies a JSON object as encoding/json decodes it.
func copiedObject(o map[string]any) map[string]any {
	if o == nil {
		return nil
	}
	copies := make(map[string]any, len(o))
	for key, value := range o {
		copies[key] = copiedValue(value)
	}
	return copies
}

func copiedValue(value any) any {
	switch value := value.(type) {
	case map[string]any:
		return copiedObject(value)
	case []any:
		return copied(value, copiedValue)
	default:
		return value
	}
}

func copiedExtra(extra messaging.Extra) messaging.Extra {
	if extra == nil {
		return nil
	}
	copies := make(messaging.Extra, len(extra))
	for key, value := range extra {
		copies[key] = bytes.Clone(value)
	}
	return copies
}
