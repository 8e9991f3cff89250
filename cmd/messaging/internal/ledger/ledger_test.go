package ledger

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
)

func TestAnOutboxIsAFileOrADatabaseAndNeverBoth(t *testing.T) {
	for path, database := range map[string]string{"": "", "a.db": "postgres://x", ":memory:": "", "file::memory:": ""} {
		t.Setenv(Variable, database)
		_, err := Find(path)
		assert.Equal(t, exit.Usage, exit.CodeOf(err), "%q: %v", path, err)
		assert.ErrorContains(t, err, "--ledger")
	}
}

func TestADatabaseWithoutTablesBecomesAnOutboxThatRemembersTheFirstService(t *testing.T) {
	address, err := Find(filepath.Join(t.TempDir(), "a b?.db"))
	require.NoError(t, err)
	db, err := sql.Open("sqlite", "file:"+strings.ReplaceAll(address.path, "?", "%3f"))
	require.NoError(t, err)
	_, err = db.Exec("PRAGMA journal_mode = WAL") // the first thing that happens to a new file, before a kill
	require.NoError(t, errors.Join(err, db.Close()))
	exists, err := address.Exists(t.Context())
	require.NoError(t, err)
	assert.False(t, exists)
	created, err := address.Open(t.Context(), true)
	require.NoError(t, err)
	first := Source{Service: "api.example.com", Kind: "production", KeyColumn: "order"}
	for _, source := range []Source{first, {Service: "other.example.com", Kind: "staging"}} {
		require.NoError(t, created.Claim(t.Context(), source))
	}
	found, recorded, err := created.Source(t.Context())
	require.NoError(t, errors.Join(err, created.Close()))
	assert.True(t, recorded)
	assert.Equal(t, first, found)
}

func TestADatabaseOfAnotherProgramIsLeftAlone(t *testing.T) {
	shop := filepath.Join(t.TempDir(), "shop.db")
	db, err := sql.Open("sqlite", shop)
	require.NoError(t, err)
	_, err = db.Exec("CREATE TABLE shop (id INTEGER)")
	require.NoError(t, errors.Join(err, db.Close()))
	before, err := os.ReadFile(shop)
	require.NoError(t, err)
	address, err := Find(shop)
	require.NoError(t, err)
	_, err = address.Open(t.Context(), true)
	assert.Equal(t, exit.Usage, exit.CodeOf(err), "%v", err)
	after, err := os.ReadFile(shop)
	require.NoError(t, err)
	assert.Equal(t, before, after)
}

func TestAnErrorOfADatabaseDoesNotShowItsPassword(t *testing.T) {
	for database, want := range map[string]exit.Code{
		"postgres://operator:hunter2@127.0.0.1:1/x?connect_timeout=5": exit.NotDone,
		"postgres://operator:hunter2@127.0.0.1:one/x":                 exit.Usage,
		"host=127.0.0.1 password=hunter2 sslmode=maybe":               exit.Usage,
		"hunter2": exit.Usage,
	} {
		t.Setenv(Variable, database)
		address, err := Find("")
		require.NoError(t, err)
		_, err = address.Open(t.Context(), false)
		assert.Equal(t, want, exit.CodeOf(err), "%v", err)
		assert.ErrorContains(t, err, Variable)
		assert.NotContains(t, err.Error(), "hunter2")
	}
}
