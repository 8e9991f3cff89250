package postgres

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTheChannelIsThatOfTheSchemaAndNotTooLong(t *testing.T) {
	assert.Equal(t, "outbox_shop", channelOf("shop"))
	assert.Equal(t, "outbox_"+strings.Repeat("x", 56), channelOf(strings.Repeat("x", 56)))
	long := channelOf(strings.Repeat("x", 63))
	assert.LessOrEqual(t, len(long), 63)
	assert.NotEqual(t, long, channelOf(strings.Repeat("x", 62)+"y"))
}
