package ledger

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/ledger/ledgertest"
)

func claimed(t *testing.T, address Address) *Ledger {
	t.Helper()
	created, err := address.Create(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, created.Close()) })
	require.NoError(t, created.Claim(t.Context(), Origin{Salt: "salt"}))
	return created
}

func requireRestored(t *testing.T, l *Ledger, state string, want bool) {
	t.Helper()
	restored, err := l.IsRestored(t.Context(), state)
	require.NoError(t, err)
	require.Equal(t, want, restored)
}

func TestALedgerThatWasRestoredStaysOneUntilItIsAccepted(t *testing.T) {
	postgres, err := Find("", environment(ledgertest.Postgres(t)))
	require.NoError(t, err)
	for name, address := range map[string]Address{"SQLite": find(t, filepath.Join(t.TempDir(), "a.db")), "Postgres": postgres} {
		t.Run(name, func(t *testing.T) {
			l, state := claimed(t, address), t.TempDir()
			requireRestored(t, l, state, false)
			require.NoError(t, l.Advance(t.Context(), state))
			require.NoError(t, l.Advance(t.Context(), state))
			requireRestored(t, l, state, false)

			_, err := l.db.ExecContext(t.Context(), "UPDATE "+table+" SET generation = 1") // as a backup has it
			require.NoError(t, err)
			requireRestored(t, l, state, true)
			require.NoError(t, l.Advance(t.Context(), state))
			requireRestored(t, l, state, true)
			require.NoError(t, l.Accept(t.Context(), state))
			requireRestored(t, l, state, false)

			_, err = l.db.ExecContext(t.Context(), "UPDATE "+table+" SET generation = 9") // by another machine
			require.NoError(t, err)
			requireRestored(t, l, state, false)
			require.NoError(t, l.Advance(t.Context(), state))
			of, _, err := l.Origin(t.Context())
			require.NoError(t, err)
			assert.Equal(t, int64(10), of.Generation)
		})
	}
}

// TestABackupBesideTheLogOfARunIsNoticed copies a backup into the place of a file without its log, as cp does.
func TestABackupBesideTheLogOfARunIsNoticed(t *testing.T) {
	ctx, state, path := t.Context(), t.TempDir(), filepath.Join(t.TempDir(), "a.db")
	first := claimed(t, find(t, path))
	require.NoError(t, first.Advance(ctx, state))
	backup, err := os.ReadFile(path)
	require.NoError(t, err)

	running, err := find(t, path).Open(ctx)
	require.NoError(t, err)
	defer running.Close()
	require.NoError(t, running.Advance(ctx, state))
	_, err = running.db.ExecContext(ctx, "CREATE TABLE settled (id INTEGER)") // is in the log alone
	require.NoError(t, err)
	log, err := os.ReadFile(path + "-wal")
	require.NoError(t, err)
	require.NotEmpty(t, log)

	t.Run("after the run was killed", func(t *testing.T) {
		killed := filepath.Join(t.TempDir(), "a.db")
		require.NoError(t, os.WriteFile(killed, backup, 0o600))
		require.NoError(t, os.WriteFile(killed+"-wal", log, 0o600))
		next, err := find(t, killed).Open(ctx)
		require.NoError(t, err)
		defer next.Close()
		requireRestored(t, next, state, true)
	})
	t.Run("while it runs", func(t *testing.T) {
		require.NoError(t, os.WriteFile(path, backup, 0o600))
		back, err := running.WentBack(ctx)
		require.NoError(t, err)
		assert.True(t, back)
		require.NoError(t, running.Advance(ctx, state))
		requireRestored(t, running, state, true) // nothing has hidden it
	})
}

func TestALedgerOfAnotherProgramHasNoGeneration(t *testing.T) {
	l, err := find(t, filepath.Join(t.TempDir(), "a.db")).Create(t.Context())
	require.NoError(t, err)
	defer l.Close()
	state := t.TempDir()
	require.NoError(t, l.Advance(t.Context(), state))
	requireRestored(t, l, state, false)
	files, err := os.ReadDir(state)
	require.NoError(t, err)
	assert.Empty(t, files)
}

func TestAGenerationThatCannotBeReadOrWrittenIsAnError(t *testing.T) {
	l, state := claimed(t, find(t, filepath.Join(t.TempDir(), "a.db"))), t.TempDir()
	require.NoError(t, l.Advance(t.Context(), state))
	require.NoError(t, os.WriteFile(generationPath(state, "salt"), []byte("many"), 0o600))
	_, err := l.IsRestored(t.Context(), state)
	require.ErrorContains(t, err, "is broken; move the file away after you have looked at it")

	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.Error(t, l.Advance(t.Context(), file))
}
