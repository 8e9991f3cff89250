package cli

import (
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
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/ledger"
	"github.com/messaging-go/messaging/messagingtest"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/sqlitefile"
)

// killWhen runs the program and kills it when a condition holds. It reports whether the
// program ended by itself before.
func (o *operator) killWhen(condition func() bool, args ...string) (ended bool) {
	cmd := o.command(args...)
	require.NoError(o.t, cmd.Start())
	ctx, stop := context.WithCancel(o.t.Context())
	defer stop()
	go func() {
		for ctx.Err() == nil && !condition() {
			time.Sleep(time.Millisecond)
		}
		_ = cmd.Process.Kill() // it may have ended
	}()
	_ = cmd.Wait() // it may be killed
	return cmd.ProcessState.Exited()
}

// sizeOf is the size of a file, or 0 if there is none.
func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// operatorOf is an operator with orders, and of a service with an event, and with the time that a trigger takes.
func operatorOf(t *testing.T, takes time.Duration) *operator {
	t.Helper()
	service := messagingtest.NewServer(t)
	parameters := []messaging.EventParameter{{Name: "order", Type: messaging.ParameterText, Required: true}}
	service.AddEvents(messaging.Event{ID: "5eed0000-0000-4000-8000-000000000001", Name: "order shipped", Parameters: parameters})
	if takes > 0 {
		service.Fail("trigger event", math.MaxInt, messagingtest.Slow(takes))
	}
	o := &operator{t: t, folder: t.TempDir(), service: service}
	o.write("orders.csv", "email,order\nada@example.com,A-1\ngrace@example.com,A-2\n")
	return o
}

func TestAKilledImportAndAKilledRunGoOnAndTriggerNoRowTwice(t *testing.T) {
	t.Parallel()
	const rows = 3000
	o := operatorOf(t, 5*time.Millisecond)
	db := filepath.Join(o.folder, "orders.db")
	var content strings.Builder
	content.WriteString("email,order\n")
	for i := range rows {
		fmt.Fprintf(&content, "c%d@example.com,A-%d\n", i, i)
	}
	o.write("orders.csv", content.String())

	imported := []string{"outbox", "import", "--ledger", db, "--from", "orders.csv", "--event", "order shipped", "--max-recipients", "3000"}
	imported = o.digested(imported...)
	kills := 0
	for _, written := range []int64{0, 1, 400_000} { // a thousand rows are about 500 KB
		if o.killWhen(func() bool { return sizeOf(db)+sizeOf(db+"-wal") >= written }, imported...) {
			break // it was faster than this test
		}
		kills++
	}
	assert.Positive(t, kills, "the import was never killed")
	o.must(imported...)

	kills = 0
	for ; len(o.service.Triggers()) < rows/2; kills++ { // the last ones would wait until the claims of killed runs end
		until := len(o.service.Triggers()) + 1 + mathrand.IntN(300)
		if o.killWhen(func() bool { return len(o.service.Triggers()) >= until }, "outbox", "run", "--ledger", db, "--until-empty") {
			break
		}
	}
	assert.Greater(t, kills, 1, "it was never killed in the middle")

	triggered := map[string]int{}
	for _, trigger := range o.service.Triggers() {
		triggered[trigger.Params.Email]++
		assert.Equal(t, 1, triggered[trigger.Params.Email], "%s was triggered twice", trigger.Params.Email)
	}
	var counts status
	require.NoError(t, json.Unmarshal([]byte(o.must("outbox", "status", "--ledger", db, "--json")), &counts))
	open := counts.Unclear + counts.Sending
	assert.Equal(t, rows, counts.Accepted+open+counts.Pending)
	assert.LessOrEqual(t, counts.Accepted, len(triggered))
	assert.LessOrEqual(t, len(triggered), counts.Accepted+open)
	t.Logf("%+v, %d triggered", counts, len(triggered))
}

func TestAClosedTerminalEndsARunAsSIGTERMDoesUnlessItIsIgnored(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no SIGHUP to send")
	}
	handled := make(chan os.Signal, 1)
	signal.Notify(handled, syscall.SIGHUP) // so that the program does not inherit that it is ignored, as under nohup
	defer signal.Stop(handled)
	for line, want := range map[string]string{
		"exec messaging outbox run --ledger orders.db":                            `"unclear":0`,
		"trap '' HUP; exec messaging outbox run --ledger orders.db --until-empty": `"accepted":30,`,
	} {
		o := operatorOf(t, 300*time.Millisecond)
		content := "email,order\n"
		for i := range 30 {
			content += fmt.Sprintf("c%d@example.com,A-%d\n", i, i)
		}
		o.write("orders.csv", content)
		o.confirmed("outbox", "import", "--ledger", "orders.db", "--from", "orders.csv", "--event", "order shipped")
		cmd := exec.Command("sh", "-c", line+" --in-flight 8")
		cmd.Dir, cmd.Env = o.folder, append(os.Environ(), o.env()...)
		require.NoError(t, cmd.Start())
		require.Eventually(t, func() bool { return len(o.service.Triggers()) > 0 }, patience, time.Millisecond)
		require.NoError(t, cmd.Process.Signal(syscall.SIGHUP))
		require.NoError(t, cmd.Process.Signal(syscall.SIGHUP), "the shell and the system both send one")
		require.NoError(t, cmd.Wait(), line)
		counts := o.must("outbox", "status", "--ledger", "orders.db", "--json")
		assert.Contains(t, counts, want)
		assert.Contains(t, counts, `"sending":0`)
	}
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
	server.RawQuery += "&search_path=" + schema
	return server.String()
}

func TestOutboxInPostgresIsFilledAndSentOnce(t *testing.T) {
	t.Setenv(ledger.Variable, postgresSchema(t))
	o := operatorOf(t, time.Millisecond)
	assert.Contains(t, o.ends(2, "outbox", "status"), "there is no outbox in the database of "+ledger.Variable)
	for range 2 {
		o.confirmed("outbox", "import", "--from", "orders.csv", "--event", "order shipped", "--key-column", "order")
	}
	o.must("outbox", "run", "--until-empty")
	o.must("outbox", "run", "--until-empty")
	assert.Len(t, o.service.Triggers(), 2)
	assert.Contains(t, o.must("outbox", "status", "--json"), `"accepted":2,`)
	assert.Contains(t, o.must("outbox", "list"), "A-2")

	o.service = messagingtest.NewServer(t)
	o.ends(2, "outbox", "run", "--until-empty") // it is for another service
}

// orders is an operator with an outbox that has an entry, and its database.
func orders(t *testing.T) (*operator, *sql.DB) {
	t.Helper()
	o := operatorOf(t, time.Millisecond)
	o.write("orders.csv", "email,order\nada@example.com,A-1\n")
	o.confirmed("outbox", "import", "--ledger", "o.db", "--from", "orders.csv", "--event", "order shipped", "--key-column", "order")
	db, err := sql.Open("sqlite", "file:"+filepath.Join(o.folder, "o.db"))
	require.NoError(t, err)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	return o, db
}

func TestAQuarantineMakesNothingPendingNotEvenForAMoment(t *testing.T) {
	o, db := orders(t)
	_, err := db.ExecContext(t.Context(), `UPDATE outbox_entry SET state = 3;
		CREATE TRIGGER pending BEFORE UPDATE ON outbox_entry WHEN NEW.state = 0
		BEGIN SELECT RAISE(ABORT, 'an entry becomes pending'); END`)
	require.NoError(t, err)
	o.must("outbox", "quarantine", "--ledger", "o.db")
	assert.Contains(t, o.must("outbox", "status", "--ledger", "o.db", "--json"), `"unclear":1,`)
}

func TestADryRunOfAnImportAndTheListsOnlyRead(t *testing.T) {
	o, db := orders(t)
	_, err := db.ExecContext(t.Context(), `BEGIN IMMEDIATE`) // a writer, which nobody waits for
	require.NoError(t, err)
	o.write("orders.csv", "email,order\nada@example.com,A-1\ngrace@example.com,A-2\n")
	o.must("outbox", "import", "--ledger", "o.db", "--from", "orders.csv", "--event", "order shipped", "--key-column", "order", "--dry-run")
	for _, line := range []string{"status", "list", "show A-1"} {
		o.must(append([]string{"outbox", "--ledger", "o.db"}, strings.Fields(line)...)...)
	}
}

func TestWhatIsResentOfAnotherProgramIsLeftToIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	store, err := sqlitefile.Open(t.Context(), path)
	require.NoError(t, err)
	client, err := messaging.NewClient("https://127.0.0.1", "not-a-real-key")
	require.NoError(t, err)
	shop, err := outbox.New(store, client)
	require.NoError(t, err)
	sale, err := messaging.PushBroadcastParams{Subject: "Sale", Message: "Today", To: messaging.AllCustomers()}.Prepare()
	require.NoError(t, err)
	_, err = shop.Enqueue(t.Context(), outbox.Item{Key: "sale", Prepared: sale})
	require.NoError(t, errors.Join(err, store.Close()))
	for _, args := range [][]string{{"quarantine"}, {"resend", "sale", "--expect", "1"}} {
		_, stderr, code := invoke(t, append(append([]string{"outbox"}, args...), "--ledger", path)...)
		require.Equal(t, 0, code, stderr)
		assert.NotContains(t, stderr, "outbox run", "which refuses the outbox")
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
