package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/internal/service"
)

// TestCodeHasNoOperationAsALiteral searches the code, the templates and the scripts of
// the pages: internal/service has every name and every path.
func TestCodeHasNoOperationAsALiteral(t *testing.T) {
	files := 0
	require.NoError(t, filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files++
		for _, literal := range literals(t, path) {
			for op := range service.All() {
				assert.False(t, strings.Contains(literal, op.Name) || strings.Contains(literal, op.Path),
					"%s: %.80q has %q or its path: take it from internal/service", path, literal, op.Name)
			}
		}
		return nil
	}))
	assert.Greater(t, files, 50)
}

// literals returns the string literals of a file of code, and the text of a file of
// the pages.
func literals(t *testing.T, path string) (list []string) {
	switch {
	case strings.HasSuffix(path, ".html") || strings.HasSuffix(path, ".js"):
		if strings.Contains(path, "testdata") {
			return nil
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		return []string{string(text)}
	case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
		return nil
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			text, err := strconv.Unquote(literal.Value)
			require.NoError(t, err)
			list = append(list, text)
		}
		return true
	})
	return list
}
