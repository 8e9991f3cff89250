package cli

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/assert"
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
	stderr    strings.Builder // to be read when it has ended
	ended     chan int
}

// startSandbox starts a sandbox and reads its addresses from stdout.
func startSandbox(ctx context.Context, args ...string) (*runningSandbox, error) {
	stdout, output := io.Pipe()
	s := &runningSandbox{variables: map[string]string{}, ended: make(chan int, 1)}
	go func() {
		s.ended <- run(ctx, append([]string{"sandbox", "--api-port", "0", "--ui-port", "0"}, args...), output, &s.stderr)
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

func TestTheSandboxLogsARequestWithoutItsAddresses(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	sandbox, err := startSandbox(ctx, "--log")
	require.NoError(t, err)
	const push = "/v1/broadcast/send/push-notification"
	send := func(path, members string) {
		body := `{"subject":"s","message":"m",` + members + `}`
		r, err := http.NewRequest(http.MethodPost, sandbox.variables["MESSAGING_BASE_URL"]+path, strings.NewReader(body))
		require.NoError(t, err)
		r.Header = http.Header{"X-Authorization": {sandbox.variables["MESSAGING_API_KEY"]}, "Content-Type": {"application/json"}}
		if response, err := http.DefaultClient.Do(r); err == nil {
			require.NoError(t, response.Body.Close())
		}
	}
	const two = `"recipients":[{"type":"customer","customers":[{"email":"ada@example.com"},{"email":"bob@example.com"}]},` +
		`{"type":"segment","segments":["vip"]}]`
	send(push, `"schedule_type":"send-now",`+two)
	send(push, two)
	_, _, code := invoke(t, "sandbox", "fault", "answer_lost", "--ui", sandbox.variables["MESSAGING_SANDBOX_URL"])
	require.Zero(t, code)
	send(push, `"schedule_type":"send-now","all_customers":true`)
	send("/v1/ada@example.com", two)
	stop()
	require.Zero(t, <-sandbox.ended)
	lines := regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\dT[0-9:.]+Z  (.*)$`).FindAllStringSubmatch(sandbox.stderr.String(), -1)
	require.Len(t, lines, 4, sandbox.stderr.String())
	for i, want := range []string{"send push broadcast  200  accepted  2 recipients and 1 segment",
		"send push broadcast  422  rejected  2 recipients and 1 segment", "send push broadcast  no response  unknown  all customers",
		"no operation  404  rejected  0 recipients"} {
		assert.Equal(t, want, lines[i][1])
	}
}

// TestScripts runs the scripts in testdata, each with its own sandbox. The command
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
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "refused": refused, "send": sendRequest, "terminal": onTerminal, "confirmed": confirmed,
		},
	})
}
