package history

import "sync/atomic"

// counter counts the notes of entries. The store and its entries share it, because it is
// set when the first entry may already be there.
type counter struct {
	count atomic.Pointer[func(*Entry) int]
}

// CountNotes sets the function that counts what is suspicious in an entry. It is called at
// most a few times for each entry, and not before somebody asks.
func (s *Store) CountNotes(count func(*Entry) int) { s.counter.count.Store(&count) }

// Notes returns the number of things that are suspicious in an entry. It is found out once.
func (e *Entry) Notes() int {
	if notes := e.notes.Load(); notes > 0 {
		return int(notes) - 1
	}
	count := e.counter.count.Load()
	if count == nil {
		return 0
	}
	notes := (*count)(e)
	e.notes.Store(int32(notes) + 1)
	return notes
}
