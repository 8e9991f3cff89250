package cli

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/ledger"
	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
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
		_, err := b.Enqueue(t.Context(), outbox.Item{Key: key, Prepared: prepared})
		require.NoError(t, err)
	}
}

func TestADecisionChangesOnlyTheEntriesThatWereShown(t *testing.T) {
	b := boxOf(t, "a", "b", "c")
	printer := output.New(output.Flags{Quiet: true}, io.Discard, io.Discard, func(string) (string, bool) { return "", false })
	d := &decision{ledgerFlag: &ledgerFlag{settings: &settings{printer: printer}}, decide: (*box).Dismiss}
	find := func() ([]chosen, error) { return d.find(t.Context(), b, outbox.Filter{State: outbox.Pending}, nil) }
	shown, err := find()
	require.NoError(t, err)
	enqueue(t, b, "late")
	_, err = b.Dismiss(t.Context(), "b")
	require.NoError(t, err)
	err = d.carryOut(t.Context(), b, shown, find)
	assert.Equal(t, exit.PartlyDone, exit.CodeOf(err))
	assert.ErrorContains(t, err, "1 entry skipped")
	counts, err := b.Counts(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 3, counts.Dismissed)
	assert.Equal(t, 1, counts.Pending, "nobody has confirmed the late one")
}
