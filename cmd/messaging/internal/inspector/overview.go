package inspector

import (
	"fmt"
	"strings"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// overview is what is worth a look among the requests of a list.
type overview struct {
	Requests   int  // how many there are
	Older      bool // whether there were more, which are no longer kept
	Deliveries []deliveryCount
	Findings   []finding
	More       []finding // the others
	Left       int       // how many requests have findings that are in no list, because there are too many
	// Looked is how many requests were looked at so far, of all in the history, or 0 if all were.
	Looked, Of int
}

// All returns how many findings there are.
func (v *overview) All() int { return len(v.Findings) + len(v.More) }

// Heading says in a word whether something was found.
func (v *overview) Heading() string {
	switch {
	case len(v.Findings) > 0:
		return "Worth a look"
	case v.Looked > 0:
		return "Still looking"
	default:
		return "Nothing stands out"
	}
}

// Which says which requests are counted.
func (v *overview) Which() string {
	switch {
	case v.Requests == 1 && v.Older:
		return "The latest request"
	case v.Requests == 1:
		return "One request"
	case v.Older:
		return "The latest " + words.Count(v.Requests, "request")
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

func (f finding) causeIn(op string) cause {
	c := cause{tag: f.Tag, text: f.Text, rank: f.rank, op: op}
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

// overviewFindings is how many findings are shown at once.
const overviewFindings = 10

// newOverview returns an overview of a list, or nil for an empty list.
func (in *Inspector) newOverview(l entryList) *overview {
	v := &overview{Older: in.box.History.State().Dropped > 0}
	v.countDeliveries(l, in.box.History.Deliveries(l.requested))
	if v.Requests == 0 {
		return nil
	}
	var found []counted
	found, v.Left, v.Looked, v.Of = in.survey.read(in, l.requested)
	for _, each := range found {
		each.Href = fmt.Sprintf("/requests/%d", each.Last)
		if e, ok := in.box.History.Get(each.Last); ok {
			each.Href = l.hrefOf(e)
		}
		v.Findings = append(v.Findings, each.finding)
	}
	n := min(len(v.Findings), overviewFindings)
	v.Findings, v.More = v.Findings[:n], v.Findings[n:]
	return v
}

// countDeliveries counts what the SDK reports, with a search for each.
func (v *overview) countDeliveries(l entryList, counts map[messaging.Delivery]int) {
	for _, n := range counts {
		v.Requests += n
	}
	for _, d := range []struct {
		delivery messaging.Delivery
		class    string
	}{{messaging.DeliveryAccepted, "ok"}, {messaging.DeliveryRejected, "bad"}, {messaging.DeliveryUnknown, "unknown"}} {
		if n := counts[d.delivery]; n > 0 {
			text := words.Thousands(n) + " " + d.delivery.String()
			query := strings.TrimSpace(l.term + " delivery:" + d.delivery.String())
			v.Deliveries = append(v.Deliveries, deliveryCount{tag{d.class, text}, "/" + queryString("q", query)})
		}
	}
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
