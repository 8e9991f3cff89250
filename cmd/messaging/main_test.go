package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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

// token is that of the sandboxes that listen on every address.
const token = "a-token-of-at-least-128-bits"

// TestContainerfileAndComposeFileStartTheSandbox runs the commands of the files, with the program in
// a folder of the test and on free ports. With a container engine, it starts the compose file too.
func TestContainerfileAndComposeFileStartTheSandbox(t *testing.T) {
	program := filepath.Join(t.TempDir(), "messaging")
	content, err := os.ReadFile("Containerfile")
	require.NoError(t, err)
	compose, err := os.ReadFile("compose.yaml")
	require.NoError(t, err)
	words := func(list string) (words []string) {
		require.NoError(t, json.Unmarshal([]byte(list), &words), list)
		return words
	}
	inCompose := func(name string) []string {
		return words(regexp.MustCompile(name + `: (\[.*?])`).FindStringSubmatch(string(compose))[1])
	}
	var entry, command []string
	for line := range strings.Lines(string(content)) {
		name, arguments, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch name {
		case "RUN":
			build := exec.Command("sh", "-c", strings.Replace(arguments, "-o /messaging", "-o "+program, 1))
			build.Dir = "../.."
			out, err := build.CombinedOutput()
			require.NoError(t, err, string(out))
		case "ENTRYPOINT":
			entry = words(arguments)
		case "CMD":
			command = words(arguments)
		case "USER":
			assert.NotEqual(t, "root", arguments)
		}
	}
	require.Equal(t, "/messaging", entry[0])
	t.Run("Containerfile", func(t *testing.T) {
		_, ui := startSandbox(t, program, append(entry[1:], command...)...)
		assert.Equal(t, http.StatusOK, get(t, ui+"/healthz", "", ""))
		assert.Equal(t, http.StatusUnauthorized, get(t, ui+"/api/access", "", "another"))
	})
	t.Run("compose file", func(t *testing.T) {
		api, ui := startSandbox(t, program, append(entry[1:], inCompose("command")...)...)
		assert.Equal(t, http.StatusOK, get(t, api+"/v1/events", "sandbox:8077", ""))
		assert.Equal(t, http.StatusOK, get(t, ui+"/api/access", "sandbox:8078", token))
		assert.Equal(t, http.StatusMisdirectedRequest, get(t, ui+"/api/access", "another:8078", token))
		healthy := exec.Command(program, inCompose("test")[2:]...)
		healthy.Env = []string{"MESSAGING_SANDBOX_TOKEN=" + token, "MESSAGING_SANDBOX_URL=" + ui}
		out, err := healthy.CombinedOutput()
		assert.NoError(t, err, string(out))
	})
	t.Run("containers", func(t *testing.T) {
		engine := slices.IndexFunc(engines, func(name string) bool { return exec.Command(name, "compose", "ls").Run() == nil })
		if engine < 0 {
			t.Skip("SKIPPED: no container engine is usable")
		}
		run := func(args ...string) string {
			cmd := exec.Command(engines[engine], append([]string{"compose", "--project-name", "messaging-test"}, args...)...)
			cmd.Env = append(os.Environ(), "MESSAGING_SANDBOX_TOKEN="+token, "API_PORT=", "UI_PORT=") // free ports
			out, err := cmd.Output()
			require.NoError(t, err, args)
			return strings.TrimSpace(string(out))
		}
		t.Cleanup(func() { run("down", "--rmi", "local") })
		run("up", "--build", "--detach", "--wait")
		assert.Equal(t, http.StatusOK, get(t, "http://"+run("port", "sandbox", "8077")+"/v1/events", "", ""))
		assert.Equal(t, http.StatusOK, get(t, "http://"+run("port", "sandbox", "8078")+"/healthz", "", ""))
	})
}

// engines are programs that start containers.
var engines = []string{"docker", "podman"}

// startSandbox starts a program on free ports, and returns the addresses of the service and the inspector.
func startSandbox(t *testing.T, program string, args ...string) (api, ui string) {
	cmd := exec.Command(program, append(args, "--api-port", "0", "--ui-port", "0")...)
	cmd.Env = append(os.Environ(), "MESSAGING_SANDBOX_TOKEN="+token)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(stdout)
	for _, into := range []*string{&api, new(string), &ui} {
		require.True(t, lines.Scan())
		_, value, _ := strings.Cut(lines.Text(), "=")
		*into = strings.Trim(value, "'")
	}
	return api, ui
}

// get requests a URL by a host name, with the key of the compose file and a token, and returns the status.
func get(t *testing.T, url, host, token string) int {
	r, err := http.NewRequest(http.MethodGet, url, nil)
	require.NoError(t, err)
	r.Host, r.Header = host, http.Header{"X-Authorization": {"sandbox-key-of-the-project"}, "Authorization": {"Bearer " + token}}
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode
}
