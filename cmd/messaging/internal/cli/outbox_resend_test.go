package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// imported adds the rows of a file to an outbox.
func (o *operator) imported(ledger, file string) {
	o.t.Helper()
	args := []string{"-p", "sandbox", "outbox", "import", "--ledger", ledger, "--from", file,
		"--event", "order shipped", "--key-column", "order"}
	o.must(append(args, "--confirm", strings.TrimSpace(o.must(append(args, "--dry-run")...)))...)
}

func TestAnEntryIsNotSentAgainIfTheSameIsTriggeredWhileTheQuestionWaits(t *testing.T) {
	o := newOperator(t)
	o.write("orders.csv", "email,order,shipped_at\nada@example.com,A-1,2026-11-20T10:00:00Z\n")
	o.imported("o.db", "orders.csv")
	o.must("sandbox", "fault", "status", "--status", "422", "--op", "trigger event")
	_, stderr, code := o.run("-p", "sandbox", "outbox", "run", "--ledger", "o.db", "--until-empty")
	require.Equal(t, 7, code, stderr)
	waiting, err := startSession(o.folder, o.env(), "messaging", "-p", "sandbox", "outbox", "resend", "--ledger", "o.db", "A-1", "--again")
	require.NoError(t, err)
	require.True(t, waiting.expect("[y/N] "))

	byHand := []string{"-p", "sandbox", "event", "trigger", "order shipped", "--email", "ada@example.com", "-f", "order=A-1",
		"-f", "shipped_at=2026-11-20T10:00:00Z", "--again"}
	o.must(append(byHand, "--confirm", strings.TrimSpace(o.must(append(byHand, "--dry-run")...)))...)
	waiting.write("y\n")
	code, err = waiting.wait()
	require.NoError(t, err)
	assert.Equal(t, 2, code, waiting.text())
	assert.Contains(t, waiting.text(), "nothing was changed: 1 trigger matches one already triggered by hand at")
	assert.Contains(t, waiting.text(), "after the plan was shown")
}
