package view

import (
	"slices"
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/search"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// chip is a link that adds a term to a search, or removes it.
type chip struct {
	Label, Href string
	On          bool
}

// chipGroup is a list of chips of which at most one makes sense at a time.
type chipGroup struct {
	Name  string
	Chips []chip
}

// newChips returns a chip for each value of the keys of a search.
func newChips(query string, keys []history.Term) (groups []chipGroup) {
	for _, key := range keys {
		group := chipGroup{Name: capitalized(key.Key)}
		for _, value := range key.Values {
			group.Chips = append(group.Chips, newChip(query, key.Key, value))
		}
		if len(group.Chips) > 0 {
			groups = append(groups, group)
		}
	}
	return groups
}

func newChip(query, key, value string) chip {
	const longest = 40
	term := key + ":" + value
	c := chip{Label: show(words.Shortened(value, longest)), On: slices.ContainsFunc(search.Terms(query), func(t search.Term) bool {
		return t.Text == term && !t.Not
	})}
	switch key {
	case "op":
		c.Label = capitalized(value)
	case "has", "fault", "delivery":
		c.Label = strings.ReplaceAll(value, "_", " ")
	}
	changed := withTerm(query, term)
	if c.On {
		changed = written(without(query, term))
	}
	c.Href = "/" + QueryString("q", changed, "filter", "open") // for the next chip
	return c
}

// withTerm returns a search with a term, in place of those with which it makes no sense.
func withTerm(query, term string) string {
	return written(append(without(query, term), search.Term{Text: term}))
}

// without returns the terms of a search without one, and those that make no sense beside it.
func without(query, term string) []search.Term {
	key, _, _ := strings.Cut(term, ":")
	return slices.DeleteFunc(search.Terms(query), func(t search.Term) bool {
		return t.Text == term || key != "has" && !t.Not && strings.HasPrefix(t.Text, key+":")
	})
}

func written(terms []search.Term) string {
	var texts []string
	for _, t := range terms {
		texts = append(texts, t.String())
	}
	return strings.Join(texts, " ")
}

// suggestions are the terms that the search field offers, and the beginnings of those whose values are not known, such as "to:".
func suggestions(keys []history.Term) (terms []string) {
	for _, key := range keys {
		if len(key.Values) == 0 {
			terms = append(terms, key.Key+":")
		}
		for _, value := range key.Values {
			terms = append(terms, search.Term{Text: key.Key + ":" + value}.String())
		}
	}
	return terms
}
