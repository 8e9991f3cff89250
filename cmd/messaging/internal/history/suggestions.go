package history

import (
	"slices"
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/search"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// Suggestions returns the terms of a query whose values are known, and the beginnings of the others, such as "to:".
func Suggestions() (terms []string) {
	for _, key := range Keys {
		if len(key.Values) == 0 {
			terms = append(terms, key.Key+":")
		}
		for _, value := range key.Values {
			terms = append(terms, search.Term{Text: key.Key + ":" + value}.String())
		}
	}
	return terms
}

// Corrected returns a query with what was probably meant in place of its invalid terms, or "" if nobody can tell.
func Corrected(text string) string {
	var corrected []string
	for _, t := range search.Terms(text) {
		if _, err := Parse(t.String()); err != nil {
			if t.Text = meant(t.Text); t.Text == "" {
				return ""
			}
		}
		corrected = append(corrected, t.String())
	}
	query := strings.Join(corrected, " ")
	if _, err := Parse(query); err != nil {
		return ""
	}
	return query
}

// meant returns the valid term that an invalid one begins or resembles, or "".
func meant(term string) string {
	var known []string
	for _, suggestion := range Suggestions() {
		if !strings.HasSuffix(suggestion, ":") {
			known = append(known, strings.ReplaceAll(suggestion, `"`, ""))
		}
	}
	key, value, _ := strings.Cut(lower(term), ":")
	if i := slices.IndexFunc(known, func(s string) bool { return strings.HasPrefix(s, key+":"+value) }); i >= 0 && value != "" {
		return known[i]
	}
	if right := words.Nearest(key, keyNames()); right != "" && right != key {
		return right + ":" + value
	}
	return words.Nearest(lower(term), known)
}
