package records

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/search"
	"github.com/messaging-go/messaging/internal/fake"
)

// Record is a record with its number in URLs. Numbers are not used again after a
// reset.
type Record struct {
	Number int
	Value
}

// MarshalJSON writes the form of the service's lists, with the number and the devices of a customer.
func (r Record) MarshalJSON() ([]byte, error) {
	encoded, err := json.Marshal(r.Value)
	if err != nil {
		return nil, err
	}
	members := map[string]any{}
	if err := json.Unmarshal(encoded, &members); err != nil {
		return nil, err
	}
	members["number"] = r.Number
	if c, ok := r.Value.(customer); ok {
		members["devices"] = append([]fake.Device{}, c.Devices...)
	}
	return json.Marshal(members)
}

// Records are records of one kind, newest first.
type Records []Record

// WithNumber returns the record with a number.
func (r Records) WithNumber(number int) (Record, bool) {
	return r.find(func(record Record) bool { return record.Number == number })
}

// WithID returns the newest record with an id.
func (r Records) WithID(id string) (Record, bool) {
	return r.find(func(record Record) bool { return record.ID() == id })
}

func (r Records) find(matches func(Record) bool) (Record, bool) {
	i := slices.IndexFunc(r, matches)
	if i < 0 {
		return Record{}, false
	}
	return r[i], true
}

// Search returns the records that match all terms, each of which is a word, at most limit of
// them, and whether there are more. If before is not 0, it begins below that number.
func (r Records) Search(words []search.Term, before, limit int) (found Records, more bool) {
	for _, record := range r {
		if before > 0 && record.Number >= before || !record.matches(words) {
			continue
		}
		if len(found) == limit {
			return found, true
		}
		found = append(found, record)
	}
	return found, false
}

func (r Record) matches(words []search.Term) bool {
	text := strings.ToLower(strings.Join(r.Texts(), "\n"))
	return !slices.ContainsFunc(words, func(word search.Term) bool {
		return strings.Contains(text, strings.ToLower(word.Text)) == word.Not
	})
}
