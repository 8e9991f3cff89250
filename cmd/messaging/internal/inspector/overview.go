package inspector

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/service"
)

// overview is what is worth a look among the requests of a list, or among the latest matches of a search.
type overview struct {
	Matches    string // how many there are of a search, or ""
	Requests   int    // how many there are, or were looked at
	Older      bool   // whether there were more, which are no longer kept or were not looked at
	Refused    bool   // whether requests count that the list does not have
	Deliveries []deliveryCount
	Findings   []finding
	More       []finding // the others
	Left       int       // how many requests have findings that are in no list, because there are too many
	// Looked is how many requests were looked at so far, of all in the history, or 0 if all were.
	Looked, Of int
}

// All returns how many findings there are.
func (v *overview) All() int { return len(v.Findings) + len(v.More) }

// Heading says in a word whether something was found, or how many matches a search has.
func (v *overview) Heading() string {
	switch {
	case v.Matches != "":
		return v.Matches
	case len(v.Findings) > 0:
		return "Worth a look"
	case v.Looked > 0:
		return "Still looking"
	default:
		return "Nothing stands out"
	}
}

// Which says which requests are counted, or is "" for all matches of a search.
func (v *overview) Which() string {
	switch {
	case v.Matches != "" && v.Older:
		return "The latest " + words.Thousands(v.Requests)
	case v.Matches != "":
		return ""
	case v.Requests == 1 && v.Older:
		return "The latest request"
	case v.Requests == 1:
		return "One request"
	case v.Older:
		return "The latest " + words.Count(v.Requests, "request")
	case v.Refused:
		return words.Count(v.Requests, "request") + ", including refused ones"
	default:
		return "All " + words.Count(v.Requests, "request")
	}
}

// deliveryCount is how many requests the SDK reports in the same way.
type deliveryCount struct {
	Tag  tag
	Href string // a search for them
}

// finding is a failure or a remark that some requests have in common.
type finding struct {
	Tag   tag
	Title string // what was requested
	Text  string
	Count int
	Op    string // as a heading
	Href  string // of the latest request
	Last  int    // its number
	All   string // a search for all of them, if there are several
	rank  rank
}

// cause is what findings have in common: a remark, or what a failure says, of an operation or of
// none. What nothing else shows is also told apart by its title.
type cause struct {
	tag       tag
	text      string
	rank      rank
	op, title string
}

// terms are a search for the requests with the finding, of which e is one, and with its title if that tells it from
// other findings.
func (f finding) terms(e *history.Entry, titled bool) (terms []string) {
	if e.Op != "" {
		terms = append(terms, "op:"+e.Op)
	}
	_, event := e.EventName()
	switch {
	case titled && event != "":
		terms = append(terms, "event:"+event)
	case titled && e.Subject() != "":
		terms = append(terms, "subject:"+e.Subject())
	}
	return append(terms, "says:"+f.Text)
}

func (f finding) causeIn(op string) cause {
	c := cause{tag: f.Tag, text: f.Text, rank: f.rank, op: op}
	if f.rank == silent || f.rank == unclear || f.rank == guessed {
		c.title = f.Title
	}
	return c
}

// count adds a request to those of the finding, which is called after what they have in common.
func (f *finding) count(title, op string) {
	f.Count++
	switch {
	case f.Title == title:
	case f.Op == op:
		f.Title = op
	default: // for no operation
		f.Title = "Several requests"
	}
}

// rank is how much a finding needs a look: what nothing else shows comes first, and what was asked
// for comes last.
type rank int

const (
	credential rank = iota
	silent
	unclear // whether it was carried out
	failed
	concealed // by a rule, whether it was carried out
	guessed   // what may be meant
	suspicious
	wanted // by a rule, or by who replayed it
)

// level is how much a finding needs a look beside others: within a level, the latest comes first.
func (r rank) level() int {
	switch r {
	case credential:
		return 0
	case silent:
		return 1
	case unclear, failed, concealed:
		return 2
	case guessed, suspicious:
		return 3
	default:
		return 4
	}
}

// about says what the findings of a level have in common.
func (r rank) about() string {
	switch r.level() {
	case 0:
		return "Wrong API key"
	case 1:
		return "Accepted, with values skipped"
	case 2:
		return "Failed"
	case 3:
		return "Suspicious"
	default:
		return "Caused by a fault rule or a replay"
	}
}

// findingGroup is a list of findings of one level.
type findingGroup struct {
	About    string // or "" if there is one group
	Findings []finding
}

// grouped returns findings by their level, in which they are sorted.
func grouped(findings []finding) (groups []findingGroup) {
	for _, f := range findings {
		if last := len(groups) - 1; last < 0 || groups[last].About != f.rank.about() {
			groups = append(groups, findingGroup{About: f.rank.about()})
		}
		last := &groups[len(groups)-1]
		last.Findings = append(last.Findings, f)
	}
	if len(groups) == 1 {
		groups[0].About = ""
	}
	return groups
}

// overviewFindings is how many findings are shown at once.
const overviewFindings = 10

// searchedEntries is how many matches of a search are looked at: it is made again with each new row.
const searchedEntries = 500

// newOverview returns an overview of the list of a page, or of its search. It is nil for an empty list.
func (in *Inspector) newOverview(l entryList, p *page, search history.Query) *overview {
	var v *overview
	if p.Query == "" {
		v = in.listOverview(l)
	} else {
		v = in.searchOverview(l, p, search)
	}
	if v.Requests == 0 {
		return nil
	}
	n := min(len(v.Findings), overviewFindings)
	keepFrequent(v.Findings, n)
	v.Findings, v.More = v.Findings[:n], v.Findings[n:]
	return v
}

// keepFrequent moves the most frequent finding to the first n if it is not among them.
func keepFrequent(findings []finding, n int) {
	most := 0
	for i, f := range findings {
		if f.Count > findings[most].Count {
			most = i
		}
	}
	if most >= n && n > 0 {
		f := findings[most]
		copy(findings[n:most+1], findings[n-1:most])
		findings[n-1] = f
	}
}

// listOverview returns what is worth a look in a whole list.
func (in *Inspector) listOverview(l entryList) *overview {
	v := &overview{Older: in.box.History.State().Dropped > 0, Refused: l.name != requestList.name}
	v.countDeliveries(in.box.History.Deliveries(l.requested), func(term string) string {
		return "/" + queryString("q", strings.TrimSpace(l.term+" "+term))
	})
	var found []*counted
	found, v.Left, v.Looked, v.Of = in.survey.read(in, l.requested)
	for _, each := range found {
		each.Href = fmt.Sprintf("/requests/%d", each.Last)
		if e, ok := in.box.History.Get(each.Last); ok {
			each.Href = l.hrefOf(e)
			each.All = "/" + queryString("q", withTerms("", each.terms(e, each.cause.title != "")))
		}
		v.Findings = append(v.Findings, each.finding)
	}
	return v
}

// searchOverview returns what is worth a look in the latest matches of a search.
func (in *Inspector) searchOverview(l entryList, p *page, search history.Query) *overview {
	v := &overview{Matches: p.Matches}
	var entries []*history.Entry
	entries, v.Older = in.box.History.Find(search, 0, searchedEntries)
	counts := make(map[messaging.Delivery]int)
	found := make(map[cause]int) // the index in v.Findings
	for _, e := range entries {  // latest first
		delivery, _ := e.Delivery()
		counts[delivery]++
		for _, f := range in.findings(e) {
			c := f.causeIn(e.Op)
			i, ok := found[c]
			if !ok {
				i = len(v.Findings)
				found[c] = i
				f.Op, f.Last, f.Href = operation(e), e.Number, l.hrefOf(e)+queryString("q", p.Query)
				v.Findings = append(v.Findings, f)
			}
			v.Findings[i].count(f.Title, operation(e))
			v.Findings[i].All = l.list + queryString("q", withTerms(p.Query, f.terms(e, c.title != "")))
		}
	}
	slices.SortStableFunc(v.Findings, func(a, b finding) int { return cmp.Compare(a.rank.level(), b.rank.level()) })
	v.countDeliveries(counts, func(term string) string { return l.list + queryString("q", withTerm(p.Query, term)) })
	return v
}

// countDeliveries counts what the SDK reports, with a search for each.
func (v *overview) countDeliveries(counts map[messaging.Delivery]int, hrefOf func(term string) string) {
	for _, n := range counts {
		v.Requests += n
	}
	for _, d := range []struct {
		delivery messaging.Delivery
		class    string
	}{{messaging.DeliveryAccepted, "ok"}, {messaging.DeliveryRejected, "bad"}, {messaging.DeliveryUnknown, "unknown"}} {
		if n := counts[d.delivery]; n > 0 {
			text := words.Thousands(n) + " " + d.delivery.String()
			v.Deliveries = append(v.Deliveries, deliveryCount{tag{d.class, text}, hrefOf("delivery:" + d.delivery.String())})
		}
	}
}

// findings returns what is worth a look in a request, without the numbers that tell it from
// other requests with the same.
func (in *Inspector) findings(e *history.Entry) (list []finding) {
	heading := words.Shortened(title(e), maxTitle)
	if e.Op == service.CreateEvent.Name { // else it reads like a trigger
		_, name := e.EventName()
		heading = joined(operation(e), name)
	}
	outcome := outcomeTag(e)
	f := finding{Tag: outcome, Title: heading, Text: failure(e), rank: failed}
	switch {
	case e.Fault != "" && outcome.Class == "unknown" && e.ReplayOf == 0 && !isRead(e):
		f.rank = concealed
	case e.Fault != "" && !isOnlyDelayed(e), e.ReplayOf > 0:
		f.rank = wanted
	case e.ForeignKey:
		f.rank = credential
	case outcome.Class == "unknown":
		f.rank = unclear
	}
	if e.Fault != "" || outcome.Class != "ok" {
		list = append(list, f)
	}
	for _, r := range in.remarksIfAny(e) {
		rank := suspicious
		switch {
		case r.note == history.NoteNameAsID && len(list) > 0:
			list[0].Text = r.text // it says more than the failure
			continue
		case r.elsewhere && r.tagged(), r.note == history.NoteContentType && e.Status == http.StatusUnsupportedMediaType:
			continue // the failure says it
		case e.ReplayOf > 0:
			rank = wanted
		case r.note == history.NoteDuplicate, r.note == history.NoteUnknownParameter:
			rank = guessed
		case r.tagged():
			rank = silent
		}
		for _, text := range r.commonTexts() {
			list = append(list, finding{Tag: tag{"warn", r.label()}, Title: heading, Text: text, rank: rank})
		}
	}
	return list
}

// findTexts returns what the findings of a request say.
func (in *Inspector) findTexts(e *history.Entry) (texts []string) {
	for _, f := range in.findings(e) {
		texts = append(texts, f.Text)
	}
	return texts
}

// commonTexts returns what the remark says without what only its request has.
func (r remark) commonTexts() []string {
	if r.common == nil {
		return []string{r.text}
	}
	return r.common
}

// remarksIfAny returns the remarks without looking for them where there are none.
func (in *Inspector) remarksIfAny(e *history.Entry) []remark {
	if len(e.Notes()) == 0 {
		return nil
	}
	return in.remarks(e)
}
