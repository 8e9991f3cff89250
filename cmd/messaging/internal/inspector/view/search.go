package view

import (
	"slices"
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/findings"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/search"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// chip is a link that adds a term to a search, or removes it.
type chip struct {
	Label, Href string
	On          bool
}

func newChip(query, key, value string) chip {
	const longest = 40
	term := search.Term{Text: key + ":" + value}
	c := chip{Label: visible.Prose(words.Shortened(value, longest)), On: slices.Contains(search.Terms(query), term)}
	if key != "mark" { // whose name it is
		c.Label = spaced(c.Label)
	}
	c.Href = "/" + QueryString("q", withTerm(query, term.Text, !c.On), "filter", "open") // for the next chip
	return c
}

// withTerm returns a search with a term in place of those with which it makes no sense, or without it.
func withTerm(query, term string, with bool) string {
	key, _, _ := strings.Cut(term, ":")
	terms := slices.DeleteFunc(search.Terms(query), func(t search.Term) bool {
		return t.Text == term || key != "has" && !t.Not && strings.HasPrefix(t.Text, key+":")
	})
	if with {
		terms = append(terms, search.Term{Text: term})
	}
	var texts []string
	for _, t := range terms {
		texts = append(texts, t.String())
	}
	return strings.Join(texts, " ")
}

// Overview is what the rules find in the latest requests of a search.
type Overview struct {
	Which    string // requests were looked at
	Findings []found
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
	entries, _ := store.Find(q, 0, looked)
	if len(entries) == 0 {
		return nil
	}
	v, codes := &Overview{Which: "Among the latest " + words.Count(len(entries), "request")}, make(map[string]int)
	for _, e := range entries {
		for _, n := range e.Notes() {
			codes[n.Code]++
		}
	}
	for _, rule := range findings.Rules {
		if n := codes[rule.ID]; n > 0 {
			href := "/" + QueryString("q", withTerm(query, "has:"+rule.ID, true))
			v.Findings = append(v.Findings, found{ruleTag(rule.ID), rule.Text, n, href})
		}
	}
	return v
}
