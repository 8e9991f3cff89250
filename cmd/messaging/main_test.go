package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
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

// TestContainerfileBuildsAndStartsTheSandbox runs the commands of the file, with the program
// in a folder of the test and on free ports.
func TestContainerfileBuildsAndStartsTheSandbox(t *testing.T) {
	program := filepath.Join(t.TempDir(), "messaging")
	content, err := os.ReadFile("Containerfile")
	require.NoError(t, err)
	var command []string
	for line := range strings.Lines(string(content)) {
		name, arguments, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch name {
		case "RUN":
			build := exec.Command("sh", "-c", strings.Replace(arguments, "-o /messaging", "-o "+program, 1))
			build.Dir = "../.."
			out, err := build.CombinedOutput()
			require.NoError(t, err, string(out))
		case "ENTRYPOINT", "CMD":
			var words []string
			require.NoError(t, json.Unmarshal([]byte(arguments), &words))
			command = append(command, words...)
		case "USER":
			assert.NotEqual(t, "root", arguments)
		}
	}
	require.Equal(t, "/messaging", command[0])

	cmd := exec.Command(program, append(command[1:], "--api-port", "0", "--ui-port", "0")...)
	cmd.Env = append(os.Environ(), "MESSAGING_SANDBOX_TOKEN=a-token-of-at-least-128-bits")
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(stdout)
	for lines.Scan() && !strings.Contains(lines.Text(), "MESSAGING_SANDBOX_URL") {
	}
	_, inspector, _ := strings.Cut(lines.Text(), "=")
	for path, want := range map[string]int{"/healthz": http.StatusOK, "/api/access": http.StatusUnauthorized} {
		response, err := http.Get(strings.Trim(inspector, "'") + path)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		assert.Equal(t, want, response.StatusCode, path)
	}
}
