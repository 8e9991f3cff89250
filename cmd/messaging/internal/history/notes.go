package history

import (
	"slices"
	"sync/atomic"
)

// Note is what a rule finds in an entry.
type Note struct {
	Code string `json:"code"` // of the rule
	Text string `json:"text"`
}

// Codes are the codes of the rules, for searches.
var Codes = []string{"foreign_key", "key_header", "skipped", "duplicate", "name_as_id", "wrong_path", "sdk_refuses", "unknown_parameter",
	"wrong_type", "empty_value", "no_variable", "email_check"}

// noteFinder finds the notes of entries. The store and its entries share it, because it is
// set when the first entry may already be there.
type noteFinder struct {
	find atomic.Pointer[func(*Entry) []Note]
}

// FindNotes sets the function that finds what is worth a look in an entry. It is called at
// most a few times for each entry, and not before somebody asks.
func (s *Store) FindNotes(find func(*Entry) []Note) { s.noteFinder.find.Store(&find) }

// Notes returns what is worth a look in an entry. It is found out once.
func (e *Entry) Notes() []Note {
	if notes := e.notes.Load(); notes != nil {
		return *notes
	}
	if e.noteFinder == nil { // it is not of a store
		return nil
	}
	find := e.noteFinder.find.Load()
	if find == nil {
		return nil
	}
	notes := (*find)(e)
	e.notes.Store(&notes)
	return notes
}

func (e *Entry) has(code string) bool {
	return slices.ContainsFunc(e.Notes(), func(n Note) bool { return n.Code == code })
}
