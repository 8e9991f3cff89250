package orms_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/messagingtest"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/internal/pgtest"
	outboxpostgres "github.com/messaging-go/messaging/outbox/postgres"
)

// behindPgBouncer is the setting of the README.
const behindPgBouncer = "&default_query_exec_mode=exec"

// openBehindPgBouncer opens an outbox whose connections all go through PgBouncer.
func openBehindPgBouncer(t *testing.T, url string, service *messagingtest.Server) (*outbox.Outbox[pgx.Tx], *pgxpool.Pool) {
	pool, err := pgxpool.New(t.Context(), url+behindPgBouncer+"&pool_max_conns=16")
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	require.NoError(t, outboxpostgres.Migrate(t.Context(), pool))
	store, err := outboxpostgres.New(t.Context(), pool)
	require.NoError(t, err)
	return newSendingOutbox(t, store, service), pool
}

func TestPgxWorksBehindPgBouncer(t *testing.T) {
	url := startBouncer(t, pgtest.URL(t))
	service := messagingtest.NewServer(t)
	o, pool := openBehindPgBouncer(t, url, service)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 2)
	for range 2 {
		other, _ := openBehindPgBouncer(t, url, service)
		go func() { ended <- other.Run(ctx) }()
	}
	const n = 100
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			_, err := o.Enqueue(t.Context(), outbox.Item{Key: fmt.Sprint("alone ", i), Prepared: request(t)})
			assert.NoError(t, err)
			assert.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
				_, err := o.EnqueueTx(t.Context(), tx, outbox.Item{Key: fmt.Sprint("with others ", i), Prepared: request(t)})
				return err
			}))
		})
	}
	group.Wait()
	eventually := func(accepted, rejected int) {
		require.Eventually(t, func() bool {
			counts, err := o.Counts(t.Context())
			return assert.NoError(t, err) && counts.Accepted == accepted && counts.Rejected == rejected
		}, 5*time.Minute, 10*time.Millisecond)
	}
	eventually(2*n, 0)
	service.Fail("", 1, messagingtest.Status(http.StatusUnprocessableEntity))
	_, err := o.Enqueue(t.Context(), outbox.Item{Key: "rejected", Prepared: request(t)})
	require.NoError(t, err)
	eventually(2*n, 1)

	require.NoError(t, o.PauseAll(t.Context()))
	decisions, err := o.Resend(t.Context(), "rejected")
	require.NoError(t, err)
	assert.True(t, decisions[0].Changed)
	require.NoError(t, o.ResumeAll(t.Context()))
	eventually(2*n+1, 0)
	stop()
	require.NoError(t, <-ended)
	require.NoError(t, <-ended)
	assert.Len(t, service.PushBroadcasts(), 2*n+1)
}

// bouncerConfig has fewer connections to the server than its clients have to it, so that a
// client gets another one for each transaction.
const bouncerConfig = `[databases]
outbox = host=%s port=%d user=%s%s dbname=%s connect_query='SET search_path TO %s'
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 4
`

// startBouncer starts a PgBouncer in transaction mode for a schema of package pgtest, until the end of
// the test, and returns its URL. If PgBouncer is not installed, the test is skipped.
func startBouncer(t testing.TB, schema string) string {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program, err = exec.LookPath("/usr/sbin/pgbouncer")
	}
	if err != nil {
		t.Skip("PgBouncer is not installed: apt-get install -y pgbouncer")
	}
	config, err := pgx.ParseConfig(schema)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := listener.Addr().(*net.TCPAddr).Port
	_ = listener.Close()
	folder, err := os.MkdirTemp("", "pgbouncer-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	require.NoError(t, os.Chmod(folder, 0o755)) // for the user nobody
	file := filepath.Join(folder, "pgbouncer.ini")
	password := ""
	if config.Password != "" {
		password = " password='" + strings.ReplaceAll(config.Password, "'", "''") + "'"
	}
	content := fmt.Sprintf(bouncerConfig, config.Host, config.Port, config.User, password, config.Database,
		config.RuntimeParams["search_path"], port)
	require.NoError(t, os.WriteFile(file, []byte(content), 0o644))
	args := []string{"-q", file}
	if os.Getuid() == 0 { // which PgBouncer must not run as
		args = []string{"-q", "-u", "nobody", file}
	}
	cmd := exec.Command(program, args...)
	var output bytes.Buffer
	cmd.Stderr = &output
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	address := fmt.Sprintf("127.0.0.1:%d", port)
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
			return fmt.Sprintf("postgres://%s@%s/outbox?sslmode=disable", config.User, address)
		}
		if time.Now().After(deadline) {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			t.Fatalf("PgBouncer does not start: %s", output.String())
		}
	}
}
