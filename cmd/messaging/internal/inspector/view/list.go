package view

import (
	"fmt"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
	"github.com/messaging-go/messaging/cmd/messaging/internal/search"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// PageSize is the number of rows of a page.
const PageSize = 100

// List is a page of a list, beside a detail.
type List struct {
	Path    string // of the first page
	Matches string // how many there are of a search
	Rows    []Row
	Links   []link // of records
	ListURL string // of the page
	Newer   string // URL of the first page, on a later one
	Older   string // URL of the next page

	suffix string // of the addresses of its items
}

// NewList returns the page of the requests before a number that match. Without a number, it
// is the first one if that has the selected request, or else the page around it.
func NewList(store *history.Store, query string, q history.Query, before, selected int) List {
	grouped := store.Grouped(q)
	find := func(before int) ([]*history.Entry, bool) { return store.Find(grouped, before, PageSize) }
	entries, l := newList("/", query, before, selected, find, func(e *history.Entry) int { return e.Number })
	if query != "" {
		l.Matches = words.Count(store.Count(q), "request")
	}
	l.Rows = NewRows(store, entries, grouped, l.suffix)
	for i := range l.Rows {
		row := &l.Rows[i]
		row.Current = row.Number == selected
		for k := range row.Attempts {
			if row.Attempts[k].Number == selected {
				row.Attempts[k].Current, row.Current = true, true
			}
		}
	}
	return l
}

// NewRecordList returns the page of the records before a number that match, in the same way.
func NewRecordList(kind *records.Kind, all records.Records, query string, before, selected int) (l List, first *records.Record) {
	find := func(before int) ([]records.Record, bool) { return all.Search(search.Terms(query), before, PageSize) }
	found, l := newList("/"+kind.Name, query, before, selected, find, func(r records.Record) int { return r.Number })
	if selected == 0 && len(found) > 0 {
		first, selected = &found[0], found[0].Number
	}
	for _, record := range found {
		href := fmt.Sprintf("/%s/%d%s", kind.Name, record.Number, l.suffix)
		texts := record.Texts()
		l.Links = append(l.Links, link{texts[0], texts[1], record.Side(), href, record.Number == selected})
	}
	return l, first
}

// newList finds the items of a page of a list, newest first.
func newList[T any](path, query string, before, selected int, find func(before int) ([]T, bool), number func(T) int) ([]T, List) {
	found, more := find(before)
	if selected > 0 && before == 0 && len(found) > 0 && number(found[len(found)-1]) > selected {
		before = selected + PageSize/2
		found, more = find(before)
	}
	l := List{Path: path, suffix: QueryString("q", query, "before", before)}
	l.ListURL = path + l.suffix
	if before > 0 {
		l.Newer = path + QueryString("q", query)
	}
	if more {
		l.Older = path + QueryString("q", query, "before", number(found[len(found)-1]))
	}
	return found, l
}

// NewRows returns the rows of requests, each with the same ones before that look like its
// earlier attempts, and with the lines of the marks between them. The suffix is that of
// their addresses.
func NewRows(store *history.Store, entries []*history.Entry, q history.Query, suffix string) (rows []Row) {
	for i, e := range entries {
		r := NewRow(e)
		r.Href += suffix
		r.Later = len(store.Later(e))
		for _, attempt := range store.Attempts(e) {
			r.Attempts = append(r.Attempts, NewRow(attempt))
		}
		var older *history.Entry
		if i+1 < len(entries) {
			older = entries[i+1]
		} else if found, _ := store.Find(q, e.Number, 1); len(found) > 0 {
			older = found[0]
		}
		if e.Mark != nil && (older == nil || older.Mark != e.Mark) {
			r.Begins = e.Mark
		}
		rows = append(rows, r)
	}
	return rows
}
