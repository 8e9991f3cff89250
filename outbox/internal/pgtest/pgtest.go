// Package pgtest gives each test a separate schema on a Postgres server. It is a package
// because the tests of several modules share it.
package pgtest

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Variable is the environment variable with the URL of the server. If it is not set, the
// server on loopback port 5432 is used.
const Variable = "MESSAGING_TEST_POSTGRES"

// URL returns the URL of a new schema, which is dropped at the end of the test. If there
// is no server, the test is skipped, or fails if the variable CI is set.
func URL(t testing.TB) string {
	t.Helper()
	source, drop, err := newSchema()
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	t.Cleanup(func() {
		if err := drop(); err != nil {
			t.Error(err)
		}
	})
	return source
}

// Main is for TestMain of a package with examples. It runs the tests with the URL of a new
// schema in the variable DATABASE_URL. If there is no server, it skips the examples, or fails
// if the variable CI is set.
func Main(m *testing.M) (code int) {
	source, drop, err := newSchema()
	if err != nil && os.Getenv("CI") != "" {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err != nil {
		flag.Parse()
		_ = flag.Set("test.skip", "^Example")
		return m.Run()
	}
	_ = os.Setenv("DATABASE_URL", source)
	code = m.Run()
	if err := drop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// newSchema returns the URL of a new schema, and what drops it.
func newSchema() (source string, drop func() error, err error) {
	server := cmp.Or(os.Getenv(Variable), "postgres://postgres@127.0.0.1:5432/postgres?sslmode=disable")
	u, err := url.Parse(server)
	if err != nil {
		return "", nil, errors.New("the URL of the server is not valid")
	}
	schema := "outbox_test_" + strings.ToLower(rand.Text())
	if err := execute(server, "CREATE SCHEMA "+schema); err != nil {
		return "", nil, fmt.Errorf("no Postgres server for the tests (set %s): %w", Variable, err)
	}
	query := u.Query()
	query.Set("search_path", schema)
	u.RawQuery = query.Encode()
	return u.String(), func() error { return execute(server, "DROP SCHEMA "+schema+" CASCADE") }, nil
}

// Pool returns a pool of connections to a new schema.
func Pool(t testing.TB) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), URL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func execute(server, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, statement)
	return err
}
