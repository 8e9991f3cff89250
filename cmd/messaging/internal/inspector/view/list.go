package view

import (
	"fmt"
	"strconv"

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
}

// around is where the page begins that has a number in its middle.
func around(number int) int { return number + PageSize/2 }

// NewList returns the page of the requests before a number that match. Without a number, it
// is the first one if that has the selected request, or else the page around it.
func NewList(store *history.Store, query string, q history.Query, before, selected int) List {
	grouped := store.Grouped(q)
	entries, more := store.Find(grouped, before, PageSize)
	if selected > 0 && before == 0 && len(entries) > 0 && entries[len(entries)-1].Number > selected {
		before = around(selected)
		entries, more = store.Find(grouped, before, PageSize)
	}
	oldest := 0
	if more {
		oldest = entries[len(entries)-1].Number
	}
	l := newList("/", query, before, oldest)
	if query != "" {
		l.Matches = MatchCount(store.Count(q))
	}
	l.Rows = NewRows(store, entries, grouped, QueryString("q", query, "before", positive(before)))
	for i, row := range l.Rows {
		l.Rows[i].Current = row.isOf(selected)
		for k := range row.Attempts {
			row.Attempts[k].Current = row.Attempts[k].Number == selected
		}
	}
	return l
}

// NewRecordList returns the page of the records before a number that match, in the same way.
func NewRecordList(kind *records.Kind, all records.Records, query string, before, selected int) (l List, first *records.Record) {
	found, more := all.Search(search.Terms(query), before, PageSize)
	if selected > 0 && before == 0 && len(found) > 0 && found[len(found)-1].Number > selected {
		before = around(selected)
		found, more = all.Search(search.Terms(query), before, PageSize)
	}
	oldest := 0
	if more {
		oldest = found[len(found)-1].Number
	}
	l = newList("/"+kind.Name, query, before, oldest)
	if selected == 0 && len(found) > 0 {
		first, selected = &found[0], found[0].Number
	}
	for _, record := range found {
		href := fmt.Sprintf("/%s/%d%s", kind.Name, record.Number, QueryString("q", query, "before", positive(before)))
		texts := record.Texts()
		l.Links = append(l.Links, link{texts[0], texts[1], record.Side(), href, record.Number == selected})
	}
	return l, first
}

// newList returns a page of a list that begins before a number, and whose last one is not the oldest unless that is 0.
func newList(path, query string, before, oldest int) List {
	l := List{Path: path, ListURL: path + QueryString("q", query, "before", positive(before))}
	if before > 0 {
		l.Newer = path + QueryString("q", query)
	}
	if oldest > 0 {
		l.Older = path + QueryString("q", query, "before", strconv.Itoa(oldest))
	}
	return l
}

func positive(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// MatchCount writes how many requests a search has.
func MatchCount(n int) string {
	if n == 1 {
		return "1 match"
	}
	return words.Thousands(n) + " matches"
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
