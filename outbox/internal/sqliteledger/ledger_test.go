package sqliteledger

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

func TestALookForTimedEntriesDoesNotWalkOverThoseThatWaitForNoTime(t *testing.T) {
	l, _ := owned(t)
	looks := []ledger.Look{{Class: ledger.Class{Operation: "op", Timed: true}}}
	took := func() (least time.Duration) {
		least = time.Hour
		for range 20 {
			began := time.Now()
			_, err := l.Due(t.Context(), looks)
			require.NoError(t, err)
			least = min(least, time.Since(began))
		}
		return least
	}
	none := took()
	entries := make([]ledger.NewEntry, 20_000)
	for i := range entries {
		entries[i] = ledger.NewEntry{Key: strconv.Itoa(i), Operation: "op", Digest: []byte("d"), Body: []byte("b"), Urgent: true}
	}
	_, err := l.Insert(t.Context(), entries)
	require.NoError(t, err)
	assert.Less(t, took(), 20*none, "with 20,000 entries that are due")
}
