// Package ledgertest gives tests a database for an outbox.
package ledgertest

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"net/url"
	"os"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Postgres returns the URL of a new schema on the Postgres server for tests. Without a
// server, it skips the test.
func Postgres(t *testing.T) string {
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
