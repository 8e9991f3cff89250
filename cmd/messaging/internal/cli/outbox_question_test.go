package cli

import (
	"context"
	"errors"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/outbox"
)

// runOutbox sends what is in the outbox of a test.
var runOutbox = []string{"-p", "sandbox", "outbox", "run", "--ledger", "o.db", "--until-empty"}

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
