package cli

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/creack/pty"
	"github.com/rogpeppe/go-internal/testscript"
)

// exits runs the program and checks its exit code: exits CODE ARGS….
func exits(ts *testscript.TestScript, _ bool, args []string) {
	checkCode(ts, args[0], ts.Exec("messaging", args[1:]...))
}

func checkCode(ts *testscript.TestScript, want string, err error) {
	code := 0
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		code = exit.ExitCode()
	}
	if strconv.Itoa(code) != want {
		ts.Fatalf("the exit code is %d, not %s", code, want)
	}
}

// sendRequest sends a request to the service: send PATH [BODY].
func sendRequest(ts *testscript.TestScript, neg bool, args []string) {
	method, body := "GET", ""
	if len(args) > 1 {
		method, body = "POST", args[1]
	}
	r, err := http.NewRequest(method, ts.Getenv("SERVICE_URL")+args[0], strings.NewReader(body))
	ts.Check(err)
	r.Header.Set("X-Authorization", ts.Getenv("SERVICE_KEY"))
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	if err == nil {
		_ = response.Body.Close()
	}
	if (err != nil) != neg {
		ts.Fatalf("send: %v", err)
	}
}

// masks hide what differs from run to run.
var masks = []struct {
	pattern *regexp.Regexp
	mask    string
}{
	{regexp.MustCompile(`127\.0\.0\.1:\d+(#\w+)?`), "127.0.0.1:PORT"},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "DIGEST"},
	{regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f-]{18}\b`), "UUID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC`), "TIME UTC"},
	{regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`), ""},
	{regexp.MustCompile(`\r`), ""},
}

func mask(ts *testscript.TestScript, text string) string {
	text = strings.ReplaceAll(text, ts.Getenv("WORK"), "$WORK")
	for _, m := range masks {
		if strings.Contains(text, "5eed0000") && m.mask == "UUID" {
			continue
		}
		text = m.pattern.ReplaceAllString(text, m.mask)
	}
	return text
}

// masked copies the last stdout, stderr or terminal to a file, without what differs from run
// to run: masked stderr FILE.
func masked(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(mask(ts, ts.ReadFile(args[0]))), 0o666))
}

// golden runs the program, and writes what it printed to a file: golden FILE CODE ARGS….
func golden(ts *testscript.TestScript, _ bool, args []string) {
	checkCode(ts, args[1], ts.Exec("messaging", args[2:]...))
	text := mask(ts, ts.ReadFile("stdout"))
	if stderr := mask(ts, ts.ReadFile("stderr")); stderr != "" {
		text += "-- to stderr\n" + stderr
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o666))
}

// onTerminal runs the program on a terminal of 100 columns, types TEXT when it waits at the
// end of a question, and writes what the terminal shows to the file "terminal":
// terminal CODE TEXT ARGS….
func onTerminal(ts *testscript.TestScript, _ bool, args []string) {
	self, err := exec.LookPath("messaging")
	if err != nil {
		self = "messaging"
	}
	cmd := exec.Command(self, args[2:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "ON_TERMINAL=1", "TERM=xterm", "NO_COLOR=1", "MESSAGING_BASE_URL="+ts.Getenv("MESSAGING_BASE_URL"),
		"MESSAGING_API_KEY="+ts.Getenv("MESSAGING_API_KEY"), "MESSAGING_SANDBOX_URL="+ts.Getenv("MESSAGING_SANDBOX_URL"),
		"XDG_CONFIG_HOME="+ts.Getenv("XDG_CONFIG_HOME"), "XDG_STATE_HOME="+ts.Getenv("XDG_STATE_HOME"))
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 100})
	ts.Check(err)
	defer terminal.Close()
	shown := &question{terminal: terminal, answer: args[1]}
	timer := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	_, _ = io.Copy(shown, terminal) // ends with an error when the program has ended
	checkCode(ts, args[0], cmd.Wait())
	ts.Check(os.WriteFile(ts.MkAbs("terminal"), shown.text.Bytes(), 0o666))
}

// question is a terminal on which somebody answers a question.
type question struct {
	text     bytes.Buffer
	terminal io.Writer
	answer   string
	answered bool
}

func (q *question) Write(p []byte) (int, error) {
	q.text.Write(p)
	asked := bytes.HasSuffix(q.text.Bytes(), []byte("[y/N] ")) || bytes.HasSuffix(q.text.Bytes(), []byte("to confirm: "))
	if asked && !q.answered {
		q.answered = true
		_, _ = io.WriteString(q.terminal, strings.ReplaceAll(q.answer, "^C", "\x03")+"\n")
	}
	return len(p), nil
}
