package outbox_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/outbox"
)

func TestPresentComparesItemsWithTheEntriesAndWritesNothing(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		o := db.new(t, newService().client(t), outbox.WithSealer(reversed{func() error { return errors.New("nothing is opened") }}))
		enqueue(t, o, "present", "dismissed", "conflict")
		dismiss(t, o, "dismissed")
		before := listAll(t, o)
		items := itemsOf(t, "absent", "present", "dismissed", "conflict", "absent")
		items[3].Prepared = request(t, "another")
		found, err := o.Present(t.Context(), items...)
		require.NoError(t, err)
		assert.Equal(t, []outbox.Presence{outbox.Absent, outbox.Present, outbox.Present, outbox.Conflict, outbox.Absent}, found)
		assert.Equal(t, before, listAll(t, o))

		_, err = o.Present(t.Context(), items[0], outbox.Item{Key: "no request"})
		require.EqualError(t, err, `outbox: look for entry "no request": Prepared must not be nil; use a Prepare method`)
		none, err := o.Present(t.Context())
		require.NoError(t, err)
		assert.Empty(t, none)
	})
}

func TestAPriorityIsAWord(t *testing.T) {
	all := []outbox.Priority{outbox.Low, outbox.Normal, outbox.High}
	text, err := json.Marshal(all)
	require.NoError(t, err)
	assert.JSONEq(t, `["low", "normal", "high"]`, string(text))
	var read []outbox.Priority
	require.NoError(t, json.Unmarshal(text, &read))
	assert.Equal(t, all, read)
	assert.Zero(t, outbox.Normal)
	require.EqualError(t, new(outbox.Priority).UnmarshalText([]byte("urgent")),
		`outbox: unknown priority "urgent"; the priorities are ["high" "normal" "low"]`)
	_, err = outbox.Priority(7).MarshalText()
	require.EqualError(t, err, "outbox: unknown priority 7")
	assert.Equal(t, "high unknown priority -3", fmt.Sprint(outbox.High, " ", outbox.Priority(-3)))
}
