package history

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/messaging-go/messaging/cmd/messaging/internal/search"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// Query selects entries. The zero Query selects all.
type Query struct {
	terms   []term
	replays bool // it selects replays
}

// term is a part of a query. The text is that of the query, or "" if the term comes from elsewhere.
type term struct {
	text  string
	match func(*Entry) bool
}

// WithoutReplays returns a query that does not match replays, unless the query selects
// them.
func (q Query) WithoutReplays() Query {
	if q.replays {
		return q
	}
	return q.And(func(e *Entry) bool { return e.ReplayOf == 0 })
}

// Match reports whether all terms of the query match.
func (q Query) Match(e *Entry) bool {
	for _, term := range q.terms {
		if !term.match(e) {
			return false
		}
	}
	return true
}

// Differs returns the terms of the text of the query that do not match.
func (q Query) Differs(e *Entry) (terms []string) {
	for _, term := range q.terms {
		if term.text != "" && !term.match(e) {
			terms = append(terms, term.text)
		}
	}
	return terms
}

// Searches reports whether an entry is one of those among which the text of the query selects.
func (q Query) Searches(e *Entry) bool {
	return !slices.ContainsFunc(q.terms, func(t term) bool { return t.text == "" && !t.match(e) })
}

// And returns a query that also needs something else to match.
func (q Query) And(match func(*Entry) bool) Query { return q.and(term{match: match}) }

func (q Query) and(t term) Query { return Query{append(slices.Clip(q.terms), t), q.replays} }

// Parse parses a query: words that the request or the response contains, and
// key:value terms, all of which must match. A value with blanks needs double quotes.
// With a - or a ! before it, a word or a term must not match.
// An unknown key is an error, so that a typo does not look like a search without
// matches; an address such as http://host is a word.
func Parse(text string) (Query, error) {
	var q Query
	if strings.Count(strings.ReplaceAll(text, `\"`, ""), `"`)%2 == 1 {
		return Query{}, fmt.Errorf("invalid query: a quotation mark has no other one")
	}
	for _, t := range search.Terms(text) {
		key, value, _ := strings.Cut(t.Text, ":")
		match, err := parseTerm(key, lower(value))
		if err != nil {
			return Query{}, fmt.Errorf("invalid query: %s: %w", t.Text, err)
		}
		if match == nil && isUnknownTerm(key, value) {
			return Query{}, fmt.Errorf("invalid query: %s: unknown key %q; %s", t.Text, key, rightKey(t, key, value))
		}
		if match == nil {
			word := lower(t.Text)
			match = func(e *Entry) bool { return e.contains(word) }
		}
		q = q.and(term{t.String(), func(e *Entry) bool { return match(e) != t.Not }})
		q.replays = q.replays || key == "has" && lower(value) == "replay"
	}
	return q, nil
}

// isUnknownTerm reports whether a word looks like a term.
func isUnknownTerm(key, value string) bool {
	return key != "" && value != "" && !strings.HasPrefix(value, "//") &&
		!strings.ContainsFunc(key, func(r rune) bool { return !unicode.IsLetter(r) && r != '_' })
}

// rightKey says what was probably meant by a term with an unknown key, and what the keys are.
func rightKey(t search.Term, key, value string) string {
	meant := words.Nearest(key, keyNames())
	if meant == "" {
		return "must be one of " + KeyNames("or")
	}
	return fmt.Sprintf("did you mean %v? The keys are %s", search.Term{Text: meant + ":" + value, Not: t.Not}, KeyNames("and"))
}

// KeyNames returns the keys of a query, such as "op, status or to".
func KeyNames(conjunction string) string { return words.List(keyNames(), conjunction) }

func keyNames() (names []string) {
	for _, key := range Keys {
		names = append(names, key.Key)
	}
	return names
}

// parseTerm returns nil if the key is unknown.
func parseTerm(key, value string) (func(*Entry) bool, error) {
	i := slices.IndexFunc(Keys, func(t Term) bool { return t.Key == key })
	if i < 0 {
		return nil, nil
	}
	return Keys[i].parse(value)
}
