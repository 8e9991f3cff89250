package cli

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "record the run in the README again")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"messaging": func() {
		if os.Getenv("ON_TERMINAL") == "" {
			leaveTerminal()
		}
		os.Exit(Main())
	}, "walk": walkCustomers})
}

// runningSandbox is a sandbox that runs in the process of the test.
type runningSandbox struct {
	variables map[string]string
	ended     chan int
}

// startSandbox starts a sandbox and reads its addresses from stdout.
func startSandbox(ctx context.Context, args ...string) (*runningSandbox, error) {
	stdout, output := io.Pipe()
	s := &runningSandbox{variables: map[string]string{}, ended: make(chan int, 1)}
	go func() {
		s.ended <- run(ctx, append([]string{"sandbox", "--api-port", "0", "--ui-port", "0"}, args...), output, io.Discard)
		_ = output.Close()
	}()
	lines := bufio.NewScanner(stdout)
	for len(s.variables) < 3 {
		if !lines.Scan() {
			return nil, errors.New("the sandbox ended early")
		}
		name, value, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "export "), "=")
		s.variables[name] = strings.Trim(value, "'")
	}
	return s, nil
}

// TestScripts runs the scripts in testdata, each with its own sandbox and the files that they share. The command
// "exits CODE" runs the program and checks its exit code, and "refused CODE REGEXP" its error
// too; see scripts_test.go for the others.
func TestScripts(t *testing.T) {
	folder, err := filepath.Abs("testdata/script")
	require.NoError(t, err)
	t.Chdir(".") // so that it is this folder again in the end
	for _, name := range scriptVariables {
		t.Setenv(name, "")
	}
	testscript.Run(t, testscript.Params{
		Dir: folder,
		Setup: func(env *testscript.Env) error {
			sandbox, err := startSandbox(t.Context(), "--seed", "demo")
			if err != nil {
				return err
			}
			t.Cleanup(func() { <-sandbox.ended })
			for name, value := range sandbox.variables {
				env.Setenv(name, value)
			}
			env.Setenv("SERVICE_URL", sandbox.variables["MESSAGING_BASE_URL"])
			env.Setenv("SERVICE_KEY", sandbox.variables["MESSAGING_API_KEY"])
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "config"))
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
			env.Setenv("API_PORT", sandbox.variables["MESSAGING_BASE_URL"][len("http://127.0.0.1:"):])
			env.Setenv("UI_PORT", sandbox.variables["MESSAGING_SANDBOX_URL"][len("http://127.0.0.1:"):])
			return os.CopyFS(env.WorkDir, os.DirFS(filepath.Join(folder, "..", "files")))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "refused": refused, "prints": prints, "says": says, "confirmed": confirmed, "send": sendRequest,
			"terminal": onTerminal, "shows": shows,
		},
	})
}
