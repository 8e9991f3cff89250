package view

import (
	"slices"
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
	"github.com/messaging-go/messaging/cmd/messaging/internal/search"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/fake"
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

// newChips returns a chip for each value of the keys of a search. Marks have their names.
func newChips(query string, marks []string) (groups []chipGroup) {
	for _, key := range history.Keys {
		values := key.Values
		if key.Key == "mark" {
			values = marks
		}
		group := chipGroup{Name: capitalized(key.Key)}
		for _, value := range values {
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
	c := chip{Label: value, On: slices.ContainsFunc(search.Terms(query), func(t search.Term) bool { return t.Text == term && !t.Not })}
	switch key {
	case "op":
		c.Label = capitalized(value)
	case "mark":
		c.Label = show(words.Shortened(value, longest))
	default:
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

// termLinks are links that remove a term from a search.
func termLinks(list, query string) (links []chip) {
	terms := search.Terms(query)
	for i, t := range terms {
		rest := slices.Delete(slices.Clone(terms), i, i+1)
		links = append(links, chip{Label: t.String(), Href: list + QueryString("q", written(rest))})
	}
	return links
}

// suggestions are terms that the search field offers.
func suggestions(store *history.Store, stored *records.Store) []string {
	const most = 20
	terms := history.Suggestions()
	for _, kind := range fake.FaultKinds {
		terms = append(terms, "fault:"+kind)
	}
	for _, name := range store.MarkNames() {
		terms = append(terms, search.Term{Text: "mark:" + name}.String())
	}
	events, _ := stored.All(records.Events).Search(nil, 0, most)
	for _, event := range events {
		terms = append(terms, search.Term{Text: "event:" + event.Line().Title}.String())
	}
	return terms
}
