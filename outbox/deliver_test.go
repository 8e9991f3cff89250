package outbox_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/outbox"
)

func TestEachEntryIsSentOnceHoweverManyRunAndDeliver(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		service, o := db.start(t, outbox.WithInFlight(3))
		other := db.new(t, service.client(t), outbox.Fast())
		keys := keysOf(50)
		enqueue(t, o, keys...)
		var group sync.WaitGroup
		for _, o := range []box{o, o, other, other} {
			group.Go(func() {
				_, err := o.Deliver(t.Context(), slices.Concat(keys, keys)...)
				assert.NoError(t, err)
			})
		}
		run(t, o)
		run(t, other)
		group.Wait()
		eventuallyAccepted(t, o, len(keys))
		assert.Equal(t, outbox.Delivered{Accepted: len(keys)}, deliver(t, o, keys...))
		service.carriedOutOnce(t, keys...)
	})
}

func TestDeliverSaysWhatBecameOfEachKey(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, db *database) {
		service, o := db.start(t)
		service.respondTo(map[string]response{"rejected": reject, "lost": lose, "no connection": disconnect})
		enqueue(t, o, "accepted", "rejected", "lost", "claimed", "no connection")
		add(t, o, outbox.Item{Key: "future", NotBefore: time.Now().Add(time.Hour)})
		db.claim(t, "claimed")
		delivered := deliver(t, o, "accepted", "rejected", "lost", "claimed", "future", "unknown")
		assert.Equal(t, outbox.Delivered{Accepted: 1, Rejected: 1, Unclear: 1, Busy: []string{"claimed"}, Later: []string{"future"},
			Unknown: []string{"unknown"}, More: true, RetryAfter: 500 * time.Millisecond}, delivered)
		delivered = deliver(t, o, "future")
		assert.InDelta(t, time.Hour, delivered.RetryAfter, float64(10*time.Minute))
		fresh := db.new(t, service.client(t), outbox.Fast())
		delivered = deliver(t, fresh, "no connection")
		assert.Equal(t, []string{"no connection"}, delivered.Later)
		assert.Less(t, delivered.RetryAfter, time.Minute)
	})
}

func TestDeliverIgnoresTheContextOnceAnEntryIsClaimed(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, db *database) {
		service, o := db.start(t, outbox.WithInFlight(1))
		ctx, cancel := context.WithCancel(t.Context())
		service.always(acceptAfter(cancel))
		enqueue(t, o, "a", "b")
		delivered, err := o.Deliver(ctx, "a", "b")
		require.NoError(t, err)
		require.Len(t, delivered.Later, 1)
		later := delivered.Later[0] // a database claims them in any order
		assert.Equal(t, outbox.Delivered{Accepted: 1, Later: []string{later}, More: true}, delivered)
		_, err = o.Deliver(ctx, later)
		require.EqualError(t, err, "outbox: deliver: context canceled")
		assert.Equal(t, 1, service.requests())
	})
}

func TestListLeavesTheDatabaseFreeWhileTheLoopWorks(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, db *database) {
		service, o := db.start(t)
		service.always(reject)
		keys := keysOf(6)
		enqueue(t, o, keys...)
		deliver(t, o, keys...)
		for entry, err := range o.List(t.Context(), outbox.Filter{State: outbox.Rejected}) {
			require.NoError(t, err)
			assert.Equal(t, 1, changed(resend(t, o, entry.Key)))
		}
		assert.Equal(t, keys, listed(t, o, outbox.Filter{State: outbox.Pending}))
		assert.Empty(t, listed(t, o, outbox.Filter{State: outbox.Rejected}))

		assert.Equal(t, keys[2:4], listed(t, o, outbox.Filter{After: entryOf(t, o, keys[1]).ID, Limit: 2}))
		for _, invalid := range []outbox.Filter{{State: "other"}, {Limit: -1}, {After: -1}} {
			for _, err := range o.List(t.Context(), invalid) {
				require.ErrorContains(t, err, "outbox: list entries: ")
			}
		}
	})
}
