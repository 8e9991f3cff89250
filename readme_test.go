package messaging_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What the README shows stands, line by line, in a file that is compiled and run.
func TestTheCodeOfTheReadmeCompiles(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	compiled := ""
	for _, path := range []string{"example_test.go", "examples/testing/shop_test.go"} {
		source, err := os.ReadFile(path)
		require.NoError(t, err)
		compiled += withoutIndentation(string(source))
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	require.NotEmpty(t, blocks)
	for _, block := range blocks {
		assert.Contains(t, compiled, withoutIndentation(block[1]))
	}
}

func withoutIndentation(source string) string {
	var lines strings.Builder
	for line := range strings.Lines(source) {
		lines.WriteString(strings.TrimSpace(line) + "\n")
	}
	return lines.String()
}

// documentedRow is a row of the table of retries in the documentation.
type documentedRow struct{ what, read, send, delivery string }

const firstRow, lastRow = "not begun: arguments, key source, limiter, context", "2xx, success true, and data that can't be read"

// documentedTable reads the table from a file whose cells separator parts.
func documentedTable(t *testing.T, path, prefix, separator string) []documentedRow {
	t.Helper()
	source, err := os.ReadFile(path)
	require.NoError(t, err)
	_, text, found := strings.Cut(string(source), prefix+firstRow)
	require.True(t, found, "the table in %s", path)
	var rows []documentedRow
	for line := range strings.Lines(firstRow + text) {
		cells := regexp.MustCompile(separator).Split(strings.TrimSuffix(strings.TrimSpace(strings.TrimPrefix(line, prefix)), " |"), -1)
		require.Len(t, cells, 4, line)
		rows = append(rows, documentedRow{cells[0], cells[1], cells[2], cells[3]})
		if cells[0] == lastRow {
			break
		}
	}
	return rows
}

func TestDocumentedRetriesAreThoseOfTheClient(t *testing.T) {
	documented := documentedTable(t, "README.md", "| ", ` \| `)
	assert.Equal(t, documented, documentedTable(t, "doc.go", "//\t", ` {2,}`), "README and package documentation have one table")

	all := slices.DeleteFunc(outcomes(), func(o outcome) bool { return o.failure == nil })
	for _, o := range otherOutcomes() {
		all = append(all, o.outcome)
	}
	seen := map[string]bool{}
	for _, o := range all {
		seen[o.row] = true
		want := documentedRow{o.row, yesOrNo(o.requests.read > 1), yesOrNo(o.requests.send > 1), o.delivery.String()}
		if want.send == "no" && o.requests.repeatable > 1 {
			want.send = "(1)"
		}
		assert.Contains(t, documented, want, o.name)
	}
	for _, row := range documented {
		assert.True(t, seen[row.what], "nothing shows that this is true: %s", row.what)
	}
}

func yesOrNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
