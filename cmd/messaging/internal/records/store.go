package records

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/search"
	"github.com/messaging-go/messaging/internal/fake"
)

// Store is what a service stores. It is safe for concurrent use.
type Store struct {
	*fake.Server
	adding sync.Mutex // held while records are added or replaced
}

// Count returns the number of records.
func (s *Store) Count(k *Kind) int { return k.count(s.Server) }

// All returns all records of a kind, newest first. Their numbers are those of the service,
// or else count them from 1.
func (s *Store) All(k *Kind) Records {
	values := k.stored(s.Server)
	all := make(Records, len(values))
	for i, v := range values {
		number := i + 1
		if c, ok := v.(Customer); ok {
			number = c.Number
		}
		all[len(values)-1-i] = Record{number, v}
	}
	return all
}

// Dump returns all records.
func (s *Store) Dump() Seed {
	dump := make(Seed)
	for _, k := range Kinds {
		dump[k] = k.stored(s.Server)
	}
	return dump
}

// Add adds records. It adds none, and returns an error, if the id of one already
// exists.
func (s *Store) Add(seed Seed) error {
	s.adding.Lock()
	defer s.adding.Unlock()
	for _, k := range Kinds {
		if err := k.checkIDs(k.stored(s.Server), seed[k]); err != nil {
			return err
		}
	}
	s.add(seed)
	return nil
}

// Reset resets the service, and adds the records of a seed.
func (s *Store) Reset(seed Seed) {
	s.adding.Lock()
	defer s.adding.Unlock()
	s.Server.Reset()
	s.add(seed)
}

func (s *Store) add(seed Seed) {
	for _, k := range Kinds {
		for _, v := range seed[k] {
			k.add(s.Server, v)
		}
	}
}

// Record is a record with its number in URLs. Numbers are not used again after a
// reset.
type Record struct {
	Number int
	Value
}

// MarshalJSON writes the form of the service's lists, with the number and the devices of a customer.
func (r Record) MarshalJSON() ([]byte, error) {
	members := through[map[string]any](r.Value)
	members["number"] = r.Number
	if c, ok := r.Value.(Customer); ok {
		members["devices"] = append([]messaging.Device{}, c.Devices...)
	}
	return json.Marshal(members)
}

// Records are records of one kind, newest first.
type Records []Record

// Find returns the newest record that matches.
func (r Records) Find(matches func(Record) bool) (Record, bool) {
	i := slices.IndexFunc(r, matches)
	if i < 0 {
		return Record{}, false
	}
	return r[i], true
}

// WithNumber returns the record with a number.
func (r Records) WithNumber(number int) (Record, bool) {
	return r.Find(func(record Record) bool { return record.Number == number })
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
