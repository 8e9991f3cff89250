package orms_test

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

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
