package main

import (
	"bufio"
	"encoding/json"
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

// instruction is a line of a Containerfile.
type instruction struct{ name, arguments string }

func readContainerfile(t *testing.T) (list []instruction) {
	t.Helper()
	content, err := os.ReadFile("Containerfile")
	require.NoError(t, err)
	for line := range strings.Lines(string(content)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, arguments, ok := strings.Cut(line, " ")
		require.True(t, ok, line)
		require.Contains(t, []string{"FROM", "WORKDIR", "COPY", "RUN", "USER", "EXPOSE", "ENTRYPOINT", "CMD"}, name)
		list = append(list, instruction{name, arguments})
	}
	return list
}

// TestContainerfileBuildsAndStartsTheSandbox runs the commands of the file, with the program
// in a folder of the test and on free ports.
func TestContainerfileBuildsAndStartsTheSandbox(t *testing.T) {
	program := filepath.Join(t.TempDir(), "messaging")
	var command []string
	built := false
	for _, i := range readContainerfile(t) {
		switch i.name {
		case "RUN":
			build := exec.Command("sh", "-c", strings.Replace(i.arguments, "-o /messaging", "-o "+program, 1))
			build.Dir = "../.."
			out, err := build.CombinedOutput()
			require.NoError(t, err, string(out))
			built = true
		case "ENTRYPOINT", "CMD":
			var words []string
			require.NoError(t, json.Unmarshal([]byte(i.arguments), &words))
			command = append(command, words...)
		case "USER":
			assert.NotEqual(t, "root", i.arguments)
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
	get := func(url, header, value string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		require.NoError(t, err)
		r.Header.Set(header, value)
		response, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response.StatusCode, string(body)
	}
	inspector := variables["MESSAGING_SANDBOX_URL"]
	status, body := get(inspector+"/healthz", "Accept", "*/*")
	assert.Equal(t, 200, status)
	assert.JSONEq(t, `{"ok":true}`, body)
	status, _ = get(inspector+"/api/access", "Accept", "*/*")
	assert.Equal(t, 401, status)
	status, body = get(inspector+"/api/customers", "Authorization", "Bearer a-token-of-at-least-128-bits")
	assert.Equal(t, 200, status)
	assert.Contains(t, body, "Lovelace", "the seed of CMD")
	status, _ = get(variables["MESSAGING_BASE_URL"]+"/v1/events", "X-Authorization", variables["MESSAGING_API_KEY"])
	assert.Equal(t, 200, status)
}
