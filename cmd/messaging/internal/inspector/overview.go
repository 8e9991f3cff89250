package inspector

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// overview is what is worth a look among the latest requests of a list.
type overview struct {
	Requests   int // how many were looked at
	Deliveries []deliveryCount
	Findings   []finding
	More       int // findings that are not shown
}

// deliveryCount is how many requests the SDK reports in the same way.
type deliveryCount struct {
	Tag   tag
	Href  string
	Count int
}

// finding is a failure or a remark that some requests have in common.
type finding struct {
	Tag   tag
	Title string // what was requested
	Text  string
	Count int
	Href  string // of the latest request
	Last  int    // its number
}

// What an overview looks at, and what it shows: it is made again with each new row.
const overviewEntries, overviewFindings = 500, 8

// newOverview returns an overview of a list, or nil for an empty list.
func (in *Inspector) newOverview(l entryList) *overview {
	entries, _ := in.box.History.Find(history.Query{}.And(l.only), 0, overviewEntries)
	if len(entries) == 0 {
		return nil
	}
	v := &overview{Requests: len(entries), Deliveries: countDeliveries(l, entries)}
	found := make(map[finding]int) // by their texts, the index in v.Findings
	for _, e := range entries {    // latest first
		for _, f := range in.findings(e) {
			i, ok := found[f]
			if !ok {
				i = len(v.Findings)
				found[f] = i
				f.Last, f.Href = e.Number, fmt.Sprintf("%s/%d", l.item, e.Number)
				v.Findings = append(v.Findings, f)
			}
			v.Findings[i].Count++
		}
	}
	order := []string{"unknown", "bad", "warn"}
	slices.SortStableFunc(v.Findings, func(a, b finding) int {
		return slices.Index(order, a.Tag.Class) - slices.Index(order, b.Tag.Class)
	})
	if v.More = max(0, len(v.Findings)-overviewFindings); v.More > 0 {
		v.Findings = v.Findings[:overviewFindings]
	}
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
			query := queryString("q", "delivery:"+d.delivery.String())
			list = append(list, deliveryCount{tag{d.class, words.Thousands(n) + " " + d.delivery.String()}, l.list + query, n})
		}
	}
	return list
}

// findings returns what is worth a look in a request, without the numbers that tell it from
// other requests with the same.
func (in *Inspector) findings(e *history.Entry) (list []finding) {
	heading := title(e)
	if outcome := outcomeTag(e); outcome.Class != "ok" {
		list = append(list, finding{Tag: outcome, Title: heading, Text: failure(e)})
	}
	if e.Notes() == 0 {
		return list
	}
	for _, r := range in.remarks(e) {
		list = append(list, finding{Tag: tag{"warn", "note"}, Title: heading, Text: cmp.Or(r.common, r.text)})
	}
	return list
}
