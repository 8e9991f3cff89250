package files

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReplaceFollowsLinksAndKeepsTheModeOrLeavesWhatIsThere(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege there, and there are no modes")
	}
	folder := t.TempDir()
	path, link := filepath.Join(folder, "file"), filepath.Join(folder, "link")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	require.NoError(t, os.Chmod(path, 0o644))
	require.NoError(t, os.Symlink("file", link))
	require.NoError(t, Replace(link, []byte("one")))
	require.NoError(t, Replace(filepath.Join(folder, "new"), []byte("two")))
	for name, want := range map[string]struct {
		content string
		mode    fs.FileMode
	}{"file": {"one", 0o644}, "new": {"two", 0o600}} {
		content, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		assert.Equal(t, want.content, string(content))
		info, err := os.Lstat(filepath.Join(folder, name))
		require.NoError(t, err)
		assert.Equal(t, want.mode, info.Mode(), name)
	}
	info, err := os.Lstat(link)
	require.NoError(t, err)
	assert.Equal(t, fs.ModeSymlink, info.Mode().Type())
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "full", "of"), 0o700))
	require.NoError(t, os.Symlink("loop", filepath.Join(folder, "loop")))
	require.NoError(t, os.Symlink("nothing", filepath.Join(folder, "dangling")))
	for _, name := range []string{"full", "missing/file", "loop", "dangling"} {
		assert.Error(t, Replace(filepath.Join(folder, name), nil), name)
	}
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	assert.Len(t, left, 6, "no temporary file is left")
}
