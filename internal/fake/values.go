package fake

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
)

// Values are the members of a JSON object. They have the types of encoding/json: a number is
// a float64. Only a number out of its range, and an integer beyond 2^53 in either direction,
// is a json.Number. An integer is written without a fraction and without an exponent.
type Values map[string]any

// UnmarshalJSON reads an object.
func (v *Values) UnmarshalJSON(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	members := make(map[string]any)
	if err := decoder.Decode(&members); err != nil {
		return err
	}
	for name, value := range members {
		members[name] = withFloats(value)
	}
	*v = members
	return nil
}

// withFloats replaces the numbers in a value that a float64 can hold.
func withFloats(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			value[name] = withFloats(member)
		}
	case []any:
		for i, element := range value {
			value[i] = withFloats(element)
		}
	case json.Number:
		const largest = 1 << 53 // up to which a float64 holds every integer
		integer, err := value.Int64()
		if errors.Is(err, strconv.ErrRange) || integer > largest || integer < -largest {
			return value
		}
		if float, err := value.Float64(); err == nil {
			return float
		}
	}
	return value
}
