package inspector

import (
	"cmp"
	"slices"
	"strings"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// overview is what is worth a look among the latest requests of a list.
type overview struct {
	Requests   int // how many were looked at
	Deliveries []deliveryCount
	Findings   []finding
	More       []finding // the others
}

// All returns how many findings there are.
func (v *overview) All() int { return len(v.Findings) + len(v.More) }

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

func (f finding) causeIn(e *history.Entry) cause {
	c := cause{tag: f.Tag, text: f.Text, rank: f.rank, op: e.Op}
	if f.rank == silent || f.rank == unclear {
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
	suspicious
	wanted // by a rule
)

// What an overview looks at, and what it shows at once: it is made again with each new row.
const overviewEntries, overviewFindings = 500, 10

// newOverview returns an overview of a list, or nil for an empty list.
func (in *Inspector) newOverview(l entryList) *overview {
	entries, _ := in.box.History.Find(history.Query{}.And(l.requested), 0, overviewEntries)
	if len(entries) == 0 {
		return nil
	}
	v := &overview{Requests: len(entries), Deliveries: countDeliveries(l, entries)}
	found := make(map[cause]int) // the index in v.Findings
	for _, e := range entries {  // latest first
		for _, f := range in.findings(e) {
			c := f.causeIn(e)
			i, ok := found[c]
			if !ok {
				i = len(v.Findings)
				found[c] = i
				f.Op, f.Last, f.Href = operation(e), e.Number, l.hrefOf(e)
				v.Findings = append(v.Findings, f)
			}
			v.Findings[i].count(f.Title, operation(e))
		}
	}
	slices.SortStableFunc(v.Findings, func(a, b finding) int { return cmp.Compare(a.rank, b.rank) })
	n := min(len(v.Findings), overviewFindings)
	v.Findings, v.More = v.Findings[:n], v.Findings[n:]
	return v
}

// countDeliveries counts what the SDK reports, with a search for each.
func countDeliveries(l entryList, entries []*history.Entry) (list []deliveryCount) {
	counts := make(map[messaging.Delivery]int)
	for _, e := range entries {
		delivery, _ := e.Delivery()
		counts[delivery]++
	}
	for _, d := range []struct {
		delivery messaging.Delivery
		class    string
	}{{messaging.DeliveryAccepted, "ok"}, {messaging.DeliveryRejected, "bad"}, {messaging.DeliveryUnknown, "unknown"}} {
		if n := counts[d.delivery]; n > 0 {
			text := words.Thousands(n) + " " + d.delivery.String()
			query := strings.TrimSpace(l.term + " delivery:" + d.delivery.String())
			list = append(list, deliveryCount{tag{d.class, text}, "/" + queryString("q", query)})
		}
	}
	return list
}

// findings returns what is worth a look in a request, without the numbers that tell it from
// other requests with the same.
func (in *Inspector) findings(e *history.Entry) (list []finding) {
	heading := title(e)
	outcome := outcomeTag(e)
	f := finding{Tag: outcome, Title: heading, Text: failure(e), rank: failed}
	switch {
	case e.Fault != "" && outcome.Class != "unknown":
		f.rank = wanted
	case len(credentialNotes(e)) > 0:
		f.rank = credential
	case outcome.Class == "unknown":
		f.rank = unclear
	}
	if e.Fault != "" || outcome.Class != "ok" {
		list = append(list, f)
	}
	for _, r := range in.remarksIfAny(e) {
		rank := suspicious
		if r.tagged {
			rank = silent
		}
		if r.elsewhere && r.tagged { // the failure says it
			continue
		}
		for _, text := range r.commonTexts() {
			list = append(list, finding{Tag: tag{"warn", r.label()}, Title: heading, Text: text, rank: rank})
		}
	}
	return list
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
