package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/ledger"
	"github.com/messaging-go/messaging/cmd/messaging/internal/ledger/ledgertest"
	"github.com/messaging-go/messaging/messagingtest"
)

func TestOutboxInPostgresIsFilledAndSentOnce(t *testing.T) {
	t.Setenv(ledger.Variable, ledgertest.Postgres(t))
	service := demoService(t, "trigger event", time.Millisecond)
	file := filepath.Join(t.TempDir(), "orders.csv")
	require.NoError(t, os.WriteFile(file, []byte("email,order,shipped_at\n"+
		"ada@example.com,A-1,2026-11-20T10:00:00Z\ngrace@example.com,A-2,2026-11-20T10:00:00Z\n"), 0o600))
	command := []string{"outbox", "import", "--from", file, "--event", "order shipped", "--key-column", "order"}
	for range 2 {
		digest := strings.TrimSpace(runProgram(t, service, append(command, "--dry-run")...))
		runProgram(t, service, append(command, "--confirm", digest)...)
	}
	runProgram(t, service, "outbox", "run", "--until-empty")
	runProgram(t, service, "outbox", "run", "--until-empty")
	assert.Len(t, service.Triggers(), 2)
	var found map[string]any
	require.NoError(t, json.Unmarshal([]byte(runProgram(t, service, "outbox", "status", "--json")), &found))
	assert.EqualValues(t, 2, found["accepted"])
	assert.Contains(t, runProgram(t, service, "outbox", "list"), "A-2")

	other := messagingtest.NewServer(t)
	var exited *exec.ExitError
	require.ErrorAs(t, processFor(t, other, "outbox", "run", "--until-empty").Run(), &exited)
	assert.Equal(t, 2, exited.ExitCode())
}
