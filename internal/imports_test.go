package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/internal/service"
)

const (
	module = "github.com/messaging-go/messaging"
	root   = ".." // of the repository, from this folder
	here   = "internal/imports_test.go"
)

// allowedImports says which of our packages each of our packages may import outside of
// its tests. "/..." means everything below as well, and the longest key counts. The API
// stands on the engine, and nothing in the engine knows the API. What is released on its
// own, such as outbox, can be built with another version of the root, so it depends on
// what is exported. Tests alone import internal/kit.
var allowedImports = map[string][]string{
	"internal/service":   nil,
	"internal/redact":    nil,
	"internal/wire":      nil,
	"internal/arguments": {"internal/wire"},
	"internal/exchange":  {"internal/wire", "internal/redact", "internal/service"},
	"internal/fake":      {".", "internal/redact", "internal/service"},

	".":             {"internal/service", "internal/exchange", "internal/wire", "internal/redact", "internal/arguments"},
	"messagingtest": {".", "internal/fake", "internal/service"},
	"examples/...":  {".", "messagingtest", "examples/..."},

	"internal/kit/...": {".", "messagingtest", "internal/service", "internal/kit/..."},

	"cmd/messaging/...": {".", "messagingtest", "internal/fake", "internal/service", "cmd/messaging/internal/...",
		"outbox", "outbox/postgres", "outbox/sqlite", "outbox/sqlitefile"},
	"cmd/messaging/internal/sandbox": {".", "internal/fake", "internal/redact", "internal/service", "cmd/messaging/internal/..."},
	// The JSON of a million records takes several times as long by way of reflection.
	"cmd/messaging/internal/export": {".", "internal/wire", "cmd/messaging/internal/..."},

	"cmd/messaging-gen/...": {".", "messagingtest", "cmd/messaging-gen/..."},

	"otelmessaging":         {"."},
	"otelmessaging/example": {".", "messagingtest", "otelmessaging"},
	"outbox/...":            {".", "outbox/..."},
	"outbox/examples/...":   {".", "messagingtest", "outbox/..."},
	"outbox/torture/...":    {".", "internal/service", "outbox/..."},
	"benchmarks/...":        {".", "benchmarks/..."},
}

// onlyImporters are the packages that may import a module of others.
var onlyImporters = map[string][]string{
	"github.com/go-faster/jx":               {"internal/wire"},
	"github.com/hashicorp/go-retryablehttp": {"internal/exchange"},
}

func TestImportsGoInTheDirectionsOfTheHouse(t *testing.T) {
	unlisted := make(map[string]bool)
	for _, file := range sources(t, parser.ImportsOnly) {
		dir := path.Dir(file.name)
		row, ok := rowOf(dir)
		if !ok {
			unlisted[dir] = true
			continue
		}
		for _, spec := range file.syntax.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			require.NoError(t, err)
			if ours, ok := ourPackage(imported); ok && !matchesAny(allowedImports[row], ours) {
				t.Errorf("%s imports %s, which is not among the allowed imports of %s: %s; see %s",
					file.name, imported, row, listOf(allowedImports[row]), here)
			}
			for theirs, importers := range onlyImporters {
				if within(imported, theirs) && !matchesAny(importers, dir) {
					t.Errorf("%s imports %s, which only these may import: %s; see %s", file.name, imported, listOf(importers), here)
				}
			}
		}
	}
	for dir := range unlisted {
		t.Errorf("package %s is not in the table of allowed imports; see %s", dir, here)
	}
}

func TestImportsAreListedForPackagesThatExist(t *testing.T) {
	var dirs []string
	for _, file := range sources(t, parser.PackageClauseOnly) {
		dirs = append(dirs, path.Dir(file.name))
	}
	for pattern := range patterns() {
		if !slices.ContainsFunc(dirs, func(dir string) bool { return matches(pattern, dir) }) {
			t.Errorf("%s names %s, where there is no Go code outside of tests", here, pattern)
		}
	}
}

// patterns returns everything that the tables name.
func patterns() map[string]bool {
	named := make(map[string]bool)
	for row, imports := range allowedImports {
		named[row] = true
		for _, pattern := range imports {
			named[pattern] = true
		}
	}
	for _, importers := range onlyImporters {
		for _, pattern := range importers {
			named[pattern] = true
		}
	}
	return named
}

func TestLiteralsDoNotRepeatTheCatalog(t *testing.T) {
	variables := catalogVariables(t)
	for _, file := range sources(t, parser.SkipObjectResolution) {
		// operations.go has a constant for each operation, and benchmarks does by hand what the client does.
		if within(file.name, "internal/service") || within(file.name, "benchmarks") || file.name == "operations.go" {
			continue
		}
		ast.Inspect(file.syntax, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			value, err := strconv.Unquote(literal.Value)
			require.NoError(t, err)
			if o := repeated(value); o != nil {
				t.Errorf("%s:%d: %s repeats the catalog: use service.%s",
					file.name, file.set.Position(literal.Pos()).Line, literal.Value, variables[o.Name])
			}
			return true
		})
	}
}

// repeated returns the operation whose name, or whose path, a text repeats, nil if there
// is none. The longest path counts: one can be the beginning of another one.
func repeated(text string) *service.Operation {
	var found *service.Operation
	for o := range service.All() {
		if text == o.Name {
			return o
		}
		if strings.HasPrefix(text, o.Path) || strings.Contains(text, o.Route()) {
			if found == nil || len(o.Path) > len(found.Path) {
				found = o
			}
		}
	}
	return found
}

// catalogVariables returns the variable of package service for each operation, by name.
func catalogVariables(t *testing.T) map[string]string {
	t.Helper()
	variables := make(map[string]string)
	for _, file := range sources(t, parser.SkipObjectResolution) {
		if path.Dir(file.name) != "internal/service" {
			continue
		}
		ast.Inspect(file.syntax, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok {
				for i, value := range spec.Values {
					variables[firstText(value)] = spec.Names[i].Name
				}
			}
			return true
		})
	}
	for o := range service.All() {
		require.NotEmpty(t, variables[o.Name], "the variable of package service for %q", o.Name)
	}
	return variables
}

// firstText returns the first text that an expression holds.
func firstText(e ast.Expr) string {
	text := ""
	ast.Inspect(e, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING && text == "" {
			text, _ = strconv.Unquote(literal.Value)
		}
		return text == ""
	})
	return text
}

// source is a Go file that is not a test. Its name is relative to the repository.
type source struct {
	name   string
	set    *token.FileSet
	syntax *ast.File
}

// sources parses the Go files of all modules, except for tests and what the go command
// ignores.
func sources(t *testing.T, mode parser.Mode) []source {
	t.Helper()
	var found []source
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := path.Base(name)
		if entry.IsDir() {
			if name != "." && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(base, ".go") || strings.HasSuffix(base, "_test.go") {
			return nil
		}
		set := token.NewFileSet()
		syntax, err := parser.ParseFile(set, filepath.Join(root, filepath.FromSlash(name)), nil, mode)
		found = append(found, source{name: name, set: set, syntax: syntax})
		return err
	})
	require.NoError(t, err)
	require.NotEmpty(t, found)
	return found
}

// rowOf returns the key of allowedImports for a package.
func rowOf(dir string) (row string, found bool) {
	for pattern := range allowedImports {
		if matches(pattern, dir) && (!found || len(pattern) > len(row)) {
			row, found = pattern, true
		}
	}
	return row, found
}

// ourPackage returns the folder of a package of this repository.
func ourPackage(imported string) (dir string, ours bool) {
	if imported == module {
		return ".", true
	}
	return strings.CutPrefix(imported, module+"/")
}

func matchesAny(patterns []string, dir string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, dir) })
}

// matches reports whether a folder is the one that a pattern names, or below it.
func matches(pattern, dir string) bool {
	if tree, ok := strings.CutSuffix(pattern, "/..."); ok {
		return within(dir, tree)
	}
	return dir == pattern
}

func within(name, tree string) bool { return name == tree || strings.HasPrefix(name, tree+"/") }

func listOf(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
