package records

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/messaging-go/messaging/messagingtest"
)

// Store is what a service stores, with numbers and counts. It is safe for concurrent
// use.
type Store struct {
	service *messagingtest.Server
	lists   map[*Kind]*list
	adding  sync.Mutex // held while records are added or replaced
}

// list is what a store knows of the records of a kind.
type list struct {
	count atomic.Int64 // the lists of the service are costly to copy

	mu      sync.Mutex
	numbers map[string]int // by id, in the order in which they were seen
}

// NewStore returns what the service stores, which must be empty.
func NewStore(service *messagingtest.Server) *Store {
	s := &Store{service: service, lists: make(map[*Kind]*list)}
	for _, k := range Kinds {
		s.lists[k] = &list{numbers: make(map[string]int)}
	}
	return s
}

// Observe counts the records that a request created.
func (s *Store) Observe(e *messagingtest.Exchange) {
	for _, k := range Kinds {
		if k.created != nil {
			s.lists[k].count.Add(int64(k.created(e)))
		}
	}
}

// Count returns the number of records. Unlike All it copies nothing.
func (s *Store) Count(k *Kind) int { return int(s.lists[k].count.Load()) }

// All returns all records of a kind, newest first.
func (s *Store) All(k *Kind) Records {
	values, list := k.stored(s.service), s.lists[k]
	list.mu.Lock()
	defer list.mu.Unlock()
	all := make(Records, len(values))
	for i, v := range values {
		all[len(values)-1-i] = Record{list.number(v), v}
	}
	return all
}

func (l *list) number(v Value) int {
	if n := v.number(); n > 0 {
		return n
	}
	id := v.ID()
	if l.numbers[id] == 0 {
		l.numbers[id] = len(l.numbers) + 1
	}
	return l.numbers[id]
}

// Dump returns all records.
func (s *Store) Dump() Seed {
	dump := make(Seed)
	for _, k := range Kinds {
		dump[k] = k.stored(s.service)
	}
	return dump
}

// Add adds records. It adds none, and returns an error, if the id of one already
// exists.
func (s *Store) Add(seed Seed) error {
	s.adding.Lock()
	defer s.adding.Unlock()
	var problems []error
	for _, k := range Kinds {
		problems = append(problems, k.checkIDs(k.stored(s.service), seed[k]))
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	s.add(seed)
	return nil
}

// checkIDs returns an error for the first record whose id already exists.
func (k *Kind) checkIDs(stored, added []Value) error {
	exists := make(map[string]bool, len(stored))
	for _, v := range stored {
		exists[v.ID()] = true
	}
	for i, v := range added {
		if v.ID() != "" && exists[v.ID()] {
			return fmt.Errorf("%s.%d.%s: already exists", k.Name, i, k.idKey)
		}
	}
	return nil
}

// Reset resets the service, and adds the records of a seed.
func (s *Store) Reset(seed Seed) {
	s.adding.Lock()
	defer s.adding.Unlock()
	s.service.Reset()
	for _, list := range s.lists {
		list.count.Store(0)
	}
	s.add(seed)
}

func (s *Store) add(seed Seed) {
	for _, k := range Kinds {
		k.add(s.service, seed[k])
		s.lists[k].count.Add(int64(len(seed[k])))
	}
}
