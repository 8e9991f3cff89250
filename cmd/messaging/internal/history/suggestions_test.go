package history_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
)

func TestSuggestionsAreValidTermsOfEveryKey(t *testing.T) {
	terms := history.Suggestions()
	for _, term := range terms {
		if !strings.HasSuffix(term, ":") {
			_, err := history.Parse(term)
			assert.NoError(t, err)
		}
	}
	for _, key := range history.Keys {
		assert.Contains(t, strings.Join(terms, " "), key.Key+":")
	}
}

func TestAnInvalidQueryIsCorrectedIfItsMeaningIsClear(t *testing.T) {
	for query, want := range map[string]string{
		"has:skip":             "has:skipped",
		"ada -has:skiped":      "ada -has:skipped",
		"stat:4xx":             "status:4xx",
		"OP:TRIGER":            "",
		"delivery:unknwon":     "delivery:unknown",
		`op:"trigger events"`:  `op:"trigger event"`,
		"op:nonsense":          "",
		"has:":                 "",
		`subject:"never ended`: `subject:"never ended"`,
		"has:skipped":          "has:skipped",
	} {
		assert.Equal(t, want, history.Corrected(query), query)
	}
}
