package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/messaging-go/messaging/outbox/torture/internal/pgserver"
)

// cluster is a Postgres server that this program has started and may crash.
type cluster struct {
	dir, bin, url string
	port          int
	as            *syscall.Credential // nil if this user may run a server
}

// newCluster creates a server in a temporary folder, and starts it.
func newCluster(ctx context.Context) (*cluster, error) {
	c, err := newFolder(0)
	if err != nil {
		return nil, err
	}
	if err := c.do("initdb", "-D", c.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale"); err != nil {
		return nil, err
	}
	return c, c.start(ctx)
}

// newFolder returns a server that has no data yet. If port is 0, a free one is chosen.
func newFolder(port int) (c *cluster, err error) {
	c = &cluster{port: port}
	if c.bin, err = pgserver.Programs(); err != nil {
		return nil, err
	}
	if c.dir, err = os.MkdirTemp("", "outbox-postgres-"); err != nil {
		return nil, err
	}
	if c.as, err = pgserver.User(c.dir); err != nil {
		return nil, err
	}
	if port == 0 {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		c.port = listener.Addr().(*net.TCPAddr).Port
		_ = listener.Close()
	}
	c.url = fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", c.port)
	return c, nil
}

// copy copies a running server with pg_basebackup, and starts the copy.
func (c *cluster) copy(ctx context.Context, port int, options ...string) (*cluster, error) {
	copied, err := newFolder(port)
	if err != nil {
		return nil, err
	}
	args := append([]string{"-D", copied.data(), "-d", c.url, "-c", "fast", "-X", "stream"}, options...)
	if err := copied.do("pg_basebackup", args...); err != nil {
		copied.close()
		return nil, err
	}
	return copied, copied.start(ctx)
}

func (c *cluster) data() string { return filepath.Join(c.dir, "data") }

func (c *cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.bin, name), args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.as}
	cmd.Dir = c.dir
	return cmd
}

// do runs a program of Postgres to its end.
func (c *cluster) do(name string, args ...string) error {
	if out, err := c.command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(out))
	}
	return nil
}

// start starts the server and waits until it accepts connections. After a crash, the
// processes of the last server must end first. A standby has the name "standby".
func (c *cluster) start(ctx context.Context) error {
	options := fmt.Sprintf("-p %d -k %s -c listen_addresses=127.0.0.1 -c max_connections=200 -c cluster_name=standby", c.port, c.dir)
	return until(ctx, patience, "start of Postgres", func() (bool, error) {
		err := c.do("pg_ctl", "-D", c.data(), "-l", filepath.Join(c.dir, "log"), "-o", options, "-w", "start")
		return err == nil, err
	})
}

// first returns the first process of the server.
func (c *cluster) first() (pid int, err error) {
	text, err := os.ReadFile(filepath.Join(c.data(), "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strconv.Atoi(line)
}

// fail kills the first process of the server, as the kernel does when memory runs out,
// starts the server again, and then ends all sessions.
func (c *cluster) fail(ctx context.Context, _ int) error {
	pid, err := c.first()
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return err
	}
	time.Sleep(100 * time.Millisecond)
	_ = os.Remove(filepath.Join(c.data(), "postmaster.pid"))
	if err := c.start(ctx); err != nil {
		return err
	}
	return c.endSessions(ctx)
}

// endSessions ends the sessions of all workers.
func (c *cluster) endSessions(ctx context.Context) error {
	return execute(ctx, c.url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'`)
}

func (c *cluster) close() {
	_ = c.command("pg_ctl", "-D", c.data(), "-m", "immediate", "stop").Run()
	_ = os.RemoveAll(c.dir)
}
