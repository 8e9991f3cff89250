package records

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/strictjson"
	"github.com/messaging-go/messaging/internal/fake"
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

// form is the form of a seed.
type form struct {
	Customers []formCustomer `json:"customers"`
	Events    []fake.Event   `json:"events"`
	Messages  []fake.Extra   `json:"messages"`
}

type formCustomer struct {
	CustomerID      string    `json:"customer_id"`
	FirstName       string    `json:"first_name"`
	LastName        string    `json:"last_name"`
	Email           string    `json:"email"`
	PhoneNo         string    `json:"phone_no"`
	CreatedAt       time.Time `json:"customer_created_at"`
	UpdatedAt       time.Time `json:"updated_at"`
	Providers       string    `json:"providers"`
	LastInteraction time.Time `json:"last_interaction"`
}

// ParseSeed parses a seed. Its errors name the line, or else the record.
func ParseSeed(data []byte) (Seed, error) {
	var read form
	if err := strictjson.Decode(data, &read); err != nil {
		return nil, err
	}
	seed := make(Seed)
	for _, k := range Kinds {
		seed[k] = k.seeded(&read)
		for i, v := range seed[k] {
			if err := v.check(); err != nil {
				return nil, fmt.Errorf("%s.%d: %w", k.Name, i, err)
			}
		}
		if err := k.checkIDs(nil, seed[k]); err != nil {
			return nil, err
		}
	}
	return seed, nil
}

// checkIDs returns an error for the first added record whose id is taken, by one that is stored or was added before it.
func (k *Kind) checkIDs(stored, added []Value) error {
	ids := make(map[string]string)
	for _, v := range stored {
		ids[v.ID()] = "already exists"
	}
	for i, v := range added {
		by, taken := ids[v.ID()]
		if taken && v.ID() != "" {
			return fmt.Errorf("%s.%d.%s: %s", k.Name, i, k.idKey, by)
		}
		ids[v.ID()] = fmt.Sprintf("duplicates %s.%d", k.Name, i)
	}
	return nil
}

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
