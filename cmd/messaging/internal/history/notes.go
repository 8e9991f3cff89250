package history

import (
	"slices"
	"strings"
	"sync/atomic"
)

// Note is the code of something that is suspicious in an entry, for searches and programs.
type Note string

// What can be suspicious in an entry.
const (
	NoteAPIKey           Note = "api_key"
	NoteContentType      Note = "content_type"
	NoteDuplicate        Note = "duplicate"
	NoteEmailCheck       Note = "email_check"
	NoteEmptyValue       Note = "empty_value"
	NoteInThePast        Note = "in_the_past"
	NoteNameAsID         Note = "name_as_id"
	NoteNoVariable       Note = "no_variable"
	NoteSameName         Note = "same_name"
	NoteSDKRefuses       Note = "sdk_refuses"
	NoteSkipped          Note = "skipped"
	NoteTwoAudiences     Note = "two_audiences"
	NoteUnknownKey       Note = "unknown_key"
	NoteUnknownParameter Note = "unknown_parameter"
	NoteUnknownType      Note = "unknown_type"
	NoteWrongPath        Note = "wrong_path"
	NoteWrongType        Note = "wrong_type"
)

// Notes are all notes, in the order of their codes.
var Notes = []Note{NoteAPIKey, NoteContentType, NoteDuplicate, NoteEmailCheck, NoteEmptyValue, NoteInThePast, NoteNameAsID, NoteNoVariable,
	NoteSameName, NoteSDKRefuses, NoteSkipped, NoteTwoAudiences, NoteUnknownKey, NoteUnknownParameter, NoteUnknownType,
	NoteWrongPath, NoteWrongType}

// noteFinder finds the notes of entries. The store and its entries share it, because it is
// set when the first entry may already be there.
type noteFinder struct {
	find atomic.Pointer[func(*Entry) []Note]
	says atomic.Pointer[func(*Entry) []string]
}

// FindTexts sets the function that says in words what is worth a look in an entry, for searches.
func (s *Store) FindTexts(says func(*Entry) []string) { s.noteFinder.says.Store(&says) }

// says reports whether one of the texts about the entry contains a text, without its quotes: a search has none.
func (e *Entry) says(text string) bool {
	says := e.noteFinder.says.Load()
	return says != nil && slices.ContainsFunc((*says)(e), func(each string) bool {
		return containsFold(strings.ReplaceAll(each, `"`, ""), text)
	})
}

// FindNotes sets the function that finds what is suspicious in an entry. It is called at
// most a few times for each entry, and not before somebody asks.
func (s *Store) FindNotes(find func(*Entry) []Note) { s.noteFinder.find.Store(&find) }

// Notes returns what is suspicious in an entry. It is found out once.
func (e *Entry) Notes() []Note {
	if notes := e.notes.Load(); notes != nil {
		return *notes
	}
	find := e.noteFinder.find.Load()
	if find == nil {
		return nil
	}
	notes := (*find)(e)
	e.notes.Store(&notes)
	return notes
}
