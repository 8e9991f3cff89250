package inspector

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector/guard"
	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

//go:embed templates
var templateFiles embed.FS

// templates are parsed for the first page, since most commands show none.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(functions).ParseFS(templateFiles, "templates/*.html"))
})

var functions = template.FuncMap{
	"took":        took,
	"show":        show,
	"size":        words.Size,
	"thousands":   words.Thousands,
	"plural":      words.Count,
	"date":        words.Time,
	"clock":       words.Clock,
	"left":        left,
	"zone":        zone,
	"recordNames": records.Names,
	"delivery":    deliveryTag,
	"capitalized": capitalized,
	"tag":         func(class, text string) tag { return tag{class, text} },
	"snippet":     func(label, text string) snippet { return snippet{label, text} },
	"envCode":     envCode,
	"apiCode":     apiCode,
	"createCode":  createCode,
	"triggerCode": triggerCode,
	"curlCode":    curlCode,
	"kind":        kindName,
	"describe":    describeFault,
	"which":       describeRequests,
}

// hiddenMark is how visible.Prose writes a character that nobody can see.
var hiddenMark = regexp.MustCompile(`‹U\+[0-9A-F]+›`)

// show makes the hidden characters of a text visible. Their marks read from left to right
// within a text that reads from right to left, too.
func show(text string) string {
	return hiddenMark.ReplaceAllString(visible.Prose(text), "\u2066$0\u2069")
}

// page is what every page shows.
type page struct {
	Title      string
	Section    string
	Counts     counts
	State      history.State
	Epoch      string
	Query      string
	Problem    string // with the query
	Matches    string // how many there are of a search
	BaseURL    string
	APIKey     string
	SandboxURL string
	Settings   []setting
	// Suggestions returns the terms that the search field offers. Rows that are added to a page need none.
	Suggestions func() []string
	Wide        bool // one column in place of a list and a detail
	Reload      bool // the list is loaded again when something changes

	Chips      []chipGroup // none where there is nothing to filter
	ChipsShown bool
	// Rejected is how many requests for the list are not in it, and RejectedURL is a search for them.
	Rejected    int
	RejectedURL string
	// FirstRequest is a command that sends a request to the list.
	FirstRequest snippet
	Overview     *overview // beside a list without a detail
	Day          string    // of the first rows, unless it is today
	Rows         []row
	Links        []link
	Origin       string // where the records come from
	Newer        string // URL of the first page, on a later one
	Older        string // URL of the next page
	// ListURL is the list with the row of the detail.
	ListURL string
	Detail  any
	// Beside is whether the detail was not asked for: a narrow page shows the list instead.
	Beside bool
	Status int
}

// snippet is code with a button that copies it.
type snippet struct{ Label, Text string }

func (in *Inspector) newPage(section, title string, r *http.Request) *page {
	service, inspector := in.addresses(r)
	return &page{Title: title, Section: section, Epoch: in.box.History.Epoch(), Counts: in.counts(), State: in.box.History.State(),
		Query: r.URL.Query().Get("q"), Suggestions: func() []string { return in.suggestions(section) }, BaseURL: service, APIKey: in.box.APIKey(),
		SandboxURL: inspector, Settings: settingsOf(r), Status: http.StatusOK}
}

func (p *page) write(w http.ResponseWriter, name string) {
	var b bytes.Buffer
	if err := templates().ExecuteTemplate(&b, name, p); err != nil {
		guard.Refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(p.Status)
	_, _ = b.WriteTo(w) // the client may have disconnected
}

func (in *Inspector) notFound(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet || strings.HasPrefix(r.URL.Path+"/", "/api/") {
		guard.Refuse(w, http.StatusNotFound, "no such path")
		return
	}
	p := in.newPage("", "Not found", r)
	p.Wide, p.Status = true, http.StatusNotFound
	p.write(w, "notfound.html")
}

// pageSize is the number of rows of a page.
const pageSize = 100

// entryPage shows a list of requests, broadcasts or triggers, and one of them.
func (in *Inspector) entryPage(l entryList) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p := in.newPage(l.name, l.title, r)
		before, err := integer(r, "before", 0, 1, 0)
		query, queryErr := history.Parse(p.Query)
		if queryErr != nil || err != nil {
			p.Problem, p.Status = strings.TrimPrefix(firstError(queryErr, err), "invalid query: "), http.StatusBadRequest
			p.write(w, "entries.html")
			return
		}
		if r.PathValue("n") != "" {
			e, ok := in.box.History.Get(number(r))
			if !ok || !l.only(e) {
				in.notFound(w, r)
				return
			}
			detail := in.newDetail(e, l.item, r)
			p.Detail, p.Title = detail, detail.Title
		}
		if l.count(p.State) > 0 {
			p.Chips, p.ChipsShown = newChips(l, p.Query, in.box.History.MarkNames()), r.URL.Query().Get("filter") == "open"
		}
		if p.Query == "" && l.term != "" {
			const rejected = " delivery:rejected"
			query, _ := history.Parse(l.term + rejected) // it is valid
			p.Rejected, p.RejectedURL = in.box.History.Count(query), "/"+queryString("q", l.term+rejected)
		}
		in.fillRows(p, l, query, before)
		if p.Detail == nil {
			p.Overview = in.newOverview(l, p.Query, query.And(l.only))
		}
		p.FirstRequest = in.firstRequest(p)
		p.write(w, "entries.html")
	}
}

func firstError(errs ...error) string {
	for _, err := range errs {
		if err != nil {
			return err.Error()
		}
	}
	return ""
}

// fillRows fills in the list beside a detail. It is the first page if that has
// the entry of the detail, or else the page around it.
func (in *Inspector) fillRows(p *page, l entryList, query history.Query, before int) {
	detail, _ := p.Detail.(*entryDetail)
	all := query.And(l.only)
	grouped := in.box.History.Grouped(all)
	entries, more, total := in.find(p, all, before)
	if detail != nil && before == 0 && len(entries) > 0 && entries[len(entries)-1].Number > detail.Number {
		before = detail.Number + pageSize/2
		entries, more = in.box.History.Find(grouped, before, pageSize)
	}
	if p.Query != "" {
		p.Matches = matches(total)
	}
	p.ListURL = l.list + queryString("q", p.Query, "before", positive(before))
	for _, e := range entries {
		row := in.groupedRow(e)
		row.Href = fmt.Sprintf("%s/%d%s", l.item, e.Number, queryString("q", p.Query, "before", positive(before)))
		row.Current = detail != nil && row.isOf(detail.Number)
		for i := range row.Attempts {
			row.Attempts[i].Current = row.Current && row.Attempts[i].Number == detail.Number
		}
		p.Rows = append(p.Rows, row)
	}
	if len(p.Rows) > 0 {
		p.Day = p.Rows[0].Date
	}
	in.divide(p.Rows, entries, grouped)
	if before > 0 {
		p.Newer = l.list + queryString("q", p.Query)
	}
	if more {
		p.Older = l.list + queryString("q", p.Query, "before", strconv.Itoa(entries[len(entries)-1].Number))
	}
}

// find returns a page of calls, each by its last attempt, and of a search also how many requests match.
func (in *Inspector) find(p *page, q history.Query, before int) (found []*history.Entry, more bool, total int) {
	if p.Query != "" {
		return in.box.History.FindAndCount(q, before, pageSize)
	}
	found, more = in.box.History.Find(in.box.History.Grouped(q), before, pageSize)
	return found, more, 0
}

// matches writes how many requests a search has.
func matches(n int) string {
	if n == 1 {
		return "1 match"
	}
	return words.Thousands(n) + " matches"
}

// groupedRow returns the row of a request, with the same ones before that look like its
// earlier attempts.
func (in *Inspector) groupedRow(e *history.Entry) row {
	row := newRow(e)
	row.Later = len(in.box.History.Later(e))
	for _, attempt := range in.box.History.Attempts(e) {
		row.Attempts = append(row.Attempts, linkedRow(attempt))
	}
	return row
}

func positive(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// rows responds with the rows after a number that match, as HTML. The header
// Rows-Left has the number of matching rows that are left out. With a parameter overview, the
// overview of the list comes with them.
func (in *Inspector) rows(w http.ResponseWriter, r *http.Request) {
	section := slices.IndexFunc(entryLists, func(l entryList) bool { return l.name == r.URL.Query().Get("section") })
	query, err := history.Parse(r.URL.Query().Get("q"))
	after, afterErr := integer(r, "after", 0, 0, 0)
	if err != nil || afterErr != nil || section < 0 {
		guard.Refuse(w, http.StatusBadRequest, "unknown section, or invalid query")
		return
	}
	l := entryLists[section]
	p := in.newPage(l.name, l.title, r)
	all := query.And(l.only)
	grouped := in.box.History.Grouped(all)
	if p.Query != "" {
		p.Matches = matches(in.box.History.Count(all))
	}
	if r.URL.Query().Has("overview") {
		p.Overview = in.newOverview(l, p.Query, all)
	}
	entries, _ := in.box.History.After(after)
	var matching []*history.Entry
	for _, e := range entries {
		if grouped.Match(e) {
			matching = append(matching, e)
		}
	}
	left := max(0, len(matching)-pageSize)
	shown := matching[left:]
	slices.Reverse(shown) // latest first
	for _, e := range shown {
		row := in.groupedRow(e)
		row.Href = fmt.Sprintf("%s/%d%s", l.item, row.Number, queryString("q", p.Query))
		p.Rows = append(p.Rows, row)
	}
	in.divide(p.Rows, shown, grouped)
	last := after
	if len(entries) > 0 {
		last = entries[len(entries)-1].Number
	}
	w.Header().Set("Rows-Left", strconv.Itoa(left))
	w.Header().Set("Rows-Last", strconv.Itoa(last))
	if p.Matches != "" {
		w.Header().Set("Rows-Matches", p.Matches)
	}
	p.write(w, "new-rows")
}

func (in *Inspector) helpPage(w http.ResponseWriter, r *http.Request) {
	p := in.newPage("help", "Help", r)
	p.Wide = true
	p.write(w, "help.html")
}

// left returns how long it takes until a time.
func left(until *time.Time) string {
	return fmt.Sprintf("%.0f s", math.Ceil(max(0, time.Until(*until).Seconds())))
}

// zone returns the name of the time zone of the pages.
func zone() string { return time.Now().Format("MST") }
