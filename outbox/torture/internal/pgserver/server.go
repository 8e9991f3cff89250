// Package pgserver starts Postgres servers in temporary folders, alone or with a standby,
// and breaks them.
package pgserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/messaging-go/messaging/outbox/torture/internal/process"
)

// Server is a Postgres server that this process has started.
type Server struct {
	// URL is the URL of its database "postgres".
	URL string

	dir, bin string
	port     int
	as       *syscall.Credential // nil if this user may run a server
	watcher  *exec.Cmd
	input    io.Closer // of the watcher
}

// Start starts a server with the settings of Postgres.
func Start(ctx context.Context) (*Server, error) {
	s, err := newFolder(0)
	if err != nil {
		return nil, err
	}
	if err = s.do("initdb", "-D", s.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale"); err == nil {
		err = s.start(ctx)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// copyTo copies the running server with pg_basebackup, and starts the copy.
func (s *Server) copyTo(ctx context.Context, port int, options ...string) (*Server, error) {
	copied, err := newFolder(port)
	if err != nil {
		return nil, err
	}
	args := append([]string{"-D", copied.data(), "-d", s.URL, "-c", "fast", "-X", "stream"}, options...)
	if err = copied.do("pg_basebackup", args...); err == nil {
		err = copied.start(ctx)
	}
	if err != nil {
		copied.Close()
		return nil, err
	}
	return copied, nil
}

// Dump copies a schema with pg_dump into a new database of the server, and returns the URL of
// the copy.
func (s *Server) Dump(ctx context.Context, schema, name string) (string, error) {
	u, err := url.Parse(schema)
	if err != nil {
		return "", err
	}
	file, into := filepath.Join(s.dir, name), strings.Replace(s.URL, "/postgres?", "/"+name+"?", 1)
	if err := errors.Join(
		s.do("pg_dump", "-n", u.Query().Get("search_path"), "-f", file, s.URL),
		Execute(ctx, s.URL, "CREATE DATABASE "+name)); err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), s.do("psql", "-q", "-v", "ON_ERROR_STOP=1", "-f", file, into)
}

func (s *Server) address() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

// Close stops the server and removes its data.
func (s *Server) Close() {
	_ = s.signal(syscall.SIGCONT)
	_ = s.input.Close()
	_ = s.watcher.Wait()
}

// watch starts a process that stops the server and removes its data when the input of the process
// ends: at Close, or when this process has ended, even if it was killed.
func (s *Server) watch() (err error) {
	s.watcher = s.command("/bin/sh", "-c", `cat
		kill -CONT $(head -n 1 data/postmaster.pid)
		"$0" -D data -m immediate stop
		rm -rf "$PWD"`, filepath.Join(s.bin, "pg_ctl"))
	s.watcher.SysProcAttr.Setsid = true // Ctrl-C is for this process
	if s.input, err = s.watcher.StdinPipe(); err != nil {
		return err
	}
	return s.watcher.Start()
}

// Fail kills the first process of the server, as the kernel does when memory runs out,
// starts the server again, and then ends all sessions.
func (s *Server) Fail(ctx context.Context) error {
	pid, err := s.first()
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return err
	}
	time.Sleep(100 * time.Millisecond)
	_ = os.Remove(filepath.Join(s.data(), "postmaster.pid"))
	if err := s.start(ctx); err != nil {
		return err
	}
	return Execute(ctx, s.URL, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'`)
}

// newFolder returns a server that has no data yet. If port is 0, a free one is chosen.
func newFolder(port int) (s *Server, err error) {
	s = &Server{port: port}
	if s.bin, err = programs(); err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp("", "outbox-postgres-"); err != nil {
		return nil, err
	}
	if s.as, err = owner(s.dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	if err := s.watch(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	if port == 0 {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			s.Close()
			return nil, err
		}
		s.port = listener.Addr().(*net.TCPAddr).Port
		_ = listener.Close()
	}
	s.URL = fmt.Sprintf("postgres://postgres@%s/postgres?sslmode=disable", s.address())
	return s, nil
}

// programs returns the folder of the newest installed server.
func programs() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		path, err = filepath.EvalSymlinks(path) // beside it are the other programs
		return filepath.Dir(path), err
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", errors.New("the programs of Postgres (initdb) were not found")
	}
	return filepath.Dir(slices.Max(found)), nil
}

// owner gives a folder to the user that runs a server in it, and returns that user if it is
// another one: this one may be root, which must not run a server.
func owner(folder string) (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, os.Chown(folder, uid, gid)
	}
	return nil, errors.New("root cannot run Postgres, and there is no user postgres or nobody")
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.as}
	cmd.Dir = s.dir
	return cmd
}

// do runs a program of Postgres to its end.
func (s *Server) do(name string, args ...string) error {
	if out, err := s.command(filepath.Join(s.bin, name), args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(out))
	}
	return nil
}

// start starts the server and waits until it accepts connections. After a crash, the
// processes of the last server must end first. A standby has the name "standby".
func (s *Server) start(ctx context.Context) error {
	options := fmt.Sprintf("-p %d -k %s -c listen_addresses=127.0.0.1 -c max_connections=200 -c cluster_name=standby", s.port, s.dir)
	return process.Until(ctx, "start of Postgres", func() (bool, error) {
		err := s.do("pg_ctl", "-D", s.data(), "-l", filepath.Join(s.dir, "log"), "-o", options, "-w", "start")
		return err == nil, err
	})
}

// first returns the first process of the server.
func (s *Server) first() (pid int, err error) {
	text, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strconv.Atoi(line)
}

// signal sends a signal to every process of the server.
func (s *Server) signal(sent syscall.Signal) error {
	first, err := s.first()
	if err != nil {
		return err
	}
	pids, err := children(first)
	if err != nil {
		return err
	}
	for _, pid := range append([]int{first}, pids...) { // the first one would replace the others
		if err := syscall.Kill(pid, sent); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return nil
}

// children returns the processes that a process has started.
func children(parent int) (pids []int, err error) {
	out, err := exec.Command("ps", "-A", "-o", "ppid=,pid=").Output()
	for line := range strings.Lines(string(out)) {
		var of, pid int
		if n, _ := fmt.Sscan(line, &of, &pid); n == 2 && of == parent {
			pids = append(pids, pid)
		}
	}
	return pids, err
}
