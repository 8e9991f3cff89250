// Package search reads the text of a search.
package search

import "strings"

// Term is a word or a key:value of a query, without its quotes.
type Term struct {
	Text string
	// Not reports whether the term must not match.
	Not bool
}

// String returns the term with the quotes that it needs in a query, around the value of a key.
func (t Term) String() string {
	text := t.Text
	key, value, ok := strings.Cut(text, ":")
	switch {
	case ok && isKey(key) && strings.ContainsAny(value, " \t"):
		text = key + `:"` + value + `"`
	case strings.ContainsAny(text, " \t") || isNegation(text):
		text = `"` + text + `"`
	}
	if t.Not {
		return "-" + text
	}
	return text
}

// isNegation reports whether a field begins with the sign of a negation. A sign alone is a
// word.
func isNegation(field string) bool { return len(field) > 1 && (field[0] == '-' || field[0] == '!') }

// isKey reports whether a text can be before the colon of a term, without quotes.
func isKey(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return (r < 'a' || r > 'z') && r != '_' })
}

// Terms splits a query at blanks outside of double quotes. A sign within quotes is part of
// the word.
func Terms(text string) (terms []Term) {
	for _, field := range split(text) {
		t := newTerm(field)
		if t.Text = strings.ReplaceAll(t.Text, `"`, ""); t.Text != "" {
			terms = append(terms, t)
		}
	}
	return terms
}

func newTerm(field string) Term {
	if isNegation(field) {
		return Term{field[1:], true}
	}
	return Term{Text: field}
}

// Join joins the arguments of a command to a query. An argument with blanks but no quotes
// stays one term.
func Join(arguments []string) string {
	terms := make([]string, len(arguments))
	for i, argument := range arguments {
		terms[i] = argument
		if strings.ContainsAny(argument, " \t") && !strings.Contains(argument, `"`) {
			terms[i] = newTerm(argument).String()
		}
	}
	return strings.Join(terms, " ")
}

// split splits a query at blanks outside of double quotes.
func split(text string) []string {
	quoted := false
	return strings.FieldsFunc(text, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return !quoted && (r == ' ' || r == '\t')
	})
}
