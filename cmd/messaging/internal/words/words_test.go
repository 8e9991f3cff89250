package words_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

func TestWordsAreThoseOfPeople(t *testing.T) {
	assert.Equal(t, "1 customer", words.Count(1, "customer"))
	assert.Equal(t, "12,345 customers", words.Count(12345, "customer"))
	assert.Equal(t, "2 entries", words.Count(2, "entry"))
	assert.Equal(t, "999", words.Thousands(999))
	assert.Equal(t, "1,000,000", words.Thousands(1_000_000))
	assert.Equal(t, "events", words.List([]string{"events"}, "or"))
	assert.Equal(t, "customers, events or messages", words.List([]string{"customers", "events", "messages"}, "or"))
	assert.Equal(t, "–", words.Time(time.Time{}))
}
