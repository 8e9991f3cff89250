package sqliteledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
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
	assert.Equal(t, 12, version, "a failed one is rolled back")
}

func TestAnErrorNamesTheProcessThatHoldsTheWriteLock(t *testing.T) {
	before := longWait
	longWait = 100 * time.Millisecond
	defer func() { longWait = before }()
	for _, mode := range []string{"WAL", "DELETE"} {
		path := filepath.Join(t.TempDir(), "program.db")
		open := func() *sql.DB {
			db, err := sql.Open("sqlite", path+"?_txlock=immediate&_pragma=journal_mode("+mode+")")
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			return db
		}
		l, err := New(t.Context(), open())
		require.NoError(t, err)
		held, err := open().BeginTx(t.Context(), nil)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 3*longWait)
		defer cancel()
		_, err = l.Insert(ctx, []ledger.NewEntry{{Key: "order", Operation: "trigger event"}})
		require.ErrorContains(t, err, "for the write lock of the database")
		if runtime.GOOS == "linux" {
			assert.ErrorContains(t, err, fmt.Sprintf("held by process %d", os.Getpid()), mode)
		}
		require.NoError(t, held.Rollback())
	}
}
