package ledger

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
)

func placeOf(t *testing.T, path string) Place {
	t.Helper()
	place, err := find(t, path).place()
	require.NoError(t, err)
	return place
}

func TestThePlaceOfAFileIsNotThatOfItsCopies(t *testing.T) {
	folder := t.TempDir()
	path, copied := filepath.Join(folder, "orders.db"), filepath.Join(folder, "copy.db")
	require.NoError(t, os.WriteFile(path, []byte("entries"), 0o600))
	require.NoError(t, os.WriteFile(copied, []byte("entries"), 0o600))
	first := placeOf(t, path)
	assert.Equal(t, first, placeOf(t, path))
	assert.NotEqual(t, first, placeOf(t, copied))

	t.Chdir(folder)
	assert.Equal(t, first, placeOf(t, "orders.db"), "another name of the same file")
	if runtime.GOOS == "windows" {
		return
	}
	require.NoError(t, os.Symlink(path, filepath.Join(folder, "link.db")))
	assert.Equal(t, first, placeOf(t, "link.db"))
	require.NoError(t, os.Rename(copied, path))
	replaced := placeOf(t, path)
	assert.Equal(t, first.Path, replaced.Path)
	assert.NotEqual(t, first, replaced, "a copy in the place of the file")
}

func TestTheHashOfAKeyDependsOnTheLedger(t *testing.T) {
	assert.Equal(t, HashKey("a", "key"), HashKey("a", "key"))
	assert.NotEqual(t, HashKey("a", "key"), HashKey("a", "other"))
	assert.NotEqual(t, HashKey("a", "key"), HashKey("b", "key"))
	assert.NotEqual(t, NewSalt(), NewSalt())
}

func TestALedgerHasToBeAFile(t *testing.T) {
	for _, path := range []string{" ", "\t", ":memory:", "file::memory:"} {
		_, err := Find(path, environment(""))
		assert.Equal(t, exit.Usage, exit.CodeOf(err), "%q: %v", path, err)
		assert.ErrorContains(t, err, "--ledger")
	}
}
