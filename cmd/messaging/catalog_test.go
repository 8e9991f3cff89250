package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/internal/service"
)

// TestPagesHaveNoOperationAsALiteral searches templates and scripts: internal/service has
// every name and every path. A test of package internal searches the code.
func TestPagesHaveNoOperationAsALiteral(t *testing.T) {
	files := 0
	require.NoError(t, filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".html") && !strings.HasSuffix(path, ".js") || strings.Contains(path, "testdata") {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		for op := range service.All() {
			assert.NotContains(t, string(text), op.Name, path)
			assert.NotContains(t, string(text), op.Path, path)
		}
		return err
	}))
	assert.Greater(t, files, 5)
}
