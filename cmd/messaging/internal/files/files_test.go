package files

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func ours([]byte) error { return nil }

// names returns the files in a folder.
func names(t *testing.T, folder string) (list []string) {
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, entry := range entries {
		list = append(list, entry.Name())
	}
	return list
}

func TestWriteReplacesWhatDiffers(t *testing.T) {
	folder := t.TempDir()
	same, old, missing := filepath.Join(folder, "same"), filepath.Join(folder, "old"), filepath.Join(folder, "sub", "new")
	require.NoError(t, os.WriteFile(same, []byte("same\n"), 0o600))
	require.NoError(t, os.WriteFile(old, []byte("old\n"), 0o600))
	longAgo := time.Unix(1, 0)
	require.NoError(t, os.Chtimes(same, longAgo, longAgo))

	written, err := Write(File{same, []byte("same\n"), ours}, File{old, []byte("new\n"), ours}, File{missing, []byte("new\n"), ours})

	require.NoError(t, err)
	assert.Equal(t, []string{old, missing}, written)
	for _, path := range written {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, "new\n", string(content))
	}
	info, err := os.Stat(same)
	require.NoError(t, err)
	assert.True(t, info.ModTime().Equal(longAgo), "it was not written")
	assert.Equal(t, []string{"old", "same", "sub"}, names(t, folder), "no temporary file is left")
}

func TestWriteThatFailsChangesNothing(t *testing.T) {
	folder := t.TempDir()
	first, blocked := filepath.Join(folder, "first"), filepath.Join(folder, "first", "second")
	require.NoError(t, os.WriteFile(first, []byte("old\n"), 0o600))

	_, err := Write(File{first, []byte("new\n"), ours}, File{blocked, []byte("new\n"), ours})
	assert.Error(t, err)
	tooLong := filepath.Join(folder, strings.Repeat("x", 250)) // for the name of a temporary file
	_, err = Write(File{first, []byte("new\n"), ours}, File{tooLong, []byte("new\n"), ours})
	assert.Error(t, err)
	_, err = Write(File{first, []byte("new\n"), func(existing []byte) error {
		assert.Equal(t, "old\n", string(existing))
		return errors.New("not mine")
	}})
	assert.EqualError(t, err, first+" is not replaced: not mine")
	assert.ErrorAs(t, err, new(*ForeignError))

	content, err := os.ReadFile(first)
	require.NoError(t, err)
	assert.Equal(t, "old\n", string(content))
	assert.Equal(t, []string{"first"}, names(t, folder))
}

func TestFileThatCannotBeReplacedIsAnError(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "a", "b"), 0o700))
	_, err := Write(File{filepath.Join(folder, "a"), nil, ours})
	assert.Error(t, err, "it is a folder")
	_, err = Diff(File{filepath.Join(folder, "a"), nil, ours})
	assert.Error(t, err)
}

func TestDiffShowsWhatWriteWouldChange(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "file")
	diff, err := Diff(File{path, []byte("a\nb\n"), ours})
	require.NoError(t, err)
	wanted := path + " (as it should be)"
	assert.Equal(t, "diff "+path+" "+wanted+"\n--- "+path+"\n+++ "+wanted+"\n@@ -0,0 +1,2 @@\n+a\n+b\n", string(diff))
	require.NoError(t, os.WriteFile(path, []byte("a\r\nb\r\n"), 0o600))
	diff, err = Diff(File{path, []byte("a\nb\n"), ours})
	require.NoError(t, err)
	assert.Empty(t, diff, "Git can convert the ends of lines")
	diff, err = Diff(File{path, []byte("a\nc\n"), ours})
	require.NoError(t, err)
	assert.Contains(t, string(diff), "\n-b\n+c\n")
}
