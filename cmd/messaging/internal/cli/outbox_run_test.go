package cli

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/outbox"
)

func TestAnOutboxIsForOneStartOfASandboxUnlessItsStartsHaveOneName(t *testing.T) {
	o := &operator{t: t, folder: t.TempDir()}
	o.write("orders.csv", "email,order,amount\nada@example.com,A-1,1\n")
	port := "0"
	for i, name := range []string{"shop", "other", "shop"} {
		ctx, cancel := context.WithCancel(t.Context())
		var err error
		o.sandbox, err = startSandbox(ctx, "--seed", "demo", "--start-id", name, "--api-port", port)
		require.NoError(t, err)
		port = o.sandbox.variables["MESSAGING_BASE_URL"][len("http://127.0.0.1:"):]
		run := []string{"-p", "sandbox", "outbox", "run", "--ledger", "o.db", "--until-empty"}
		switch i {
		case 0:
			o.confirmed("-p", "sandbox", "outbox", "import", "--ledger", "o.db", "--from", "orders.csv", "--event", "order refunded")
			b, err := (&ledgerFlag{path: filepath.Join(o.folder, "o.db")}).open(ctx)
			require.NoError(t, err)
			require.NoError(t, errors.Join(b.Pause(ctx, messaging.OpSendEmailBroadcast), b.ledger.Close()))
		case 1:
			assert.Contains(t, o.ends(2, run...), "the sandbox was started again, and remembers nothing")
		case 2:
			assert.NotContains(t, o.ends(0, run...), "paused", "what another program has paused is no trigger")
			assert.Contains(t, o.get("/api/triggers"), "ada@example.com")
		}
		cancel()
		<-o.sandbox.ended
	}
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
