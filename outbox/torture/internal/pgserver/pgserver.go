// Package pgserver starts Postgres servers in temporary folders.
package pgserver

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
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

	"github.com/jackc/pgx/v5"
)

// Server is a Postgres server that this process has started.
type Server struct {
	// URL is the URL of its database "postgres".
	URL string

	dir, bin string
	as       *syscall.Credential // nil if this user may run a server
}

// Start starts a server with the settings of Postgres and those given, such as
// "max_wal_size=4GB".
func Start(ctx context.Context, settings ...string) (s *Server, err error) {
	s = &Server{}
	if s.bin, err = Programs(); err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp("", "outbox-postgres-"); err != nil {
		return nil, err
	}
	if err := s.start(ctx, settings); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close stops the server and removes its data.
func (s *Server) Close() {
	_ = s.command(context.Background(), "pg_ctl", "-D", s.data(), "-m", "immediate", "stop").Run()
	_ = os.RemoveAll(s.dir)
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) start(ctx context.Context, settings []string) error {
	as, err := User(s.dir)
	if err != nil {
		return err
	}
	s.as = as
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	port := listener.Addr().(*net.TCPAddr).Port
	_ = listener.Close()
	s.URL = fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", port)
	initdb := s.command(ctx, "initdb", "-D", s.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale")
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %s", bytes.TrimSpace(out))
	}
	options := fmt.Sprintf("-p %d -k %s -c listen_addresses=127.0.0.1 -c max_connections=200", port, s.dir)
	for _, setting := range settings {
		options += " -c " + setting
	}
	cmd := s.command(ctx, "pg_ctl", "-D", s.data(), "-l", filepath.Join(s.dir, "log"), "-o", options, "-w", "start")
	if err := cmd.Run(); err != nil { // without its output, which the server would keep open
		return fmt.Errorf("pg_ctl: start of Postgres: %w", err)
	}
	return nil
}

// Programs returns the folder of the newest installed server.
func Programs() (string, error) {
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

// User gives a folder to the user that runs a server in it, and returns that user if it is
// another one: this one may be root, which must not run a server.
func User(folder string) (*syscall.Credential, error) {
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

func (s *Server) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, name), args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.as}
	cmd.Dir = s.dir
	return cmd
}

// NewSchema creates an empty schema on a server, and returns the URL that uses it. The
// parameters are added to the URL, such as "pool_max_conns=8".
func NewSchema(ctx context.Context, server string, parameters ...string) (string, error) {
	schema := "torture_" + strings.ToLower(rand.Text())
	if err := execute(ctx, server, "CREATE SCHEMA "+schema); err != nil {
		return "", err
	}
	u, err := url.Parse(server)
	if err != nil {
		return "", err
	}
	query := u.Query()
	query.Set("search_path", schema)
	for _, parameter := range parameters {
		name, value, _ := strings.Cut(parameter, "=")
		query.Set(name, value)
	}
	u.RawQuery = query.Encode()
	return u.String(), nil
}

// DropSchema removes what NewSchema created on the server.
func DropSchema(ctx context.Context, server, name string) error {
	u, err := url.Parse(name)
	if err != nil {
		return err
	}
	schema := pgx.Identifier{u.Query().Get("search_path")}.Sanitize()
	return execute(ctx, server, "DROP SCHEMA "+schema+" CASCADE")
}

func execute(ctx context.Context, server, statement string) error {
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, statement)
	return err
}
