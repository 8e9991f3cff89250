package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// repository has a package in a nested module. One of its tests always fails, and one
// never ends with a certain mutation.
var repository = map[string]string{
	"go.mod":          "module example.com/r\n\ngo 1.26\n",
	"nested/go.mod":   "module example.com/r/nested\n\ngo 1.26\n",
	"nested/range.go": "package nested\n\nfunc inRange(n int) bool {\n\treturn n > 1 &&\n\t\tn < 9\n}\n\nvar a = 1\nvar b = 1\n",
	"nested/range_test.go": `package nested

import "testing"

func TestRange(t *testing.T) {
	if inRange(1) || !inRange(5) {
		t.Error("wrong")
	}
	for a == 3 {
	}
}

func TestFails(t *testing.T) { t.Error("always") }
`,
}

// entry is a mutation that the test notices.
const entry = "mutation: one is out\nfile: nested/range.go\ntest: nested ^TestRange$\n \treturn n > 1 &&\n-\t\tn < 9\n+\t\tn < 3\n"

func TestMutationsAreTriedAndCounted(t *testing.T) {
	list := entry + `
# The rest is as it should not be.
mutation: nine is out
file: nested/range.go
test: nested Range
-		n < 9
+		n < 10

mutation: does not compile
file: nested/range.go
test: nested Range
-		n < 9
+		m < 9

mutation: fails on its own
file: nested/range.go
test: nested TestFails
-		n < 9
+		n < 3

mutation: has no test
file: nested/range.go
test: nested TestNothing
-		n < 9
+		n < 3

mutation: is elsewhere
file: nested/range.go
test: nested Range
-	n < 9
+	n < 3

mutation: never ends
file: nested/range.go
test: nested Range
-var a = 1
+var a = 3
`
	out, err := runOn(t, list, "-timeout", "3s")
	require.EqualError(t, err, "not every mutation was noticed")
	lines := outcomes(out)
	assert.Equal(t, []string{
		"noticed nested/range.go: one is out",
		"SURVIVED nested/range.go: nine is out",
		"ERROR nested/range.go: does not compile",
		"ERROR nested/range.go: fails on its own",
		"ERROR nested/range.go: has no test",
		"ERROR nested/range.go: is elsewhere",
		"ERROR nested/range.go: never ends",
		"7 mutations: 1 noticed, 1 survived, 5 errors",
	}, lines)
	for _, reason := range []string{
		"the tests pass", "undefined: m", "without the mutation: the tests fail:", "always", "there is no such test",
		"the old lines occur 0 times in nested/range.go, want 1", "do not end within 3s", "(cd nested && go test -run 'Range')",
	} {
		assert.Contains(t, out, reason)
	}
}

func TestMutationsAreSelectedByPromiseOrFile(t *testing.T) {
	list := entry + strings.Replace(entry, "one is", "eight is", 1)
	out, err := runOn(t, list, "-run", "eight")
	require.NoError(t, err)
	assert.Equal(t, []string{"noticed nested/range.go: eight is out", "1 mutations: 1 noticed, 0 survived, 0 errors"}, outcomes(out))
	out, err = runOn(t, list, "-run", "^nested/")
	require.NoError(t, err)
	assert.Contains(t, out, "2 mutations: 2 noticed")
	_, err = runOn(t, list, "-run", "nothing")
	assert.EqualError(t, err, "no mutation is selected")
}

func TestMutationChangesEachOfCountPlaces(t *testing.T) {
	m := mutation{file: "f", old: []string{"a"}, new: []string{"x", "y"}, count: 3}
	changed, err := m.apply("a\na\naa\n a\na")
	require.NoError(t, err)
	assert.Equal(t, "x\ny\nx\ny\naa\n a\nx\ny", changed)
	m.count = 2
	_, err = m.apply("a\na\na")
	assert.EqualError(t, err, "the old lines occur 3 times in f, want 2")
}

func TestMutationListIsChecked(t *testing.T) {
	for list, want := range map[string]string{
		"file: x\n":                             "line 1 is before the first mutation",
		"mutation: m\nfiel: x\n":                `line 2: "fiel: x" is neither a key nor begins with -, + or a space`,
		"mutation: m\ntest: nested\n":           "line 2: a test is a folder and a regular expression",
		"mutation: m\ncount: one\n":             "line 2: strconv.Atoi",
		"mutation: m\nfile: x\ntest: . T\n":     `mutation "m" needs a file, a test, and lines that it changes`,
		strings.Replace(entry, "< 3", "< 9", 1): "lines that it changes",
	} {
		_, err := parseList(list)
		assert.ErrorContains(t, err, want)
	}
}

// outcomes returns the lines that are not indented, without times.
func outcomes(out string) []string {
	var lines []string
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "\t") {
			continue
		}
		fields := strings.Fields(line)
		if state := fields[0]; state == noticed || state == survived || state == failed {
			fields = append(fields[:1], fields[3:]...)
		}
		lines = append(lines, strings.Join(fields, " "))
	}
	return lines
}

// runOn also requires that the repository is left alone.
func runOn(t *testing.T, list string, flags ...string) (string, error) {
	t.Helper()
	dir, name := newRepository(t), filepath.Join(t.TempDir(), "list.txt")
	require.NoError(t, os.WriteFile(name, []byte(list), 0o600))
	var out strings.Builder
	err := run(&out, append(flags, "-repository", dir, "-list", name))
	for file, before := range repository {
		after, readErr := os.ReadFile(filepath.Join(dir, file))
		require.NoError(t, readErr)
		assert.Equal(t, before, string(after), file)
	}
	return out.String(), err
}

func newRepository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range repository {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	require.NoError(t, exec.Command("git", "init", "-q", dir).Run())
	return dir
}
