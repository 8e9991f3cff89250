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
	text := strings.ReplaceAll(t.Text, `"`, `\"`)
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
		if t.Text = unquoted(t.Text); t.Text != "" {
			terms = append(terms, t)
		}
	}
	return terms
}

// unquoted returns a text without its quotes. A backslash keeps the one behind it.
func unquoted(text string) string {
	return strings.NewReplacer(`\"`, `"`, `"`, "").Replace(text)
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
		if strings.ContainsAny(argument, " \t") && !strings.Contains(strings.ReplaceAll(argument, `\"`, ""), `"`) {
			t := newTerm(argument)
			t.Text = unquoted(t.Text)
			terms[i] = t.String()
		}
	}
	return strings.Join(terms, " ")
}

// split splits a query at blanks outside of double quotes. A quote behind a backslash is none.
func split(text string) []string {
	quoted, before := false, ' '
	return strings.FieldsFunc(text, func(r rune) bool {
		if r == '"' && before != '\\' {
			quoted = !quoted
		}
		before = r
		return !quoted && (r == ' ' || r == '\t')
	})
}
