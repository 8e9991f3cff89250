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
