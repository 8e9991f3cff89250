package cli

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
)

// deliveryOf returns a run of an outbox with a pending entry, and what it prints.
func deliveryOf(t *testing.T) (*delivery, *bytes.Buffer) {
	t.Helper()
	var text bytes.Buffer
	printer := output.New(output.Flags{}, &text, &text, func(string) (string, bool) { return "", false })
	l := &ledgerFlag{settings: &settings{printer: printer, profile: "shop"}, path: "my orders.db"}
	return &delivery{runFlags: &runFlags{ledgerFlag: l}, outbox: boxOf(t, "a").Outbox}, &text
}

func TestEntriesThatAreAddedAfterTheOutboxWasEmptyAreNoInterruption(t *testing.T) {
	d, text := deliveryOf(t)
	d.untilEmpty = true
	require.NoError(t, d.conclude(t.Context(), false))
	assert.Contains(t, text.String(), "1 pending, which were added after the outbox was empty; to send them, run the same command again")
	ended, end := context.WithCancel(t.Context())
	end()
	err := d.conclude(ended, false)
	assert.Equal(t, exit.Interrupted, exit.CodeOf(err))
	assert.ErrorContains(t, err, "interrupted; nothing was sent")
}

func TestARunThatFailsSaysWhatWasSentBefore(t *testing.T) {
	d, _ := deliveryOf(t)
	removed := errors.New("count entries: orders.db was removed")
	assert.Equal(t, removed, d.afterSome(removed), "nothing was sent")
	d.accepted.Store(22)
	err := d.afterSome(removed)
	assert.Equal(t, exit.PartlyDone, exit.CodeOf(err))
	assert.EqualError(t, err, "in this run: 22 accepted; then: count entries: orders.db was removed")
	unknown := exit.With(exit.Unknown, "an outcome is not recorded")
	assert.Equal(t, unknown, d.afterSome(unknown))
}

func TestARunThatCannotRecordAnOutcomeExitsWithUnknown(t *testing.T) {
	d, _ := deliveryOf(t)
	ended := make(chan error, 1)
	ended <- errors.New("outbox: run: 1 outcome is not recorded")
	err := d.wait(ended)
	assert.Equal(t, exit.Unknown, exit.CodeOf(err))
	assert.ErrorContains(t, err, "1 outcome is not recorded; an outcome may not be recorded, and its entry becomes unclear")
	ended <- nil
	assert.NoError(t, d.wait(ended))
}
