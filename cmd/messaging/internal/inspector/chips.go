package inspector

import (
	"slices"
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/search"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/service"
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

// newChips returns the chips of a list, for a search. Marks have their names as chips.
func newChips(l entryList, query string, marks []string) []chipGroup {
	groups := []struct {
		name  string
		terms []string
	}{
		{"Status", []string{"status:2xx", "status:4xx", "status:5xx", "status:none"}},
		{"Delivery", []string{"delivery:accepted", "delivery:rejected", "delivery:unknown"}},
		{"Flags", []string{"has:skipped", "has:duplicate", "has:unknown_parameter", "has:foreign_key", "has:replay", "fault:any"}},
	}
	if l.name == requestList.name {
		var terms []string
		for op := range service.Served() {
			terms = append(terms, "op:"+op.Name)
		}
		groups = slices.Insert(groups, 0, struct {
			name  string
			terms []string
		}{"Operation", terms})
	}
	var list []chipGroup
	for _, g := range groups {
		group := chipGroup{Name: g.name}
		for _, term := range g.terms {
			group.Chips = append(group.Chips, newChip(l, query, term))
		}
		list = append(list, group)
	}
	return append(list, markChips(l, query, marks)...)
}

// markChips returns the chips of marks, if there are any.
func markChips(l entryList, query string, names []string) []chipGroup {
	const longest = 40
	group := chipGroup{Name: "Mark"}
	for _, name := range names {
		each := newChip(l, query, "mark:"+name)
		each.Label = show(words.Shortened(name, longest))
		group.Chips = append(group.Chips, each)
	}
	if len(group.Chips) == 0 {
		return nil
	}
	return []chipGroup{group}
}

func newChip(l entryList, query, term string) chip {
	key, label, _ := strings.Cut(term, ":")
	switch {
	case key == "op":
		label = capitalized(label)
	case term == "status:none":
		label = "no response"
	case term == "has:foreign_key":
		label = "wrong key"
	}
	c := chip{Label: label, On: slices.ContainsFunc(search.Terms(query), func(t search.Term) bool {
		return t.Text == term && !t.Not || key == "op" && isPartOf(t, term)
	})}
	changed := withTerm(query, term)
	if c.On {
		changed = written(without(query, term))
	}
	c.Href = l.list + queryString("q", changed, "filter", "open") // for the next chip
	return c
}

// isPartOf reports whether a term names an operation by a part of its name that no other has, such as op:trigger.
func isPartOf(t search.Term, term string) bool {
	part, ok := strings.CutPrefix(t.Text, "op:")
	if !ok || t.Not || part == "" || !strings.Contains(term, part) {
		return false
	}
	operations := 0
	for op := range service.Served() {
		if strings.Contains(op.Name, part) {
			operations++
		}
	}
	return operations == 1
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
