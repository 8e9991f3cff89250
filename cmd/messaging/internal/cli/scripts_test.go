package cli

import (
	"context"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptVariables are what the program gets from a script.
var scriptVariables = []string{"MESSAGING_BASE_URL", "MESSAGING_API_KEY", "MESSAGING_SANDBOX_URL", "XDG_CONFIG_HOME", "XDG_STATE_HOME",
	"SERVICE_KEY", "TMPDIR", "HOME"}

// process is held while the process of the test has the folder and the variables of a script.
var process sync.Mutex

// ended runs the program in the process of the test, since a process of its own takes ten
// times as long, and checks its exit code.
func ended(ts *testscript.TestScript, want string, args []string) (stdout, stderr string) {
	process.Lock()
	defer process.Unlock()
	ts.Check(os.Chdir(ts.MkAbs(".")))
	for _, name := range scriptVariables {
		ts.Check(os.Setenv(name, ts.Getenv(name)))
	}
	var out, err strings.Builder
	code := run(context.Background(), args, io.MultiWriter(ts.Stdout(), &out), io.MultiWriter(ts.Stderr(), &err))
	if strconv.Itoa(code) != want {
		ts.Fatalf("the exit code is %d, not %s", code, want)
	}
	return out.String(), err.String()
}

// exits runs the program and checks its exit code: exits CODE ARGS….
func exits(ts *testscript.TestScript, _ bool, args []string) { ended(ts, args[0], args[1:]) }

// matches checks that a text has a regular expression.
func matches(ts *testscript.TestScript, pattern, text string) {
	if !regexp.MustCompile("(?m)" + pattern).MatchString(text) {
		ts.Fatalf("nothing matches %q", pattern)
	}
}

// refused runs the program, which has to fail with an exit code and an error: refused CODE REGEXP ARGS….
func refused(ts *testscript.TestScript, _ bool, args []string) {
	_, text := ended(ts, args[0], args[2:])
	matches(ts, args[1], text)
}

// prints and says run the program, which has to succeed with a text on stdout, or on stderr: prints REGEXP ARGS….
func prints(ts *testscript.TestScript, _ bool, args []string) {
	text, _ := ended(ts, "0", args[1:])
	matches(ts, args[0], text)
}

func says(ts *testscript.TestScript, _ bool, args []string) {
	_, text := ended(ts, "0", args[1:])
	matches(ts, args[0], text)
}

// confirmed runs the program with the digest of its dry run, and checks its exit code: confirmed CODE ARGS….
func confirmed(ts *testscript.TestScript, _ bool, args []string) {
	digest, _ := ended(ts, "0", append(args[1:], "--dry-run"))
	ended(ts, args[0], append(args[1:], "--confirm", strings.TrimSpace(digest)))
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

// shows is like terminal, and the terminal has to show a text: shows REGEXP CODE TEXT ARGS….
func shows(ts *testscript.TestScript, neg bool, args []string) {
	onTerminal(ts, neg, args[1:])
	matches(ts, args[0], ts.ReadFile("terminal"))
}

// onTerminal runs the program on a terminal, types TEXT when it asks, and writes what the
// terminal shows to the file "terminal": terminal CODE TEXT ARGS…. If MEANWHILE is set, a
// shell runs that before the answer.
func onTerminal(ts *testscript.TestScript, _ bool, args []string) {
	var env []string
	for _, name := range scriptVariables {
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
