package inspector

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector/guard"
	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector/view"
	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// page is a handler of a page: it returns the page and its template, or no page if there is none at the path.
type page func(*http.Request) (p *view.Page, template string)

// ServeHTTP writes the page.
func (handle page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p, template := handle(r)
	if p == nil {
		guard.Refuse(w, http.StatusNotFound, "no such path")
	} else if err := p.Write(w, template); err != nil {
		refuse(w, failure{http.StatusInternalServerError, err})
	}
}

// notFound returns no page where a program asks.
func (in *Inspector) notFound(r *http.Request) (*view.Page, string) {
	if r.Method != http.MethodGet || strings.HasPrefix(r.URL.Path+"/", "/api/") {
		return nil, ""
	}
	p := view.NewPage(in.box, "", "Not found", r)
	p.Wide, p.Status = true, http.StatusNotFound
	return p, "notfound.html"
}

func (in *Inspector) helpPage(r *http.Request) (*view.Page, string) {
	p := view.NewPage(in.box, "help", "Help", r)
	p.Wide = true
	return p, "help.html"
}

func (in *Inspector) faultsPage(r *http.Request) (*view.Page, string) {
	p := view.NewPage(in.box, "faults", "Faults", r)
	p.Wide, p.Reload, p.Detail = true, true, in.box.Rules()
	return p, "faults.html"
}

// requestPage shows the list of requests, and one of them.
func (in *Inspector) requestPage(r *http.Request) (*view.Page, string) {
	p := view.NewPage(in.box, "requests", "Requests", r)
	before, beforeErr := integer(r, "before", 0, 1, 0)
	query, err := history.Parse(p.Query)
	if err := invalid(err, beforeErr); err != nil {
		p.Problem, p.Status = strings.TrimPrefix(err.Error(), "invalid query: "), http.StatusBadRequest
		return p, "entries.html"
	}
	selected := numberOf(r.PathValue("n"))
	if r.PathValue("n") != "" {
		e, ok := in.box.History.Get(selected)
		if !ok {
			return in.notFound(r)
		}
		detail := view.NewDetail(in.box, e, r.URL.Query())
		p.Detail, p.Title = detail, detail.Title
	} else {
		p.Overview = view.NewOverview(in.box.History, p.Query, query)
	}
	p.List = view.NewList(in.box.History, p.Query, query, before, selected)
	return p, "entries.html"
}

// rows responds with the rows after a number that match, as HTML. The header
// Rows-Left has the number of matching rows that are left out. With a parameter overview, the
// overview of the list comes with them.
func (in *Inspector) rows(w http.ResponseWriter, r *http.Request) {
	store := in.box.History
	p := view.NewPage(in.box, "requests", "Requests", r)
	query, err := history.Parse(p.Query)
	after, afterErr := integer(r, "after", 0, 0, 0)
	if err := invalid(err, afterErr); err != nil {
		refuse(w, err)
		return
	}
	if p.Query != "" {
		w.Header().Set("Rows-Matches", words.Count(store.Count(query), "request"))
	}
	if r.URL.Query().Has("overview") {
		p.Overview = view.NewOverview(store, p.Query, query)
	}
	entries, _ := store.After(after)
	for _, e := range entries {
		after = e.Number
	}
	grouped := store.Grouped(query)
	entries = slices.DeleteFunc(entries, func(e *history.Entry) bool { return !grouped.Match(e) })
	left := max(0, len(entries)-view.PageSize)
	entries = entries[left:]
	slices.Reverse(entries) // latest first
	p.Rows = view.NewRows(store, entries, grouped, view.QueryString("q", p.Query))
	w.Header().Set("Rows-Left", strconv.Itoa(left))
	w.Header().Set("Rows-Last", strconv.Itoa(after))
	page(func(*http.Request) (*view.Page, string) { return p, "new-rows" }).ServeHTTP(w, r)
}

// recordPage shows the records of a kind, and one of them.
func (in *Inspector) recordPage(kind *records.Kind) page {
	return func(r *http.Request) (*view.Page, string) {
		p := view.NewPage(in.box, kind.Name, kind.Title(), r)
		p.Reload, p.Origin = true, kind.Origin
		before, err := integer(r, "before", 0, 1, 0)
		if err != nil {
			p.Problem, p.Status = err.Error(), http.StatusBadRequest
		}
		all, selected := in.box.Records.All(kind), numberOf(r.PathValue("n"))
		record, ok := all.WithNumber(selected)
		if !ok && r.PathValue("n") != "" {
			return in.notFound(r)
		}
		var first *records.Record
		p.List, first = view.NewRecordList(kind, all, p.Query, before, selected)
		switch {
		case ok:
			p.Detail, p.Title = view.NewRecordDetail(in.box.History, record), record.Texts()[0]
		case first != nil:
			p.Detail, p.Beside = view.NewRecordDetail(in.box.History, *first), true
		}
		return p, "records.html"
	}
}
