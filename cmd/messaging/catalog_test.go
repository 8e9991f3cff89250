package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/internal/service"
)

// TestPagesHaveNoOperationAsALiteral searches templates and scripts: internal/service has
// every name and every path. A test of package internal searches the code.
func TestPagesHaveNoOperationAsALiteral(t *testing.T) {
	pages, err := filepath.Glob("internal/inspector/view/templates/*.html")
	require.NoError(t, err)
	require.Greater(t, len(pages), 4)
	for _, path := range append(pages, "internal/inspector/guard/login.html", "internal/inspector/static/inspector.js") {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for op := range service.All() {
			assert.NotContains(t, string(text), op.Name, path)
			assert.NotContains(t, string(text), op.Path, path)
		}
	}
}
