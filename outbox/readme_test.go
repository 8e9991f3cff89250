package outbox_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheCodeInTheREADMEIsCompiledAndRun(t *testing.T) {
	compiled := ""
	for _, path := range []string{"examples/first/main.go", "examples/first/main_test.go", "samples_test.go"} {
		source, err := os.ReadFile(path)
		require.NoError(t, err)
		compiled += withoutIndentation(string(source))
	}
	pages := ""
	for _, path := range []string{"README.md", "OPERATIONS.md"} {
		page, err := os.ReadFile(path)
		require.NoError(t, err)
		pages += string(page)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(pages, -1)
	require.NotEmpty(t, blocks)
	for _, block := range blocks {
		assert.True(t, strings.Contains(compiled, withoutIndentation(block[1])), "no example or test has this code:\n%s", block[1])
	}
}

func withoutIndentation(source string) string {
	var lines strings.Builder
	for line := range strings.Lines(source) {
		lines.WriteString(strings.TrimSpace(line) + "\n")
	}
	return lines.String()
}
