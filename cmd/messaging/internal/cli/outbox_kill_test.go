package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	mathrand "math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/ledger"
	"github.com/messaging-go/messaging/messagingtest"
)

// processFor is the program as a process of its own, for a service.
func processFor(t *testing.T, service *messagingtest.Server, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "messaging", args...)
	cmd.Env = append(os.Environ(), "MESSAGING_BASE_URL="+service.URL(), "MESSAGING_API_KEY="+service.APIKey())
	return cmd
}

// runProgram runs the program and returns what it prints.
func runProgram(t *testing.T, service *messagingtest.Server, args ...string) string {
	t.Helper()
	cmd := processFor(t, service, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s", stderr.String())
	return string(out)
}

// killWhen runs the program and kills it when a condition holds. It reports whether the
// program ended by itself before.
func killWhen(t *testing.T, service *messagingtest.Server, condition func() bool, args ...string) (ended bool) {
	t.Helper()
	cmd := processFor(t, service, args...)
	require.NoError(t, cmd.Start())
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-exited:
			return true
		case <-ticker.C:
			if condition() {
				_ = cmd.Process.Kill()
				return <-exited == nil
			}
		}
	}
}

// sizeOf is the size of a file, or 0 if there is none.
func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// demoService is a service with an event, and with the time that a trigger takes.
func demoService(t *testing.T, takes time.Duration) *messagingtest.Server {
	t.Helper()
	service := messagingtest.NewServer(t)
	parameters := []messaging.EventParameter{{Name: "order", Type: messaging.ParameterText, Required: true},
		{Name: "shipped_at", Type: messaging.ParameterTimestamp, Required: true}, {Name: "parcels", Type: messaging.ParameterNumeric}}
	service.AddEvents(messaging.Event{ID: "5eed0000-0000-4000-8000-000000000001", Name: "order shipped", Parameters: parameters})
	service.Fail("trigger event", math.MaxInt, messagingtest.Slow(takes))
	return service
}

func TestAKilledImportAndAKilledRunGoOnAndTriggerNoRowTwice(t *testing.T) {
	const rows = 3000
	service := demoService(t, 5*time.Millisecond)
	folder := t.TempDir()
	file, db := filepath.Join(folder, "orders.csv"), filepath.Join(folder, "orders.db")
	var content strings.Builder
	content.WriteString("email,order,shipped_at\n")
	for i := range rows {
		fmt.Fprintf(&content, "c%d@example.com,A-%d,2026-11-20T10:00:00Z\n", i, i)
	}
	require.NoError(t, os.WriteFile(file, []byte(content.String()), 0o600))

	imported := []string{"outbox", "import", "--ledger", db, "--from", file, "--event", "order shipped", "--max-recipients", "3000"}
	digest := strings.TrimSpace(runProgram(t, service, append(imported, "--dry-run")...))
	imported = append(imported, "--confirm", digest)
	kills := 0
	for _, written := range []int64{0, 1, 500_000} { // a thousand rows are about 600 KB
		if killWhen(t, service, func() bool { return sizeOf(db)+sizeOf(db+"-wal") >= written }, imported...) {
			break // it was faster than this test
		}
		kills++
	}
	assert.Positive(t, kills, "the import was never killed")
	runProgram(t, service, imported...)

	kills = 0
	for ; len(service.Triggers()) < rows/2; kills++ { // the last ones would wait until the claims of killed runs end
		until := len(service.Triggers()) + 1 + mathrand.IntN(300)
		if killWhen(t, service, func() bool { return len(service.Triggers()) >= until },
			"outbox", "run", "--ledger", db, "--until-empty") {
			break
		}
	}
	assert.Greater(t, kills, 1, "it was never killed in the middle")

	triggered := map[string]int{}
	for _, trigger := range service.Triggers() {
		triggered[trigger.Params.Email]++
		assert.Equal(t, 1, triggered[trigger.Params.Email], "%s was triggered twice", trigger.Params.Email)
	}
	var counts map[string]any
	require.NoError(t, json.Unmarshal([]byte(runProgram(t, service, "outbox", "status", "--ledger", db, "--json")), &counts))
	accepted, open := int(counts["accepted"].(float64)), int(counts["unclear"].(float64)+counts["sending"].(float64))
	assert.Equal(t, rows, accepted+open+int(counts["pending"].(float64)))
	assert.LessOrEqual(t, accepted, len(triggered))
	assert.LessOrEqual(t, len(triggered), accepted+open)
	t.Logf("%d accepted, %d unclear or still claimed, %d triggered", accepted, open, len(triggered))
}

// postgresSchema returns the URL of a new schema on the Postgres server for tests. Without a
// server, it skips the test.
func postgresSchema(t *testing.T) string {
	t.Helper()
	server, err := url.Parse(cmp.Or(os.Getenv("MESSAGING_TEST_POSTGRES"), "postgres://postgres@127.0.0.1:5432/postgres?sslmode=disable"))
	require.NoError(t, err)
	db, err := sql.Open("pgx", server.String())
	require.NoError(t, err)
	schema := "command_test_" + strings.ToLower(rand.Text())
	if _, err := db.ExecContext(t.Context(), "CREATE SCHEMA "+schema); err != nil {
		require.Empty(t, os.Getenv("CI"), "no Postgres server for the tests: %v", err)
		t.Skipf("no Postgres server for the tests: %v", err)
	}
	t.Cleanup(func() {
		_, err := db.ExecContext(context.Background(), "DROP SCHEMA "+schema+" CASCADE")
		assert.NoError(t, errors.Join(err, db.Close()))
	})
	query := server.Query()
	query.Set("search_path", schema)
	server.RawQuery = query.Encode()
	return server.String()
}

func TestOutboxInPostgresIsFilledAndSentOnce(t *testing.T) {
	t.Setenv(ledger.Variable, postgresSchema(t))
	service := demoService(t, time.Millisecond)
	file := filepath.Join(t.TempDir(), "orders.csv")
	require.NoError(t, os.WriteFile(file, []byte("email,order,shipped_at\n"+
		"ada@example.com,A-1,2026-11-20T10:00:00Z\ngrace@example.com,A-2,2026-11-20T10:00:00Z\n"), 0o600))
	command := []string{"outbox", "import", "--from", file, "--event", "order shipped", "--key-column", "order"}
	var exited *exec.ExitError
	require.ErrorAs(t, processFor(t, service, "outbox", "status").Run(), &exited)
	assert.Equal(t, 2, exited.ExitCode(), "there is no outbox yet")
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
	require.ErrorAs(t, processFor(t, other, "outbox", "run", "--until-empty").Run(), &exited)
	assert.Equal(t, 2, exited.ExitCode())
}
