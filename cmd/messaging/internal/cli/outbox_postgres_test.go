package cli

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/url"
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

func TestAnOutboxInPostgresUnderAnotherNameMayBeACopy(t *testing.T) {
	address, err := url.Parse(ledgertest.Postgres(t))
	require.NoError(t, err)
	t.Setenv(ledger.Variable, address.String())
	o := newOperator(t)
	o.write("orders.csv", "email,order,shipped_at\nada@example.com,A-1,2026-11-20T10:00:00Z\n")
	load := []string{"-p", "sandbox", "outbox", "import", "--from", "orders.csv", "--event", "order shipped"}
	o.must(append(load, "--confirm", strings.TrimSpace(o.must(append(load, "--dry-run")...)))...)

	db, err := sql.Open("pgx", address.String())
	require.NoError(t, err)
	defer db.Close()
	query := address.Query()
	schema := query.Get("search_path")
	rename := func(from, to string) {
		_, err := db.ExecContext(context.Background(), "ALTER SCHEMA "+from+" RENAME TO "+to)
		require.NoError(t, err)
	}
	rename(schema, schema+"_copy")
	defer rename(schema+"_copy", schema)
	query.Set("search_path", schema+"_copy")
	address.RawQuery = query.Encode()
	t.Setenv(ledger.Variable, address.String())
	for _, state := range []string{"state", "elsewhere"} {
		text, code := o.shell("XDG_STATE_HOME=" + filepath.Join(o.folder, state) + " messaging -p sandbox outbox run --until-empty")
		assert.Equal(t, 2, code, text)
		assert.Contains(t, text, "was filled as schema "+schema+" of database ")
		assert.Contains(t, text, "it would send again what was sent already")
	}
	o.must("-p", "sandbox", "outbox", "run", "--until-empty", "--accept-change")
}

// behind replaces the clock of a database, as long as its functions are found first.
const behind = `
	CREATE FUNCTION statement_timestamp() RETURNS timestamptz LANGUAGE sql AS
		$$ SELECT pg_catalog.statement_timestamp() - interval '1 hour' $$;
	CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$ SELECT pg_catalog.clock_timestamp() - interval '1 hour' $$`

func TestEntriesOfADatabaseWhoseClockIsBehindAreOlderThanWhatIsTriggeredLater(t *testing.T) {
	address, err := url.Parse(ledgertest.Postgres(t))
	require.NoError(t, err)
	db, err := sql.Open("pgx", address.String())
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), behind)
	require.NoError(t, errors.Join(err, db.Close()))
	query := address.Query()
	query.Set("search_path", query.Get("search_path")+",pg_catalog")
	address.RawQuery = query.Encode()

	o := newOperator(t)
	t.Setenv(ledger.Variable, address.String())
	o.write("orders.csv", "email,order,shipped_at\nada@example.com,A-1,2026-11-20T10:00:00Z\n")
	confirmed := func(args ...string) {
		t.Helper()
		o.must(append(args, "--confirm", strings.TrimSpace(o.must(append(args, "--dry-run")...)))...)
	}
	confirmed("-p", "sandbox", "outbox", "import", "--from", "orders.csv", "--event", "order shipped", "--key-column", "order")
	o.must("sandbox", "fault", "status", "--status", "422", "--op", "trigger event")
	_, stderr, code := o.run("-p", "sandbox", "outbox", "run", "--until-empty")
	require.Equal(t, 7, code, stderr)
	o.must("-p", "sandbox", "outbox", "resend", "A-1", "--dry-run")
	_, stderr, _ = o.run("-p", "sandbox", "outbox", "resend", "A-1", "--dry-run")
	assert.NotContains(t, stderr, "matches one", "its own import is not a later one")

	confirmed("-p", "sandbox", "event", "trigger", "order shipped", "--email", "ada@example.com", "-f", "order=A-1",
		"-f", "shipped_at=2026-11-20T10:00:00Z", "--again")
	_, stderr, _ = o.run("-p", "sandbox", "outbox", "resend", "A-1", "--dry-run")
	assert.Contains(t, stderr, "matches one already triggered by hand")
}
