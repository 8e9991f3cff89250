package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// declarations is the beginning of file a.go in the cases below.
const declarations = "package p\n\ntype T struct{ field int }\n\nfunc (*T) method() {}\n\n"

func TestFilecyclesFindsReferencesBetweenFiles(t *testing.T) {
	for name, c := range map[string]struct{ a, b, want string }{
		"function": {
			"func f() { g() }", "func g() { f() }",
			"\ta.go -> b.go: g, line 7\n\tb.go -> a.go: f, line 3\n",
		},
		"method": {
			"var t = v", "var v = made()\n\nfunc g() { made().method() }\n\nfunc made() (t *T) { return }",
			"\tb.go -> a.go: method (*T).method, line 5\n",
		},
		"field": {
			"func f() { g() }", "func g() int { return made.field }\n\nvar made T",
			"\tb.go -> a.go: field field, line 3\n",
		},
		"constant": {
			"const c = d", "const d = 1\n\nvar v [c]int",
			"\ta.go -> b.go: d, line 7\n\tb.go -> a.go: c, line 5\n",
		},
		"generic type": {
			"type G[P any] struct{ member P }\n\nvar v = g()", "func g() int { return G[int]{}.member }",
			"\tb.go -> a.go: G, line 3\n",
		},
		"field of a generic type": {
			"type G[P any] struct{ member P }\n\nvar v = g()", "func g() int { return w.member }\n\nvar w G[int]",
			"\tb.go -> a.go: field member, line 3\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := runOn(t, map[string]string{"a.go": declarations + c.a, "b.go": "package p\n\n" + c.b})
			require.ErrorIs(t, err, errCycles)
			assert.Contains(t, out, "a cycle of 2 files, 0 are allowed: a.go b.go\n")
			assert.Contains(t, out, c.want)
		})
	}
}

func TestFilecyclesFollowsNeitherCommentsNorLocalNames(t *testing.T) {
	for _, b := range []string{
		"// g is called by [f] and has nothing of [T].\nfunc g(int) {}",
		"func g(f int) { T := struct{ field int }{f}; _ = T.field }",
	} {
		out, err := runOn(t, map[string]string{"a.go": declarations + "func f(field int) { g(field) }", "b.go": "package p\n\n" + b})
		require.NoError(t, err)
		assert.Equal(t, "1 packages checked\n", out)
	}
}

func TestFilecyclesKeepsSeparateCyclesApart(t *testing.T) {
	files := map[string]string{
		"a.go":      "package p\n\nfunc a() { b() }",
		"b.go":      "package p\n\nfunc b() { c() }",
		"c.go":      "package p\n\nfunc c() { a(); d() }",
		"d.go":      "package p\n\nfunc d() { e() }",
		"e.go":      "package p\n\nfunc e() { d() }",
		"f.go":      "package p\n\nfunc f() { a() }",
		"a_test.go": "package p\n\nfunc t() { f() }",
	}
	out, err := runOn(t, files)
	require.ErrorIs(t, err, errCycles)
	assert.Contains(t, out, "a cycle of 3 files, 0 are allowed: a.go b.go c.go\n")
	assert.Contains(t, out, "a cycle of 2 files, 0 are allowed: d.go e.go\n")
	assert.NotContains(t, out, "c.go -> d.go", "not within a cycle")
}

func TestFilecyclesAllowsSixFilesInACycleExceptInTheRoot(t *testing.T) {
	for size, want := range map[int]error{6: nil, 7: errCycles} {
		files := make(map[string]string)
		for i := range size {
			files[fmt.Sprintf("nested/f%d.go", i)] = fmt.Sprintf("package nested\n\nfunc f%d() { f%d() }", i, (i+1)%size)
		}
		out, err := runOn(t, files)
		assert.ErrorIs(t, err, want)
		assert.Contains(t, out, fmt.Sprintf("%s/nested: a cycle of %d files, 6 are allowed:", root, size))
	}
}

func TestFilecyclesFailsForAPackageThatDoesNotCompile(t *testing.T) {
	_, err := runOn(t, map[string]string{"a.go": "package p\n\nfunc a() { b() }"})
	require.Error(t, err)
	assert.NotErrorIs(t, err, errCycles)
}

// runOn runs the program on a module with the given files.
func runOn(t *testing.T, files map[string]string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module " + root + "\n\ngo 1.26\n"
	for name, content := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content+"\n"), 0o600))
	}
	var out strings.Builder
	err := run(&out, []string{dir})
	return out.String(), err
}
