package sqliteledger

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"
)

func TestAnUpdateIsDurableAndRestoresTheSettingsOfTheProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program.db")
	db, err := sql.Open("sqlite", path+"?_pragma=synchronous(OFF)&_pragma=secure_delete(FAST)&_pragma=busy_timeout(7000)")
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	db.SetMaxOpenConns(1)
	l, err := New(t.Context(), db)
	require.NoError(t, err)
	values := func(conn interface {
		QueryRowContext(context.Context, string, ...any) *sql.Row
	}) (values [3]int) {
		for i, s := range settings {
			require.NoError(t, conn.QueryRowContext(t.Context(), "PRAGMA "+s.name).Scan(&values[i]))
		}
		return values
	}
	before := values(db)
	assert.Equal(t, [3]int{0, 2, 7000}, before)
	errFailed := errors.New("failed")
	for _, end := range []error{nil, errFailed} {
		err := l.update(t.Context(), func(_ context.Context, conn *writer) error {
			assert.Equal(t, [3]int{2, 1, 7000}, values(conn), "synchronous=FULL and secure_delete=ON")
			_, err := conn.ExecContext(t.Context(), `UPDATE outbox_meta SET version = version + 10`)
			require.NoError(t, err)
			return end
		})
		require.ErrorIs(t, err, end)
		assert.Equal(t, before, values(db))
	}
	var version int
	require.NoError(t, db.QueryRowContext(t.Context(), `SELECT version FROM outbox_meta`).Scan(&version))
	assert.Equal(t, 11, version, "a failed one is rolled back")
}
