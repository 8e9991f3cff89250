package inspector_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
)

func TestThePythonOfTheReadmeFindsItsEmail(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("SKIPPED: no Python is installed")
	}
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(readme), "```python\n")
	require.True(t, found)
	program, _, _ := strings.Cut(rest, "```")
	f := start(t, records.Demo())
	cmd := exec.CommandContext(t.Context(), python, "-c", program)
	cmd.Env = append(cmd.Environ(), "MESSAGING_BASE_URL="+f.api, "MESSAGING_API_KEY="+testKey, "MESSAGING_SANDBOX_URL="+f.ui)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Contains(t, f.get("/").Body, "We have moved")
}
