package sqlitefile_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
	"github.com/messaging-go/messaging/outbox/sqlite"
	"github.com/messaging-go/messaging/outbox/sqlitefile"
)

func TestOpenCreatesAFileThatOnlyItsOwnerCanRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "with a space, 100%?#.db")
	store, err := sqlitefile.Open(t.Context(), path)
	require.NoError(t, err)
	_, err = ledger.Open(store.Ledger()).Insert(t.Context(), []ledger.NewEntry{{Key: "order", Operation: "trigger event",
		Digest: []byte{1}, Body: []byte("{}")}})
	require.NoError(t, err)
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode().Perm(), suffix)
	}
	require.NoError(t, store.Close())
	again, err := sqlitefile.Open(t.Context(), path)
	require.NoError(t, err)
	found, err := ledger.Open(again.Ledger()).Find(t.Context(), []string{"order"})
	require.NoError(t, err)
	assert.Len(t, found, 1)
	require.NoError(t, again.Close())
}

func TestOpenByManyProcessesAtOnceWorks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "outbox.db")
	var group sync.WaitGroup
	keys := make([][]byte, 4)
	for i := range keys {
		group.Go(func() {
			store, err := sqlitefile.Open(t.Context(), path)
			if assert.NoError(t, err) {
				keys[i] = ledger.Open(store.Ledger()).DigestKey()
				assert.NoError(t, store.Close())
			}
		})
	}
	group.Wait()
	for _, key := range keys {
		assert.Equal(t, keys[0], key)
	}
}

func TestOpenNamesWhatIsWrongWithThePath(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.db")
	require.NoError(t, os.WriteFile(text, []byte("this is not a database, but a text of some length"), 0o600))
	for path, want := range map[string]string{
		dir:                             "outbox: open " + dir + ": is a directory",
		filepath.Join(dir, "no", "dir"): "outbox: open " + filepath.Join(dir, "no", "dir") + ": no such file or directory",
		text:                            "not a database",
		":memory:":                      `outbox: open: path must name a file, not ":memory:"`,
		"":                              "outbox: open: path must not be empty",
	} {
		_, err := sqlitefile.Open(t.Context(), path)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, path)
	}
}

func TestOpenFailsForANewerSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "outbox.db")
	store, err := sqlitefile.Open(t.Context(), path)
	require.NoError(t, err)
	require.NoError(t, store.Close())
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	_, err = db.ExecContext(t.Context(), `UPDATE outbox_meta SET version = 2; ALTER TABLE outbox_entry ADD COLUMN later TEXT`)
	require.NoError(t, err)
	compatible, err := sqlitefile.Open(t.Context(), path)
	require.NoError(t, err, "programs of version 1 can use these tables")
	require.NoError(t, compatible.Close())
	_, err = db.ExecContext(t.Context(), `UPDATE outbox_meta SET version = 3, compatible = 2`)
	require.NoError(t, err)
	_, err = sqlitefile.Open(t.Context(), path)
	require.EqualError(t, err, "outbox: open "+path+
		": the tables were created by a newer version of this package "+
		"(schema version 3 needs a program for version 2 or later, and this one is for 1)")
	_, err = sqlite.New(t.Context(), db)
	require.ErrorContains(t, err, "newer version")
	_, err = sqlite.New(t.Context(), nil)
	require.EqualError(t, err, "outbox: sqlite: db must not be nil")
}
