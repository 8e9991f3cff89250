//go:build unix

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// screen is a program in a terminal emulator.
type screen struct {
	t      *testing.T
	socket string
}

// openScreen runs the program in tmux. env adds to the environment of the operator.
func (o *operator) openScreen(columns, rows int, env []string, args ...string) *screen {
	o.t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		if os.Getenv("CI") != "" {
			o.t.Fatal("tmux is not installed")
		}
		o.t.Skip("SKIPPED: tmux is not installed")
	}
	s := &screen{o.t, filepath.Join(o.t.TempDir(), "tmux")}
	program, err := exec.LookPath("messaging")
	require.NoError(o.t, err)
	// The shell outlives an interrupt, and keeps the screen open.
	const script = `trap : INT; "$@"; echo "[exit code $?]"; exec sleep 600`
	start := []string{"new-session", "-d", "-x", fmt.Sprint(columns), "-y", fmt.Sprint(rows), "-c", o.folder, "env", "ON_TERMINAL=1"}
	start = append(append(append(start, o.env()...), env...), "sh", "-c", script, "sh", program)
	s.tmux(append(start, args...)...)
	o.t.Cleanup(func() { _ = exec.Command("tmux", "-S", s.socket, "kill-server").Run() })
	return s
}

func (s *screen) tmux(args ...string) string {
	s.t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command("tmux", append([]string{"-S", s.socket, "-f", os.DevNull}, args...)...)
	cmd.Env = append(os.Environ(), "TMUX=", "LC_ALL=C.UTF-8")
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(s.t, err, "tmux %s: %s", args, stderr.String())
	return string(out)
}

// text is what the screen shows, without colors.
func (s *screen) text() string {
	s.t.Helper()
	return strings.TrimRight(s.tmux("capture-pane", "-p"), "\n") + "\n"
}

// colored is what the screen shows, with its escape sequences for colors.
func (s *screen) colored() string {
	s.t.Helper()
	return s.tmux("capture-pane", "-p", "-e")
}

// expect waits until the screen shows a text.
func (s *screen) expect(text string) {
	s.t.Helper()
	shown := ""
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if shown = s.text(); strings.Contains(shown, text) {
			return
		}
	}
	require.Fail(s.t, "the screen does not show "+text, shown)
}

// end waits until the program has ended, with an exit code.
func (s *screen) end(code int) {
	s.t.Helper()
	s.expect(fmt.Sprintf("[exit code %d]", code))
}

func (s *screen) press(keys ...string) { s.tmux(append([]string{"send-keys"}, keys...)...) }

func (s *screen) resize(columns, rows int) {
	s.tmux("resize-window", "-x", fmt.Sprint(columns), "-y", fmt.Sprint(rows))
}

// compare compares the screen with a golden file.
func (s *screen) compare(name string) {
	s.t.Helper()
	path, shown := filepath.Join("testdata", "screens", name+".txt"), maskScreen(s.text())
	if *update {
		require.NoError(s.t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(s.t, os.WriteFile(path, []byte(shown), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(s.t, err, "go test ./internal/cli -run Screen -update makes it")
	assert.Equal(s.t, string(want), shown)
}

// screenMasks hide what differs from run to run.
var screenMasks = []struct {
	pattern *regexp.Regexp
	mask    string
}{
	{regexp.MustCompile(`resolve [A-Z2-7]{10}`), "resolve ID"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+(#\w+)?`), "127.0.0.1:PORT"},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "DIGEST"},
	{regexp.MustCompile(`[\d,.]+/s`), "N/s"},
	{regexp.MustCompile(`ETA \S+`), "ETA T"},
	{regexp.MustCompile(`\d+ \w+ ago`), "T ago"},
}

func maskScreen(shown string) string {
	for _, m := range screenMasks {
		shown = m.pattern.ReplaceAllString(shown, m.mask)
	}
	return shown
}

func TestScreensShowThePlanAndThePrompt(t *testing.T) {
	o := newOperator(t)
	s := o.openScreen(80, 24, nil, sale...)
	s.expect("[y/N]")
	s.compare("plan-80x24")
	assert.Contains(t, s.colored(), "\x1b[1m")
	s.press("n", "Enter")
	s.end(2)
	o.requireBroadcasts(0)
}

func TestScreensShowProgressInOneLineWhileTheyAreResized(t *testing.T) {
	o := newOperator(t)
	rows := "email,order,shipped_at\n"
	for i := range 400 {
		rows += fmt.Sprintf("c%d@example.com,A-%d,2026-11-20T10:00:00Z\n", i, i)
	}
	o.write("orders.csv", rows)
	imported := []string{"-p", "sandbox", "outbox", "import", "--ledger", "o.db", "--from", "orders.csv", "--event", "order shipped",
		"--max-recipients", "400"}
	o.must(append(imported, "--confirm", strings.TrimSpace(o.must(append(imported, "--dry-run")...)))...)
	o.must("sandbox", "fault", "slow", "--after", "50ms", "--count", "0", "--op", "trigger event")

	s := o.openScreen(80, 24, nil, "-p", "sandbox", "outbox", "run", "--ledger", "o.db", "--until-empty", "--in-flight", "4")
	for _, columns := range []int{80, 40, 120} {
		s.resize(columns, 24)
		s.expect("ETA")
		assert.LessOrEqual(t, strings.Count(s.text(), "ETA"), 2, "a line that was wrapped by a resize stays, others do not:\n%s", s.text())
	}
	s.end(0)
	s.expect("in this run: 400 accepted")
}

func TestScreensHaveNoProgressOfARunThatSentNothing(t *testing.T) {
	o := newOperator(t)
	o.write("orders.csv", exampleFiles["orders.csv"])
	imported := []string{"-p", "sandbox", "outbox", "import", "--ledger", "o.db", "--from", "orders.csv", "--event", "order shipped"}
	o.must(append(imported, "--confirm", strings.TrimSpace(o.must(append(imported, "--dry-run")...)))...)
	o.must("outbox", "pause", "--ledger", "o.db")
	s := o.openScreen(120, 24, nil, "-p", "sandbox", "outbox", "run", "--ledger", "o.db", "--until-empty")
	s.end(7)
	assert.NotContains(t, s.text(), "/s")
}

func TestScreensShowATableAtTheirWidth(t *testing.T) {
	for columns, name := range map[int]string{80: "table-80x24", 200: "table-200x50"} {
		s := newOperator(t).openScreen(columns, 24, nil, "-p", "sandbox", "event", "list")
		s.end(0)
		s.compare(name)
	}
}

func TestScreensHaveNoColorIfNoneIsWanted(t *testing.T) {
	plain := newOperator(t).openScreen(80, 24, []string{"NO_COLOR=1"}, sale...)
	plain.expect("[y/N]")
	assert.NotContains(t, plain.colored(), "\x1b")
}

func TestScreensAreNotControlledByTextOfTheService(t *testing.T) {
	o := newOperator(t)
	hostile := `{"customers": [{"customer_id": "1", "email": "eve@example.com", "first_name": "Eve\u001b]0;owned\u0007\u001b[2J\u009b31m",
		"last_name": "\u202egnp.exe\u2066", "customer_created_at": "2026-01-01T08:00:00Z"}]}`
	inspector := &remoteFlags{url: o.sandbox.variables["MESSAGING_SANDBOX_URL"]}
	_, err := inspector.call(t.Context(), "POST", "/api/seed", json.RawMessage(hostile))
	require.NoError(t, err)
	s := o.openScreen(200, 50, nil, "-p", "sandbox", "customer", "get", "eve@example.com")
	s.end(0)
	s.compare("hostile")
	assert.NotContains(t, s.tmux("display-message", "-p", "#{pane_title}"), "owned")
}
