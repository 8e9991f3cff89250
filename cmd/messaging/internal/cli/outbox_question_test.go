package cli

import (
	"context"
	"errors"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/outbox"
)

// asked starts a command on a terminal, which asks.
func (o *operator) asked(args ...string) *session {
	o.t.Helper()
	s := o.started(nil, "messaging", args...)
	require.True(o.t, s.expect("[y/N] "), s.text())
	return s
}

// runOutbox sends what is in the outbox of a test.
var runOutbox = []string{"-p", "sandbox", "outbox", "run", "--ledger", "o.db", "--until-empty"}

func TestAPauseGoesOnIfMoreIsPendingThanWasShown(t *testing.T) {
	o := newOperator(t)
	o.write("more.csv", "email,order,amount\ngrace@example.com,A-2,2\n")
	o.confirmed(refundsOf("orders.csv", "o.db")...)
	o.must("outbox", "pause", "--ledger", "o.db")
	s := o.asked("outbox", "resume", "--ledger", "o.db")
	o.confirmed(refundsOf("more.csv", "o.db")...)
	o.answer(s, "y", 2)
	assert.Contains(t, s.text(), "nothing was resumed: 2 entries are pending now")
	assert.NotContains(t, o.must("outbox", "status", "--ledger", "o.db", "--json"), `"paused":[]`)
}

func TestAnEntryThatWasSentAgainWhileTheQuestionWaitedIsNotResent(t *testing.T) {
	o := newOperator(t)
	o.confirmed(refundsOf("orders.csv", "o.db")...)
	o.must("sandbox", "fault", "answer_lost", "--op", "trigger event", "--count", "2")
	o.ends(9, runOutbox...)
	resend := []string{"-p", "sandbox", "outbox", "resend", "--ledger", "o.db", "--state", "unclear"}
	s := o.asked(resend...)
	o.must(append(resend, "--expect", "1")...)
	o.ends(9, runOutbox...)
	o.answer(s, "y", 7)
	assert.Contains(t, o.must("outbox", "status", "--ledger", "o.db", "--json"), `"unclear":1`)
}

func TestAConflictThatAnotherImportBringsInIsPartlyDone(t *testing.T) {
	o := newOperator(t)
	o.write("orders.csv", "email,order,amount\nada@example.com,A-1,1\ngrace@example.com,A-2,2\n")
	o.write("faster.csv", "email,order,amount\ngrace@example.com,A-2,3\n")
	s := o.asked(refundsOf("orders.csv", "o.db")...)
	o.confirmed(refundsOf("faster.csv", "o.db")...)
	o.answer(s, "y", 7)
	assert.Contains(t, s.text(), "another import has brought it in since the plan was made")
	assert.Contains(t, o.must("outbox", "status", "--ledger", "o.db", "--json"), `"pending":2`, "A-1, and the faster A-2")
}

func TestWhatIsImportedIsWhatWasShownThoughTheFileChanges(t *testing.T) {
	o := newOperator(t)
	t.Setenv("TMPDIR", o.folder)
	s := o.asked(refundsOf("orders.csv", "o.db")...)
	o.write("orders.csv", "email,order,amount\ngrace@example.com,A-1,2\n")
	o.answer(s, "y", 0)
	assert.Contains(t, o.must("outbox", "show", "--ledger", "o.db", "--json=emails", "A-1"), "ada@example.com")
	left, err := filepath.Glob(filepath.Join(o.folder, "messaging-import-*"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

// startedAs is an operator with a sandbox that has a name. The returned function ends it.
func startedAs(t *testing.T, name, port, folder string) (o *operator, stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	sandbox, err := startSandbox(ctx, "--seed", "demo", "--start-id", name, "--api-port", port)
	require.NoError(t, err)
	return &operator{t: t, sandbox: sandbox, folder: folder}, func() { cancel(); <-sandbox.ended }
}

func TestAnOutboxIsForOneStartOfASandboxUnlessItsStartsHaveOneName(t *testing.T) {
	o, stop := startedAs(t, "shop", "0", t.TempDir())
	o.write("orders.csv", "email,order,amount\nada@example.com,A-1,1\n")
	o.confirmed(refundsOf("orders.csv", "o.db")...)
	service, err := url.Parse(o.sandbox.variables["MESSAGING_BASE_URL"])
	require.NoError(t, err)
	stop()

	o, stop = startedAs(t, "other", service.Port(), o.folder)
	assert.Contains(t, o.ends(2, runOutbox...), "the sandbox was started again, and remembers nothing")
	stop()

	o, stop = startedAs(t, "shop", service.Port(), o.folder)
	o.must(runOutbox...)
	assert.Contains(t, o.get("/api/triggers"), "ada@example.com")
	stop()
}

func TestARunThatFailsSaysWhatMayHaveBeenSent(t *testing.T) {
	d := &delivery{runFlags: &runFlags{ledgerFlag: &ledgerFlag{settings: &settings{}, path: "my orders.db"}}, done: map[outbox.State]int{}}
	removed := errors.New("count entries: orders.db was removed")
	assert.Equal(t, removed, d.afterSome(removed), "nothing was sent")
	d.sent, d.done[outbox.Accepted] = 22, 22
	err := d.afterSome(removed)
	assert.Equal(t, exit.PartlyDone, exit.CodeOf(err))
	assert.EqualError(t, err, "in this run: 22 accepted; then: count entries: orders.db was removed")
	ended := make(chan error, 1)
	ended <- errors.New("outbox: run: 1 outcome is not recorded")
	err = d.afterSome(d.wait(ended))
	assert.Equal(t, exit.Unknown, exit.CodeOf(err))
	assert.ErrorContains(t, err, "its entry becomes unclear: messaging outbox list --ledger 'my orders.db' --state unclear")
}
