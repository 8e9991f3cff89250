package cli

import (
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/messagingtest"
)

// keyed is an operator with a profile, whose key is in the file key, and with two entries in o.db.
func keyed(t *testing.T) *operator {
	t.Helper()
	t.Parallel()
	o := operatorOf(t, 0)
	require.NoError(t, os.MkdirAll(filepath.Join(o.folder, "config", "messaging"), 0o700))
	o.write("config/messaging/config.toml", fmt.Sprintf("[profiles.live]\nbase_url = %q\nkey_command = [\"sh\", \"-c\", \"%s\"]\n",
		o.service.URL(), "touch asked; cat key"))
	o.write("key", o.service.APIKey())
	o.profiled(0, `import="messaging -p live outbox import --ledger o.db --from orders.csv --key-column order --event"
		$import "order shipped" --confirm "$($import "order shipped" --dry-run)"`)
	return o
}

// profiled runs a line of a shell without the variables of the service, which has to end with an exit code.
func (o *operator) profiled(want int, line string) (text string) {
	o.t.Helper()
	text, code := o.shell("unset MESSAGING_BASE_URL MESSAGING_API_KEY\n" + line)
	require.Equal(o.t, want, code, text)
	return text
}

const runUntilEmpty = "messaging -p live outbox run --ledger o.db --until-empty"

func TestAKeyThatIsRefusedEndsARunAndStatusSaysWhy(t *testing.T) {
	o := keyed(t)
	o.write("key", "a-revoked-key-of-the-tests")
	text := o.profiled(4, runUntilEmpty)
	assert.Contains(t, text, "the service refuses the key, from key_command sh: 401 Unauthorized; correct it there")
	assert.NotContains(t, text, "the key has changed")
	assert.Regexp(t, `"pending":2,.*"denied":"A-[12]: trigger event: .*401 Unauthorized`, o.must("outbox", "status", "--ledger",
		"o.db", "--json"))

	require.NoError(t, os.Remove(filepath.Join(o.folder, "asked")))
	text = o.profiled(0, `(while ! test -e asked; do sleep 0.01; done; sleep 0.1; printf %s `+o.service.APIKey()+" >key) & "+runUntilEmpty)
	assert.Regexp(t, "the key has changed: fingerprint [0-9a-f]{8}, from key_command sh\n", text)
	assert.Contains(t, text, "in this run: 2 accepted")
	assert.Contains(t, o.must("outbox", "status", "--ledger", "o.db", "--json"), `"denied":""`)
}

func TestAKeyThatMayDoNothingEndsARun(t *testing.T) {
	o := keyed(t)
	o.service.Fail("trigger event", math.MaxInt, messagingtest.Status(http.StatusForbidden, `{"success":false}`))
	text := o.profiled(4, runUntilEmpty)
	assert.Contains(t, text, "the service denies what the key may not do: 403 Forbidden for each of 2 pending entries")
	text = o.profiled(0, `import="messaging -p live outbox import --ledger other.db --from orders.csv --key-column order --event"
		$import "order shipped" --confirm "$($import "order shipped" --dry-run)"
		messaging -p live outbox run --ledger other.db 2>said & run=$!
		while ! grep "nothing is sent: the service denies" said && kill -0 $run; do sleep 0.1; done
		kill $run; wait $run`)
	assert.Contains(t, text, "for each of 2 pending entries", "it goes on, and says why")
}
