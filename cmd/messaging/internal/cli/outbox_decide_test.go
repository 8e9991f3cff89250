package cli

import (
	"context"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/ledger"
	"github.com/messaging-go/messaging/outbox"
)

// boxOf returns an outbox with pending entries.
func boxOf(t *testing.T, keys ...string) *box {
	t.Helper()
	address, err := ledger.Find(filepath.Join(t.TempDir(), "orders.db"), func(string) (string, bool) { return "", false })
	require.NoError(t, err)
	opened, err := address.Create(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, opened.Close()) })
	b, err := newBox(t.Context(), opened)
	require.NoError(t, err)
	enqueue(t, b, keys...)
	return b
}

func enqueue(t *testing.T, b *box, keys ...string) {
	t.Helper()
	prepared, err := messaging.EventTriggerParams{EventID: "e-1", Email: "ada@example.com"}.Prepare()
	require.NoError(t, err)
	for _, key := range keys {
		_, err := b.Enqueue(t.Context(), key, prepared)
		require.NoError(t, err)
	}
}

func pendingOf(t *testing.T, b *box) selected {
	t.Helper()
	s, err := selectMatching(t.Context(), b, outbox.Filter{State: outbox.Pending})
	require.NoError(t, err)
	return s
}

func stateOf(t *testing.T, b *box, key string) outbox.State {
	t.Helper()
	e, err := b.Get(t.Context(), key)
	require.NoError(t, err)
	return e.State
}

func dismiss(ctx context.Context, b *box, keys ...string) ([]outbox.Decision, error) {
	return b.Dismiss(ctx, keys...)
}

func TestDecisionChangesOnlyTheEntriesThatWereShown(t *testing.T) {
	b := boxOf(t, "a", "b", "c")
	shown := pendingOf(t, b)
	enqueue(t, b, "late")
	_, err := b.Dismiss(t.Context(), "b")
	require.NoError(t, err)
	d := &decision{decide: dismiss}
	done, err := d.decideSelected(t.Context(), b, shown)
	require.NoError(t, err)
	assert.Equal(t, outbox.Decided{Changed: 2, Skipped: 1}, done)
	assert.Equal(t, outbox.Dismissed, stateOf(t, b, "c"))
	assert.Equal(t, outbox.Pending, stateOf(t, b, "late"), "nobody has confirmed it")
}

func TestDecisionGoesThroughEveryBatch(t *testing.T) {
	var keys []string
	for i := range 2*selectedBatch + 1 {
		keys = append(keys, strconv.Itoa(i))
	}
	b := boxOf(t, keys...)
	done, err := (&decision{decide: dismiss}).decideSelected(t.Context(), b, pendingOf(t, b))
	require.NoError(t, err)
	assert.Equal(t, outbox.Decided{Changed: len(keys)}, done)
}

func TestDigestOfADecisionIsThatOfTheEntriesAndNotOfTheirNumber(t *testing.T) {
	b := boxOf(t, "a", "b", "c")
	before := pendingOf(t, b)
	assert.Equal(t, before.digest(), pendingOf(t, b).digest())
	_, err := b.Dismiss(t.Context(), "b")
	require.NoError(t, err)
	enqueue(t, b, "d")
	after := pendingOf(t, b)
	assert.Equal(t, before.Count, after.Count)
	assert.Greater(t, after.Largest, before.Largest)
	assert.NotEqual(t, before.digest(), after.digest())

	other := after
	other.Largest++
	assert.NotEqual(t, after.digest(), other.digest(), "the largest id is not part of it")
}

func TestKeysThatAreRepeatedCountOnce(t *testing.T) {
	keys, err := keysOf(&cobra.Command{}, []string{"b", "a", "b"})
	require.NoError(t, err)
	assert.Equal(t, []string{"b", "a"}, keys)
}
