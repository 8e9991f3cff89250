package sandbox

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOperationsAreFoundByAPartOfTheirName(t *testing.T) {
	for part, want := range map[string]string{"": "", "trigger": "trigger event", "PUSH": "send push broadcast",
		"list events": "list events"} {
		found, err := findOp(part)
		require.NoError(t, err)
		assert.Equal(t, want, found)
	}
	_, err := findOp("event")
	assert.EqualError(t, err, `op: "event" is part of several operations: create event, trigger event, list events`)
	_, err = findOp("delete")
	assert.ErrorContains(t, err, `op: unknown operation "delete"; must be empty or part of one of send email broadcast, `)
}
