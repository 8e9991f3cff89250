package records

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/messaging-go/messaging/internal/fake"
)

// Store is what a service stores, with numbers and counts. It is safe for concurrent use.
type Store struct {
	service *fake.Server
	adding  sync.Mutex              // held while records are added or replaced
	counts  map[*Kind]*atomic.Int64 // the lists of the service are costly to copy

	mu     sync.Mutex
	events map[string]fake.Event // by id; an event never changes
}

// NewStore returns what the service stores, which must be empty.
func NewStore(service *fake.Server) *Store {
	s := &Store{service: service, counts: make(map[*Kind]*atomic.Int64), events: make(map[string]fake.Event)}
	for _, k := range Kinds {
		s.counts[k] = new(atomic.Int64)
	}
	return s
}

// Observe counts the records that a request created.
func (s *Store) Observe(e *fake.Exchange) {
	for _, change := range e.Customers {
		if change.Created {
			s.counts[Customers].Add(1)
		}
	}
	if event, ok := e.Effect.(*fake.Event); ok {
		s.counts[Events].Add(1)
		s.learn(*event)
	}
}

func (s *Store) learn(events ...fake.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, event := range events {
		s.events[event.ID] = event
	}
}

// FirstEvent returns the id of the first event with a name, or "".
func (s *Store) FirstEvent(name string) string {
	events := s.service.Events()
	i := slices.IndexFunc(events, func(e fake.Event) bool { return e.Name == name })
	if i < 0 {
		return ""
	}
	return events[i].ID
}

// Event returns the event with an id.
func (s *Store) Event(id string) (event fake.Event, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	event, ok = s.events[id]
	return event, ok
}

// Count returns the number of records. Unlike All it copies nothing.
func (s *Store) Count(k *Kind) int { return int(s.counts[k].Load()) }

// All returns all records of a kind, newest first. Their numbers are those of the service,
// or else count them from 1.
func (s *Store) All(k *Kind) Records {
	values := k.stored(s.service)
	all := make(Records, len(values))
	for i, v := range values {
		number := i + 1
		if c, ok := v.(customer); ok {
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
		ids := make(map[string]string)
		for _, v := range k.stored(s.service) {
			ids[v.ID()] = "already exists"
		}
		problems = append(problems, k.checkIDs(ids, seed[k]))
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	s.add(seed)
	return nil
}

// Reset resets the service, and adds the records of a seed.
func (s *Store) Reset(seed Seed) {
	s.adding.Lock()
	defer s.adding.Unlock()
	s.service.Reset()
	s.mu.Lock()
	clear(s.events)
	s.mu.Unlock()
	for _, count := range s.counts {
		count.Store(0)
	}
	s.add(seed)
}

func (s *Store) add(seed Seed) {
	for _, k := range Kinds {
		for _, v := range seed[k] {
			k.add(s.service, v)
		}
		s.counts[k].Add(int64(len(seed[k])))
	}
	s.learn(s.service.Events()...)
}
