package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/outbox"
)

func TestARestartedSandboxRemembersNothingUnlessItsStartsHaveOneName(t *testing.T) {
	o := &operator{t: t, folder: t.TempDir()}
	o.write("two.csv", "email\nada@example.com\ngrace@example.com\n")
	o.write("orders.csv", "email,order,amount\nada@example.com,A-1,1\n")
	var confirmed []string
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
			confirmed = o.digested(sale...)
			o.must(confirmed...)
		case 1:
			assert.Contains(t, o.ends(2, run...), "the sandbox was started again, and remembers nothing")
			o.ends(2, confirmed...) // a digest belongs to one start
			o.confirmed(sale...)
			// The variables of a sandbox are the same service as its profile, but no profile.
			line := fmt.Sprintf("export MESSAGING_BASE_URL=http://127.0.0.1:%s MESSAGING_API_KEY=%s", port,
				o.sandbox.variables["MESSAGING_API_KEY"]) +
				"; send=\"messaging " + strings.Join(sale[2:], " ") + "\"; $send --confirm \"$($send --dry-run)\""
			for i, want := range []int{0, 2} {
				text, code := o.shell(line)
				assert.Equal(t, want, code, "%d: %s", i, text)
			}
		case 2:
			assert.NotContains(t, o.ends(0, run...), "paused", "what another program has paused is no trigger")
			assert.Contains(t, o.get("/api/triggers"), "ada@example.com")
			assert.Contains(t, o.ends(2, o.digested(sale...)...), "exactly this was sent")
		}
		stream, err := http.Get(o.sandbox.variables["MESSAGING_SANDBOX_URL"] + "/api/stream")
		require.NoError(t, err)
		cancel()
		assert.Equal(t, 0, <-o.sandbox.ended, "although a stream is open")
		require.NoError(t, stream.Body.Close())
	}
	require.Len(t, o.sends(), 3)
	content, err := os.ReadFile(filepath.Join(o.folder, "state", "messaging", "sends.jsonl"))
	require.NoError(t, err)
	assert.Regexp(t, `"service":"127.0.0.1:\d+#other"`, string(content), "the start is part of the service")
	assert.NotContains(t, string(content), "@")
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
