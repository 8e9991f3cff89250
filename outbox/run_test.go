package outbox_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/outbox"
)

func TestRunSendsEachEntryOnce(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		service := newService()
		keys := keysOf(50)
		o := db.new(t, service.client(t), outbox.Fast())
		added, present, err := o.EnqueueAll(t.Context(), items(t, keys))
		require.NoError(t, err)
		assert.Equal(t, []int{50, 0}, []int{added, present})
		run(t, o)
		other := db.new(t, service.client(t), outbox.Fast())
		run(t, other)
		eventually(t, func() bool {
			counts, err := o.Counts(t.Context())
			require.NoError(t, err)
			return counts.Accepted == len(keys)
		})
		for _, key := range keys {
			assert.Equal(t, 1, service.carriedOut(key), key)
		}
	})
}
