package outbox_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheProgramInTheREADMEIsAnExample(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	program, err := os.ReadFile("examples/first/main.go")
	require.NoError(t, err)
	_, shown, _ := strings.Cut(string(program), "\n") // without its comment
	assert.Contains(t, string(readme), "```go\n"+shown+"```\n")
}
