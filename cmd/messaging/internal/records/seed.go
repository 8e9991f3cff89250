package records

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

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
	Customers []struct {
		CustomerID      string `json:"customer_id"`
		FirstName       string `json:"first_name"`
		LastName        string `json:"last_name"`
		Email           string `json:"email"`
		PhoneNo         string `json:"phone_no"`
		CreatedAt       string `json:"customer_created_at"`
		UpdatedAt       string `json:"updated_at"`
		Providers       string `json:"providers"`
		LastInteraction string `json:"last_interaction"`
	} `json:"customers"`
	Events []struct {
		ID          string                `json:"id"`
		Name        string                `json:"name"`
		Description string                `json:"description"`
		CreatedAt   string                `json:"created_at"`
		Parameters  []fake.EventParameter `json:"parameters"`
	} `json:"events"`
	Messages []struct {
		ID              string `json:"id"`
		Channel         string `json:"channel"`
		Subject         string `json:"subject"`
		Title           string `json:"title"`
		Message         string `json:"message"`
		MessageType     string `json:"message_type"`
		CreatedAt       string `json:"created_at"`
		TotalSent       int    `json:"total_sent"`
		TotalDelivered  int    `json:"total_delivered"`
		TotalFailed     int    `json:"total_failed"`
		TotalComplained int    `json:"total_complained"`
		TotalBounced    int    `json:"total_bounced"`
	} `json:"messages"`
}

// ParseSeed parses a seed. Its errors name the line, or else the record.
func ParseSeed(data []byte) (Seed, error) {
	if err := strictjson.Decode(data, new(form)); err != nil {
		return nil, err
	}
	var lists map[string][]json.RawMessage
	if err := json.Unmarshal(bytes.TrimPrefix(data, []byte("\ufeff")), &lists); err != nil {
		return nil, err
	}
	seed := make(Seed)
	for _, k := range Kinds {
		for i, raw := range lists[k.Name] {
			record, err := k.parse(raw)
			if err != nil {
				return nil, fmt.Errorf("%s.%d: %w", k.Name, i, err)
			}
			seed[k] = append(seed[k], record)
		}
		if err := k.checkIDs(make(map[string]string), seed[k]); err != nil {
			return nil, err
		}
	}
	return seed, nil
}

// checkIDs returns an error for the first record whose id is taken, by one of those in ids, which say by whom, or by a record
// before it.
func (k *Kind) checkIDs(ids map[string]string, added []Value) error {
	for i, v := range added {
		id := v.ID()
		if id == "" {
			continue
		}
		if by, taken := ids[id]; taken {
			return fmt.Errorf("%s.%d.%s: %s", k.Name, i, k.idKey, by)
		}
		ids[id] = fmt.Sprintf("duplicates %s.%d", k.Name, i)
	}
	return nil
}

// unreadable returns an error for the members of a record that have the right type, and are not read.
func unreadable(extra map[string]json.RawMessage) error {
	return errors.New(slices.Sorted(maps.Keys(extra))[0] + ": cannot be read")
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
