package cli

import (
	"bytes"
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

func TestARunThatEndsWithAnUnclearEntryExitsWithUnknown(t *testing.T) {
	d, text := deliveryOf(t)
	require.NoError(t, d.conclude(t.Context(), false), "it was stopped")
	assert.Equal(t, "nothing was sent in this run; the outbox: 1 pending\n", text.String())
	text.Reset()
	d.accepted.Store(5)
	d.rejected.Store(2)
	d.unclear.Store(1)
	err := d.conclude(t.Context(), false)
	assert.Equal(t, exit.Unknown, exit.CodeOf(err))
	assert.ErrorContains(t, err, "messaging -p shop outbox list --ledger 'my orders.db' --state unclear")
	assert.Contains(t, text.String(), "in this run: 5 accepted, 2 rejected, 1 unclear; the outbox: 1 pending")
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
