// Package search reads the text of a search.
package search

import (
	"regexp"
	"strings"
)

// Term is a word or a key:value of a query, without its quotes.
type Term struct {
	Text string
	// Not reports whether the term must not match.
	Not bool
}

// String returns the term with the quotes that it needs in a query, around the value of a key.
func (t Term) String() string {
	text := strings.ReplaceAll(t.Text, `"`, `\"`)
	key, value, ok := strings.Cut(text, ":")
	switch {
	case ok && isKey.MatchString(key) && strings.ContainsAny(value, " \t"):
		text = key + `:"` + value + `"`
	case strings.ContainsAny(text, " \t") || isNegation(text):
		text = `"` + text + `"`
	}
	if t.Not {
		return "-" + text
	}
	return text
}

// isKey matches what can be before the colon of a term, without quotes.
var isKey = regexp.MustCompile(`^[a-z_]+$`)

// isNegation reports whether a field begins with the sign of a negation. A sign alone is a
// word.
func isNegation(field string) bool { return len(field) > 1 && (field[0] == '-' || field[0] == '!') }

// field matches what is between blanks outside of double quotes. A quote behind a backslash is none.
var field = regexp.MustCompile(`(\\"|"(\\"|[^"])*"|[^ \t"])+`)

// Terms splits a query at blanks outside of double quotes. A sign within quotes is part of
// the word.
func Terms(text string) (terms []Term) {
	for _, field := range field.FindAllString(text, -1) {
		if t := newTerm(field); t.Text != "" {
			terms = append(terms, t)
		}
	}
	return terms
}

func newTerm(field string) (t Term) {
	if t.Not = isNegation(field); t.Not {
		field = field[1:]
	}
	t.Text = strings.NewReplacer(`\"`, `"`, `"`, "").Replace(field) // a backslash keeps the quote behind it
	return t
}

// Join joins the arguments of a command to a query. An argument with blanks but no quotes
// stays one term.
func Join(arguments []string) string {
	terms := make([]string, len(arguments))
	for i, argument := range arguments {
		terms[i] = argument
		if strings.ContainsAny(argument, " \t") && !strings.Contains(strings.ReplaceAll(argument, `\"`, ""), `"`) {
			terms[i] = newTerm(argument).String()
		}
	}
	return strings.Join(terms, " ")
}
