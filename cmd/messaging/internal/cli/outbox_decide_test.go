package cli

import (
	"io"
	"path/filepath"
	"strconv"
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

// dismissing returns a command that dismisses the pending entries, and what it has selected.
func dismissing(t *testing.T, b *box) (*decision, *selection) {
	t.Helper()
	printer := output.New(output.Flags{Quiet: true}, io.Discard, io.Discard, func(string) (string, bool) { return "", false })
	d := &decision{ledgerFlag: &ledgerFlag{settings: &settings{printer: printer}},
		decide: (*box).Dismiss}
	s := &selection{box: b, states: []outbox.State{outbox.Pending}, filter: outbox.Filter{State: outbox.Pending}}
	require.NoError(t, s.look(t.Context()))
	return d, s
}

func TestADecisionChangesOnlyTheEntriesThatWereShown(t *testing.T) {
	keys := []string{"b"}
	for i := range 2*selectedBatch + 1 {
		keys = append(keys, strconv.Itoa(i))
	}
	b := boxOf(t, keys...)
	d, shown := dismissing(t, b)
	enqueue(t, b, "late")
	_, err := b.Dismiss(t.Context(), "b")
	require.NoError(t, err)
	err = d.carryOut(t.Context(), shown)
	assert.Equal(t, exit.PartlyDone, exit.CodeOf(err))
	assert.ErrorContains(t, err, "1 entry skipped")
	counts, err := b.Counts(t.Context())
	require.NoError(t, err)
	assert.Equal(t, len(keys), counts.Dismissed, "every batch")
	assert.Equal(t, 1, counts.Pending, "nobody has confirmed the late one")
}
