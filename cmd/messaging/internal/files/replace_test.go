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

// names returns the files in a folder.
func names(t *testing.T, folder string) (list []string) {
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, entry := range entries {
		list = append(list, entry.Name())
	}
	return list
}

func TestReplaceFollowsLinksAndKeepsTheMode(t *testing.T) {
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
	assert.Equal(t, []string{"file", "link", "new"}, names(t, folder), "no temporary file is left")
	for _, target := range []string{"loop", "nothing"} {
		require.NoError(t, os.Symlink(target, filepath.Join(folder, "loop")))
		assert.Error(t, Replace(filepath.Join(folder, "loop"), nil), target)
		require.NoError(t, os.Remove(filepath.Join(folder, "loop")))
	}
}

func TestReplaceThatFailsLeavesTheFile(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "a", "b"), 0o700))
	assert.Error(t, Replace(filepath.Join(folder, "a"), nil), "it is a folder")
	assert.Error(t, Replace(filepath.Join(folder, "missing", "b"), nil))
	assert.Equal(t, []string{"a"}, names(t, folder))
}
