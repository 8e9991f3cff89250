package records

import (
	_ "embed"
	"encoding/json"
)

// Seed holds records by their kinds. Its JSON has an array for each kind, in the form
// of the service's lists.
type Seed map[*Kind][]Value

// Demo returns the built-in seed.
func Demo() Seed {
	seed, err := ParseSeed(demo)
	if err != nil {
		panic(err) // the file is embedded, and tested
	}
	return seed
}

//go:embed demo.json
var demo []byte

// Counts returns the numbers of records by the names of their kinds.
func (s Seed) Counts() map[string]int {
	counts := make(map[string]int)
	for _, k := range Kinds {
		counts[k.Name] = len(s[k])
	}
	return counts
}

// MarshalJSON writes what ParseSeed reads.
func (s Seed) MarshalJSON() ([]byte, error) {
	lists := make(map[string][]Value)
	for _, k := range Kinds {
		lists[k.Name] = append([]Value{}, s[k]...) // never null
	}
	return json.Marshal(lists)
}
