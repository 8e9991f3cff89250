package records

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/fake"
)

// Store is what a service stores, with numbers and counts. It is safe for
// concurrent use.
type Store struct {
	service *fake.Server
	lists   map[*Kind]*list
	adding  sync.Mutex // held while records are added or replaced

	mu     sync.Mutex
	events map[string]messaging.Event // by id; an event never changes
	firsts map[string]string          // the id of the first event with each name
}

// list is what a store knows of the records of a kind.
type list struct {
	count atomic.Int64 // the lists of the service are costly to copy

	mu      sync.Mutex
	numbers map[string]int // by id, in the order in which they were seen
	last    int            // the highest number
}

// NewStore returns what the service stores, which must be empty.
func NewStore(service *fake.Server) *Store {
	s := &Store{service: service, lists: make(map[*Kind]*list), events: make(map[string]messaging.Event),
		firsts: make(map[string]string)}
	for _, k := range Kinds {
		s.lists[k] = &list{numbers: make(map[string]int)}
	}
	return s
}

// Observe counts the records that a request created.
func (s *Store) Observe(e *fake.Exchange) {
	for _, k := range Kinds {
		if k.created != nil {
			s.lists[k].count.Add(int64(k.created(e)))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if event, ok := e.Effect.(*fake.Event); ok {
		s.learn(eventModel(*event))
	}
}

// learn adds an event. The caller must hold s.mu.
func (s *Store) learn(event messaging.Event) {
	s.events[event.ID] = event
	if _, known := s.firsts[event.Name]; !known {
		s.firsts[event.Name] = event.ID
	}
}

// FirstEvent returns the id of the first event with a name, or "".
func (s *Store) FirstEvent(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.firsts[name]
}

// Event returns the event with an id.
func (s *Store) Event(id string) (event messaging.Event, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	event, ok = s.events[id]
	return event, ok
}

// Count returns the number of records. Unlike All it copies nothing.
func (s *Store) Count(k *Kind) int { return int(s.lists[k].count.Load()) }

// Number returns the number of a record with an id, 0 if it has none yet.
func (s *Store) Number(k *Kind, id string) int {
	list := s.lists[k]
	list.mu.Lock()
	defer list.mu.Unlock()
	return list.numbers[id]
}

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
		l.last++
		l.numbers[id] = l.last
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
	for k, list := range s.lists {
		list.count.Store(0)
		list.forget(seed[k])
	}
	s.add(seed)
}

// forget forgets the numbers of all records but those of a seed, which get the same
// numbers after each reset.
func (l *list) forget(seed []Value) {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := make(map[string]int)
	for _, v := range seed {
		if n, ok := l.numbers[v.ID()]; ok && v.ID() != "" {
			kept[v.ID()] = n
		}
	}
	l.numbers = kept
}

func (s *Store) add(seed Seed) {
	for _, k := range Kinds {
		k.add(s.service, seed[k])
		s.lists[k].count.Add(int64(len(seed[k])))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.events)
	clear(s.firsts)
	for _, event := range s.service.Events() {
		s.learn(eventModel(event))
	}
}
