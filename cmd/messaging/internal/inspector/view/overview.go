package view

import (
	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/findings"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// Overview is what the rules find in the latest requests of a search.
type Overview struct {
	Which      string // requests were looked at
	Deliveries []found
	Findings   []found
}

// found is what some requests have in common, with a search for them.
type found struct {
	Tag   Tag
	Text  string
	Count int
	Href  string
}

// looked is how many requests an overview looks at.
const looked = 500

// NewOverview returns the overview of a search. It is nil if nothing matches.
func NewOverview(store *history.Store, query string, q history.Query) *Overview {
	entries, more := store.Find(q, 0, looked)
	if len(entries) == 0 {
		return nil
	}
	v := &Overview{Which: "All " + words.Count(len(entries), "request")}
	switch {
	case more || store.State().Dropped > 0:
		v.Which = "The latest " + words.Count(len(entries), "request")
	case len(entries) == 1:
		v.Which = "One request"
	}
	deliveries, codes := make(map[messaging.Delivery]int), make(map[string]int)
	for _, e := range entries {
		deliveries[e.Delivery]++
		for _, n := range e.Notes() {
			codes[n.Code]++
		}
	}
	href := func(term string) string { return "/" + QueryString("q", withTerm(query, term)) }
	for _, d := range []messaging.Delivery{messaging.DeliveryAccepted, messaging.DeliveryRejected, messaging.DeliveryUnknown} {
		if n := deliveries[d]; n > 0 {
			t := deliveryTag(d.String())
			t.Text = words.Thousands(n) + " " + t.Text
			v.Deliveries = append(v.Deliveries, found{Tag: t, Href: href("delivery:" + d.String())})
		}
	}
	for _, rule := range findings.Rules {
		if n := codes[rule.ID]; n > 0 {
			v.Findings = append(v.Findings, found{ruleTag(rule.ID), rule.Text, n, href("has:" + rule.ID)})
		}
	}
	return v
}
