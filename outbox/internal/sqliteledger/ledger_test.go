package sqliteledger

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// owned returns the ledger in a separate database, and its file.
func owned(t *testing.T) (*Ledger, string) {
	path := filepath.Join(t.TempDir(), "owned.db")
	write, err := sql.Open("sqlite", path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)&_pragma=secure_delete(OFF)")
	require.NoError(t, err)
	write.SetMaxOpenConns(1)
	read, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	l, err := NewOwned(t.Context(), write, read)
	require.NoError(t, err)
	return l, path
}

func TestAStatementIsParsedOnceAndNotWhileTheWriteLockIsHeld(t *testing.T) {
	l, path := owned(t)
	other, err := sql.Open("sqlite", path+"?_txlock=immediate&_pragma=busy_timeout(10)")
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	held, err := other.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	called := func(context.Context, *writer) error {
		t.Error("nothing runs after a statement that cannot be parsed")
		return nil
	}
	require.ErrorContains(t, l.update(ctx, called, "no statement"), "syntax error", "although the lock is held")
	require.NoError(t, held.Rollback())

	var first, second *sql.Stmt
	remember := func(statement **sql.Stmt) func(context.Context, *writer) error {
		return func(_ context.Context, w *writer) error {
			*statement = w.prepared[settleSQL]
			return nil
		}
	}
	require.NoError(t, l.update(t.Context(), remember(&first), settleSQL))
	require.NoError(t, l.update(t.Context(), remember(&second), settleSQL))
	assert.NotNil(t, first)
	assert.Same(t, first, second)
}

func TestADatabaseWithCurrentTablesIsOpenedWhileAnotherConnectionWrites(t *testing.T) {
	first, path := owned(t)
	require.NoError(t, first.update(t.Context(), func(context.Context, *writer) error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		db, err := sql.Open("sqlite", path)
		require.NoError(t, err)
		second, err := New(ctx, db)
		require.NoError(t, err)
		assert.Equal(t, first.DigestKey(), second.DigestKey())
		return errors.Join(second.Close(), db.Close())
	}))
}

func TestAConnectionIsOpenedAnewAfterAnErrorAndClosedWithTheLedger(t *testing.T) {
	l, path := owned(t)
	var first, second *sql.Conn
	durable := func(w *writer) *sql.Conn {
		var synchronous, secureDelete int
		require.NoError(t, w.QueryRowContext(t.Context(), `PRAGMA synchronous`).Scan(&synchronous))
		require.NoError(t, w.QueryRowContext(t.Context(), `PRAGMA secure_delete`).Scan(&secureDelete))
		assert.Equal(t, [2]int{2, 1}, [2]int{synchronous, secureDelete})
		return w.Conn
	}
	err := l.update(t.Context(), func(ctx context.Context, w *writer) error {
		first = durable(w)
		_, err := w.ExecContext(ctx, `no statement`)
		return err
	}, settleSQL)
	require.Error(t, err)
	require.NoError(t, l.update(t.Context(), func(_ context.Context, w *writer) error {
		second = durable(w)
		return nil
	}))
	assert.NotSame(t, first, second)
	assert.FileExists(t, path+"-wal")
	require.NoError(t, l.Close())
	assert.NoFileExists(t, path+"-wal", "the last connection is closed")
}

func TestAConnectionOfTheProgramIsGivenBackAfterEachTransaction(t *testing.T) {
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "program.db"))
	require.NoError(t, err)
	l, err := New(t.Context(), db)
	require.NoError(t, err)
	var statement *sql.Stmt
	require.NoError(t, l.update(t.Context(), func(_ context.Context, w *writer) error {
		statement = w.prepared[settleSQL]
		return nil
	}, settleSQL))
	_, err = statement.ExecContext(t.Context())
	require.ErrorContains(t, err, "closed")
	assert.Zero(t, db.Stats().InUse)
	require.NoError(t, db.Close())
	require.NoError(t, l.Close(), "in either order")
}

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
			assert.Equal(t, [3]int{2, 1, 100}, values(conn), "synchronous=FULL, secure_delete=ON, and a short busy_timeout")
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

func TestALookForTimedEntriesDoesNotWalkOverThoseThatWaitForNoTime(t *testing.T) {
	l, _ := owned(t)
	looks := []ledger.Look{{Class: ledger.Class{Operation: "op", Timed: true}}}
	took := func() (least time.Duration) {
		least = time.Hour
		for range 20 {
			began := time.Now()
			_, err := l.Due(t.Context(), looks)
			require.NoError(t, err)
			least = min(least, time.Since(began))
		}
		return least
	}
	none := took()
	entries := make([]ledger.NewEntry, 20_000)
	for i := range entries {
		entries[i] = ledger.NewEntry{Key: strconv.Itoa(i), Operation: "op", Digest: []byte("d"), Body: []byte("b")}
	}
	_, err := l.Insert(t.Context(), entries)
	require.NoError(t, err)
	assert.Less(t, took(), 20*none, "with 20,000 entries that are due")
}
