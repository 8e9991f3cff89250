package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestContainerfileBuildsAndStartsTheSandbox runs the commands of the file, with the program
// in a folder of the test and on free ports.
func TestContainerfileBuildsAndStartsTheSandbox(t *testing.T) {
	program := filepath.Join(t.TempDir(), "messaging")
	content, err := os.ReadFile("Containerfile")
	require.NoError(t, err)
	var command []string
	built := false
	for line := range strings.Lines(string(content)) {
		name, arguments, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch name {
		case "RUN":
			build := exec.Command("sh", "-c", strings.Replace(arguments, "-o /messaging", "-o "+program, 1))
			build.Dir = "../.."
			out, err := build.CombinedOutput()
			require.NoError(t, err, string(out))
			built = true
		case "ENTRYPOINT", "CMD":
			var words []string
			require.NoError(t, json.Unmarshal([]byte(arguments), &words))
			command = append(command, words...)
		case "USER":
			assert.NotEqual(t, "root", arguments)
		}
	}
	require.True(t, built)
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
	variables := map[string]string{}
	for lines := bufio.NewScanner(stdout); len(variables) < 3 && lines.Scan(); {
		name, value, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "export "), "=")
		variables[name] = strings.Trim(value, "'")
	}
	for url, want := range map[string]string{variables["MESSAGING_SANDBOX_URL"] + "/healthz": `200 {"ok":true}`,
		variables["MESSAGING_SANDBOX_URL"] + "/api/access": "401 "} {
		response, err := http.Get(url)
		require.NoError(t, err)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, errors.Join(err, response.Body.Close()))
		assert.Contains(t, fmt.Sprint(response.StatusCode, " ", string(body)), want, url)
	}
}
