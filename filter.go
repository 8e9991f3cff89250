package messaging

import (
	"encoding/json"
	"slices"
)

// Filter restricts a list to the records that have one of its values. The zero Filter selects
// all records. Create any other with [Only].
type Filter struct {
	values []string // nil for the zero Filter alone
}

// Only returns the filter that selects the records with the given values. Without values it
// is invalid where it is used, since the service would select all records.
func Only(values ...string) Filter { return Filter{append([]string{}, values...)} }

// Values returns a copy of the values, or nil for the zero Filter.
func (f Filter) Values() []string { return slices.Clone(f.values) }

// Equal reports whether two filters have the same values in the same order. The zero Filter
// equals only itself.
func (f Filter) Equal(other Filter) bool {
	return (f.values == nil) == (other.values == nil) && slices.Equal(f.values, other.values)
}

// MarshalJSON writes the values as an array, or null for the zero Filter.
func (f Filter) MarshalJSON() ([]byte, error) { return json.Marshal(f.values) }

// UnmarshalJSON reads what MarshalJSON writes.
func (f *Filter) UnmarshalJSON(data []byte) error {
	var values []string // apart from those of f, which its copies share
	if err := json.Unmarshal(data, &values); err != nil {
		return err
	}
	f.values = values
	return nil
}
