package history

import (
	"context"
	"crypto/rand"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/messaging-go/messaging/internal/fake"
)

// Store keeps the latest entries. It is safe for concurrent use.
type Store struct {
	// EventName returns the name of the event with the id, or "". It must not be set after
	// the first Add.
	EventName func(id string) string
	// Notes finds what is worth a look in an entry. It is called once for each entry that
	// somebody asks about. It must not be set after the first Add.
	Notes func(*Entry) []Note
	// Boot identifies the store: another one, such as that of a sandbox that was started
	// again, has another text.
	Boot string

	max      int
	maxBytes int64

	mu      sync.Mutex
	named   []*Mark        // the latest one of each name, in order
	marks   int            // how many there were
	entries []*Entry       // in the order of their numbers, without gaps
	latest  map[uint64]int // the number of the latest entry of each content
	bytes   int64
	state   State
	changed chan struct{} // closed and replaced when the state changes
}

// State describes the content of a store.
type State struct {
	// Last is the number of the latest entry, even if it was removed.
	Last int
	// Cleared counts the calls of Clear, and Touched those of Touch.
	Cleared, Touched int
	// Dropped is how many entries were removed because of the limits, since the
	// last Clear.
	Dropped int
	// Begin is the number after which a wait begins unless it names another: that of the
	// latest entry at the last Mark or Clear.
	Begin int
	// Mark is the latest one since the last Clear, or nil.
	Mark *Mark
	// Requests counts the entries.
	Requests int
}

// New returns a store of at most max entries, which count as at most maxBytes. The latest
// entry is always kept.
func New(max int, maxBytes int64) *Store {
	return &Store{Boot: strings.ToLower(rand.Text()[:8]), max: max, maxBytes: maxBytes, changed: make(chan struct{}),
		latest: make(map[uint64]int), EventName: func(string) string { return "" }, Notes: func(*Entry) []Note { return nil }}
}

// Add adds an exchange, and removes the oldest entries that exceed the limits. It returns the new entry.
func (s *Store) Add(e *fake.Exchange) *Entry {
	entry := newEntry(e, s.EventName)
	entry.Notes = sync.OnceValue(func() []Note { return s.Notes(entry) })
	s.mu.Lock()
	defer s.mu.Unlock()
	entry.Mark = s.state.Mark
	s.entries = append(s.entries, entry)
	s.bytes += entry.size
	s.state.Last = entry.Number
	s.link(entry)
	for len(s.entries) > s.max || s.bytes > s.maxBytes && len(s.entries) > 1 {
		oldest := s.entries[0]
		s.entries[0] = nil // so that it can be freed
		s.entries = s.entries[1:]
		s.bytes -= oldest.size
		if s.latest[oldest.content] == oldest.Number {
			delete(s.latest, oldest.content)
		}
		s.state.Dropped++
	}
	s.notify()
	return entry
}

// Unanswered returns an entry of a request that is not answered yet, for a query of
// [ParseRequest]. It has what was sent, as [fake.Read] returns it, as if it were carried out.
func (s *Store) Unanswered(e *fake.Exchange, sent any) *Entry {
	entry := &Entry{Exchange: e}
	entry.Kind = entry.describe(sent, s.EventName)
	return entry
}

// Clear removes all entries. It does not restart the numbers.
func (s *Store) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries, s.bytes, s.named = nil, 0, nil
	clear(s.latest)
	s.state = State{Last: s.state.Last, Begin: s.state.Last, Cleared: s.state.Cleared + 1, Touched: s.state.Touched}
	s.notify()
}

// Mark is what somebody set before a request, to find what came after it.
type Mark struct {
	ID   int    // counts the marks from 1
	Name string // or ""
	At   time.Time

	repeated atomic.Bool // a later mark has the name
}

// maxNamed is how many names of marks are known, and maxSuggested how many a search suggests.
const maxNamed, maxSuggested = 1000, 5

// Mark sets the mark to the number of the latest entry, and returns it. The entries that
// follow have the mark, until the next one. The name may be empty.
func (s *Store) Mark(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.marks++
	s.state.Begin, s.state.Mark = s.state.Last, &Mark{ID: s.marks, Name: name, At: time.Now()}
	if name != "" {
		s.named = slices.DeleteFunc(s.named, func(m *Mark) bool {
			m.repeated.Store(m.Name == name)
			return m.Name == name
		})
		s.named = append(s.named[max(0, len(s.named)+1-maxNamed):], s.state.Mark)
	}
	return s.state.Begin
}

// Keys returns the keys of a query with their values, of which those of mark are the names of the latest ones.
func (s *Store) Keys() []Term {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := slices.Clone(Keys)
	i := slices.IndexFunc(keys, func(t Term) bool { return t.Key == "mark" })
	for _, mark := range slices.Backward(s.named[max(0, len(s.named)-maxSuggested):]) {
		keys[i].Values = append(keys[i].Values, mark.Name)
	}
	return keys
}

// Touch reports a change that is not an entry.
func (s *Store) Touch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Touched++
	s.notify()
}

// Epoch identifies the history. It differs after a Clear and in another store, when a
// number no longer stands for the same entry.
func (s *Store) Epoch() string { return fmt.Sprintf("%s.%d", s.Boot, s.State().Cleared) }

// notify wakes everybody who waits. The caller must hold s.mu.
func (s *Store) notify() {
	s.state.Requests = len(s.entries)
	close(s.changed)
	s.changed = make(chan struct{})
}

// State returns the state of the store.
func (s *Store) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// Changed blocks until the state differs from seen in its Last, Cleared or
// Touched, and returns it. It returns the error of the context if that ends first.
func (s *Store) Changed(ctx context.Context, seen State) (State, error) {
	for {
		if err := ctx.Err(); err != nil {
			return seen, err
		}
		s.mu.Lock()
		state, changed := s.state, s.changed
		s.mu.Unlock()
		if state.Last != seen.Last || state.Cleared != seen.Cleared || state.Touched != seen.Touched {
			return state, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// Get returns the entry with the number.
func (s *Store) Get(number int) (e *Entry, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e = s.get(number)
	return e, e != nil
}

// get returns the entry with the number, or nil. The caller must hold s.mu.
func (s *Store) get(number int) *Entry {
	if i := number - s.first(); i >= 0 && i < len(s.entries) {
		return s.entries[i]
	}
	return nil
}

// first returns the number of the oldest entry, or of the next one if there is
// none.
func (s *Store) first() int { return s.state.Last - len(s.entries) + 1 }

// After returns the entries after a number, oldest first, and whether all of
// them are still there.
func (s *Store) After(number int) (entries []*Entry, complete bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := number + 1 - s.first()
	return slices.Clone(s.entries[min(max(0, from), len(s.entries)):]), from >= 0
}

// Find returns the entries before a number that match, newest first, and whether
// there are more than limit. With before 0 it begins at the latest.
func (s *Store) Find(q Query, before, limit int) (found []*Entry, more bool) {
	all, _ := s.After(0)
	for _, e := range slices.Backward(all) {
		if before > 0 && e.Number >= before || !q.Match(e) {
			continue
		}
		if len(found) == limit {
			return found, true
		}
		found = append(found, e)
	}
	return found, false
}

// Count returns the number of the entries that match.
func (s *Store) Count(q Query) int {
	all, _ := s.Find(q, 0, math.MaxInt)
	return len(all)
}

// Wait calls seen with each entry after a number that matches, also with those that come
// later, until seen returns false. It returns the error of the context if that ends first.
func (s *Store) Wait(ctx context.Context, q Query, after int, seen func(*Entry) bool) error {
	for {
		state := s.State() // before the entries, so that none is missed
		entries, _ := s.After(after)
		for _, e := range entries {
			if q.Match(e) && !seen(e) {
				return nil
			}
			after = e.Number
		}
		if _, err := s.Changed(ctx, state); err != nil {
			return err
		}
	}
}
