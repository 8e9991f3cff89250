package cli

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// exits runs the program and checks its exit code: exits CODE ARGS….
func exits(ts *testscript.TestScript, _ bool, args []string) {
	checkCode(ts, args[0], ts.Exec("messaging", args[1:]...))
}

// refused runs the program, which has to fail with an exit code and an error: refused CODE REGEXP ARGS….
func refused(ts *testscript.TestScript, _ bool, args []string) {
	checkCode(ts, args[0], ts.Exec("messaging", args[2:]...))
	if text := ts.ReadFile("stderr"); !regexp.MustCompile("(?m)" + args[1]).MatchString(text) {
		ts.Fatalf("the error does not match %q", args[1])
	}
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

// onTerminal runs the program on a terminal, types TEXT when it asks, and writes what the
// terminal shows to the file "terminal": terminal CODE TEXT ARGS…. If MEANWHILE is set, a
// shell runs that before the answer.
func onTerminal(ts *testscript.TestScript, _ bool, args []string) {
	var env []string
	for _, name := range []string{"MESSAGING_BASE_URL", "MESSAGING_API_KEY", "MESSAGING_SANDBOX_URL",
		"XDG_CONFIG_HOME", "XDG_STATE_HOME", "SERVICE_KEY", "COLUMNS", "TMPDIR"} {
		env = append(env, name+"="+ts.Getenv(name))
	}
	s, err := startSession(ts.MkAbs("."), env, "messaging", args[2:]...)
	ts.Check(err)
	if s.expect("[y/N] ", " to confirm: ") {
		if line := ts.Getenv("MEANWHILE"); line != "" {
			ts.Check(ts.Exec("sh", "-c", line))
		}
		text := args[1]
		if text != "^C" { // a line after an interrupt could be read before it
			text += "\n"
		}
		s.write(text)
	}
	code, err := s.wait()
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("terminal"), []byte(s.text()), 0o666))
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("the exit code is %d, not %s:\n%s", code, args[0], s.text())
	}
}

// confirmed runs the program with the digest of its dry run, and checks its exit code: confirmed CODE ARGS….
func confirmed(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(ts.Exec("messaging", append(args[1:], "--dry-run")...))
	digest := strings.TrimSpace(ts.ReadFile("stdout"))
	checkCode(ts, args[0], ts.Exec("messaging", append(args[1:], "--confirm", digest)...))
}
