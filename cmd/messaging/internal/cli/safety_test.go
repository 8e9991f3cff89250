package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sends"
	"github.com/messaging-go/messaging/messagingtest"
)

// operator is somebody with a sandbox, or a service, and a folder.
type operator struct {
	t       *testing.T
	sandbox *runningSandbox
	folder  string
	service *messagingtest.Server // in place of the sandbox
}

func newOperator(t *testing.T) *operator {
	sandbox, err := startSandbox(t.Context(), "--seed", "demo")
	require.NoError(t, err)
	t.Cleanup(func() { <-sandbox.ended })
	o := &operator{t: t, sandbox: sandbox, folder: t.TempDir()}
	require.NoError(t, os.CopyFS(o.folder, os.DirFS("testdata/files")))
	return o
}

func (o *operator) write(name, content string) {
	require.NoError(o.t, os.WriteFile(filepath.Join(o.folder, name), []byte(content), 0o600))
}

func (o *operator) env() []string {
	env := []string{"XDG_CONFIG_HOME=" + filepath.Join(o.folder, "config"), "XDG_STATE_HOME=" + filepath.Join(o.folder, "state")}
	if o.service != nil {
		return append(env, "MESSAGING_BASE_URL="+o.service.URL(), "MESSAGING_API_KEY="+o.service.APIKey())
	}
	return append(env, "MESSAGING_BASE_URL=", "MESSAGING_API_KEY=",
		"MESSAGING_SANDBOX_URL="+o.sandbox.variables["MESSAGING_SANDBOX_URL"])
}

// command returns the program without a terminal.
func (o *operator) command(args ...string) *exec.Cmd {
	cmd := exec.Command("messaging", args...)
	cmd.Dir, cmd.Env = o.folder, append(os.Environ(), o.env()...)
	return cmd
}

// inProcess makes the process of the test that of the operator, for invoke.
func (o *operator) inProcess() {
	for _, variable := range o.env() {
		name, value, _ := strings.Cut(variable, "=")
		o.t.Setenv(name, value)
	}
	o.t.Chdir(o.folder)
}

// run runs the program without a terminal.
func (o *operator) run(args ...string) (stdout, stderr string, code int) {
	var out bytes.Buffer
	stderr, code = o.runTo(&out, args...)
	return out.String(), stderr, code
}

// runTo runs the program, whose stdout is a file, or is copied to a writer.
func (o *operator) runTo(stdout io.Writer, args ...string) (stderr string, code int) {
	var text bytes.Buffer
	cmd := o.command(args...)
	cmd.Stdout, cmd.Stderr = stdout, &text
	_ = cmd.Run() // the exit code has it
	return text.String(), cmd.ProcessState.ExitCode()
}

// must runs the program, which has to succeed.
func (o *operator) must(args ...string) (stdout string) {
	o.t.Helper()
	stdout, stderr, code := o.run(args...)
	require.Equal(o.t, 0, code, stderr)
	return stdout
}

var sale = []string{"-p", "sandbox", "broadcast", "push", "--subject", "Sale", "--message", "Today", "--to-customers", "two.csv"}

// requireBroadcasts counts the broadcasts that the sandbox has carried out.
func (o *operator) requireBroadcasts(want int) {
	o.t.Helper()
	list, _, _ := strings.Cut(o.get("/api/broadcasts"), `"next"`)
	require.Equal(o.t, want, strings.Count(list, `"kind":`), list)
}

// get asks the inspector.
func (o *operator) get(path string) string {
	o.t.Helper()
	box, err := profile.Find(o.sandbox.variables["MESSAGING_SANDBOX_URL"])
	require.NoError(o.t, err)
	found, err := box.Call(o.t.Context(), "GET", path, nil)
	require.NoError(o.t, err)
	return string(found)
}

// ends runs the program without a terminal, which has to end with an exit code.
func (o *operator) ends(want int, args ...string) (stderr string) {
	o.t.Helper()
	_, stderr, code := o.run(args...)
	require.Equal(o.t, want, code, stderr)
	return stderr
}

// digested adds the digest of its dry run to a command.
func (o *operator) digested(args ...string) []string {
	o.t.Helper()
	return append(slices.Clip(args), "--confirm", strings.TrimSpace(o.must(append(slices.Clip(args), "--dry-run")...)))
}

// sends returns the record of sends.
func (o *operator) sends() (list []sends.Shown) {
	o.t.Helper()
	require.NoError(o.t, json.Unmarshal([]byte(o.must("sends", "list", "--json")), &list))
	return list
}

// awaitRequest waits until a request has taken the only fault.
func (o *operator) awaitRequest() {
	o.t.Helper()
	require.Eventually(o.t, func() bool { return strings.Contains(o.get("/api/faults"), `"items":[]`) }, patience, 5*time.Millisecond)
}

func TestARestartedSandboxRemembersNothingUnlessItsStartsHaveOneName(t *testing.T) {
	t.Parallel()
	o := &operator{t: t, folder: t.TempDir()}
	o.write("two.csv", "email\nada@example.com\ngrace@example.com\n")
	o.write("orders.csv", "email,order,amount\nada@example.com,A-1,1\n")
	var confirmed []string
	port := "0"
	for i, name := range []string{"shop", "other", "shop"} {
		ctx, cancel := context.WithCancel(t.Context())
		var err error
		o.sandbox, err = startSandbox(ctx, "--seed", "demo", "--start-id", name, "--api-port", port)
		require.NoError(t, err)
		port = o.sandbox.variables["MESSAGING_BASE_URL"][len("http://127.0.0.1:"):]
		run := []string{"-p", "sandbox", "outbox", "run", "--ledger", "o.db", "--until-empty"}
		switch i {
		case 0:
			o.confirmed("-p", "sandbox", "outbox", "import", "--ledger", "o.db", "--from", "orders.csv", "--event", "order refunded")
			b, err := (&ledgerFlag{path: filepath.Join(o.folder, "o.db")}).open(ctx)
			require.NoError(t, err)
			require.NoError(t, errors.Join(b.Pause(ctx, messaging.OpSendEmailBroadcast), b.ledger.Close()))
			confirmed = o.digested(sale...)
			o.must(confirmed...)
		case 1:
			assert.Contains(t, o.ends(2, run...), "the sandbox was started again, and remembers nothing")
			o.ends(2, confirmed...) // a digest belongs to one start
			o.confirmed(sale...)
			// The variables of a sandbox are the same service with the same key as its profile.
			line := fmt.Sprintf("export MESSAGING_BASE_URL=http://127.0.0.1:%s MESSAGING_API_KEY=%s", port,
				o.sandbox.variables["MESSAGING_API_KEY"]) +
				"; send=\"messaging " + strings.Join(sale[2:], " ") + "\"; $send --confirm \"$($send --dry-run)\""
			text, code := o.shell(line)
			assert.Equal(t, 12, code, text)
		case 2:
			assert.NotContains(t, o.ends(0, run...), "paused", "what another program has paused is no trigger")
			assert.Contains(t, o.get("/api/triggers"), "ada@example.com")
			assert.Contains(t, o.ends(12, o.digested(sale...)...), "exactly this was sent")
		}
		stream, err := http.Get(o.sandbox.variables["MESSAGING_SANDBOX_URL"] + "/api/stream")
		require.NoError(t, err)
		cancel()
		assert.Equal(t, 0, <-o.sandbox.ended, "although a stream is open")
		require.NoError(t, stream.Body.Close())
	}
	require.Len(t, o.sends(), 2)
	content, err := os.ReadFile(filepath.Join(o.folder, "state", "messaging", "sends.jsonl"))
	require.NoError(t, err)
	assert.Regexp(t, `"service":"127.0.0.1:\d+#other"`, string(content), "the start is part of the service")
	assert.NotContains(t, string(content), "@")
}

// started starts a program on a terminal.
func (o *operator) started(env []string, name string, args ...string) *session {
	o.t.Helper()
	s, err := startSession(o.folder, append(o.env(), env...), name, args...)
	require.NoError(o.t, err)
	return s
}

// answer answers the question of a program, which has to end with an exit code.
func (o *operator) answer(s *session, text string, want int) {
	o.t.Helper()
	s.write(text + "\n")
	o.requireExit(s, want)
}

// requireExit waits until the program on a terminal has ended with an exit code.
func (o *operator) requireExit(s *session, want int) {
	o.t.Helper()
	code, err := s.wait()
	require.NoError(o.t, err)
	require.Equal(o.t, want, code, s.text())
}

// interruptedSend starts a send on a terminal, and interrupts it while it waits for the
// response.
func (o *operator) interruptedSend(delay string, more ...string) *session {
	o.t.Helper()
	o.must("sandbox", "fault", "slow", "--after", delay, "--op", "send push broadcast")
	s := o.started(nil, "messaging", slices.Concat(sale, more)...)
	require.True(o.t, s.expect("[y/N] "))
	s.write("y\n")
	o.awaitRequest()
	s.write("^C")
	return s
}

func TestTheFirstInterruptWaitsForTheResponseAndTheSecondEndsWithUnknown(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	const waiting = "waiting for the response of the send; interrupt again to stop waiting"
	s := o.interruptedSend("1s")
	o.requireExit(s, 0)
	assert.Contains(t, s.text(), waiting)
	assert.Contains(t, s.text(), "accepted")
	o.requireBroadcasts(1)
	assert.Contains(t, o.ends(2, "sends", "resolve", o.sends()[0].ID, "--not-carried-out"), "the send is accepted already; to send")

	s = o.interruptedSend("60s", "--again")
	require.True(t, s.expect(waiting))
	s.write("^C")
	o.requireExit(s, 9)
	assert.Contains(t, o.ends(9, o.digested(sale...)...), "may have been carried out")
}

func TestTypingAheadConfirmsNothing(t *testing.T) {
	o := newOperator(t)
	typed := make(chan struct{})
	inspector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-typed
		_, _ = w.Write([]byte(o.get(r.URL.Path)))
	}))
	defer inspector.Close()
	s := o.started([]string{"MESSAGING_SANDBOX_URL=" + inspector.URL, "NO_COLOR="}, "messaging", sale...)
	s.write("y\ny\n")
	close(typed)
	require.True(t, s.expect("[y/N] "))
	assert.Contains(t, s.text(), "\x1b[1m", "the plan is in color")
	o.answer(s, "", 2)
	o.requireBroadcasts(0)
}

// confirmed runs a command of an outbox, and confirms what its dry run shows.
func (o *operator) confirmed(args ...string) {
	o.t.Helper()
	o.must(o.digested(args...)...)
}

func TestTimeThatPassesWhileTheQuestionWaitsIsRefused(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	var at time.Time
	var s *session
	for ahead, asked := 2*time.Second, false; !asked; ahead *= 4 { // on a slow machine, the time can pass before the question
		require.Less(t, ahead, patience)
		at = time.Now().Add(ahead).UTC().Truncate(time.Second)
		s = o.started(nil, "messaging", append(sale, "--timezone", "UTC", "--at", at.Format(secondForm))...)
		if asked = s.expect("[y/N] "); !asked {
			o.requireExit(s, 2)
		}
	}
	time.Sleep(time.Until(at.Add(time.Millisecond)))
	o.answer(s, "y", 2)
	assert.Contains(t, s.text(), "is in the past; nothing was sent")
	o.requireBroadcasts(0)
}

func TestOutputThatIsLostIsAnError(t *testing.T) {
	o := newOperator(t)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("there is no /dev/full")
	}
	defer full.Close()
	closed, pipe, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	defer pipe.Close()
	for _, command := range []string{"-p sandbox customer list", "-p sandbox customer list --json", "help exit-codes", "--version",
		"profile list", "sandbox dump", "sandbox mark", "sandbox env", "sandbox fault list --json",
		"sandbox fault status --status 500 --skip 1000", "completion bash"} {
		stderr, code := o.runTo(full, strings.Fields(command)...)
		assert.Equal(t, 1, code, command)
		assert.Contains(t, stderr, "no space left on device", command)
	}
	confirmed := o.digested(sale...)
	unseen := o.command(confirmed...)
	unseen.Stderr = full
	_ = unseen.Run() // the exit code has it
	assert.Equal(t, 2, unseen.ProcessState.ExitCode(), "a plan that cannot be shown confirms nothing")
	o.requireBroadcasts(0)
	stderr, code := o.runTo(full, append(confirmed, "--json")...)
	assert.Equal(t, 7, code, stderr)
	assert.Contains(t, stderr, "it was done, but the output could not be written")
	stderr, code = o.runTo(pipe, append(o.digested(append(sale, "--again")...), "--json")...)
	assert.Equal(t, 0, code, "a reader that has gone wants nothing: %s", stderr)
	o.requireBroadcasts(2)
}

func TestPlanAndQuestionAreOnTheTerminalIfStderrIsAFile(t *testing.T) {
	o := newOperator(t)
	s := o.started(nil, "sh", "-c", "messaging -p sandbox broadcast push --subject Sale --message Today --to-customers two.csv 2>plan")
	require.True(t, s.expect("Send this broadcast? [y/N] "), s.text())
	assert.Contains(t, s.text(), "2 customers of two.csv")
	plan, err := os.ReadFile(filepath.Join(o.folder, "plan"))
	require.NoError(t, err)
	assert.Contains(t, string(plan), "2 customers of two.csv")
	assert.NotContains(t, string(plan), "[y/N]")
	o.answer(s, "n", 2)
}

// mistakes are ends of command lines with an unset variable or a forgotten flag.
var mistakes = map[string][]string{
	"push": {"-q", "--segments=", "--segments=,", "--segments=a,,b", "--segments --all-customers", "--segments=a --max-recipients=10",
		"--to-customers=", "--to-customers=empty.csv", "--to-customers=header.csv", "--to-customers=missing.csv",
		"--to-customers=swapped.csv", "--to-customers=swapped.csv --skip-bad-rows", "--to-customers=empty.jsonl",
		"--to-customers=two.csv --all-customers", "--all-customers=false", "--all-customers --max-recipients=0",
		"--to-customers=two.csv --at= --timezone=", "--to-customers=two.csv --at=2001-01-01T09:00:00Z",
		"--to-customers=two.csv --at=tomorrow --timezone=UTC", "--to-customers=two.csv --from-file=push.json",
		"--to-customers=two.csv --confirm=yes", "--to-customers=two.csv --message=@empty.csv", "--to-customers=two.csv stray"},
	"email": {"--cc=", "--cc=grace@example.com,,alan@example.com", "--bcc=\u00a0", "--reply-to=",
		"--variables=@empty.csv", "--variables=null", "--variables=[]"},
}

func TestMistakesSendNothing(t *testing.T) {
	o := newOperator(t)
	o.inProcess()
	o.write("empty.csv", "")
	o.write("empty.jsonl", "\n\n")
	o.write("header.csv", "email\n")
	o.write("swapped.csv", "email,first_name\nAda,ada@example.com\n")
	o.write("push.json", `{"subject": "s", "message": "m"}`)
	for channel, list := range mistakes {
		for _, mistake := range list {
			args := []string{"-p", "sandbox", "broadcast", channel, "--subject", "Sale", "--message", "Today"}
			if channel == "email" {
				args = append(args, "--sender-email", "news@acme.test", "--sender-name", "Acme", "--email", "ada@example.com",
					"--message-type", "t", "--to-customers", "two.csv")
			}
			_, stderr, code := invoke(t, append(append(args, "--dry-run"), strings.Split(mistake, " ")...)...)
			assert.Equal(t, 2, code, "%q: %s", mistake, stderr)
		}
	}
	for _, file := range []string{`{"subject": "s", "message": "m", "recipients": []}`,
		`{"subject": "s", "message": "m", "all_customers": true}`,
		`{"subject": "s", "message": "m", "schedule_type": "now"}`, `{"subject": "s", "messgae": "m"}`, ``,
		`{"subject": "s", "message": "m", "subject": "t"}`} {
		o.write("push.json", file)
		_, stderr, code := invoke(t, "-p", "sandbox", "broadcast", "push", "--from-file", "push.json", "--to-customers", "two.csv", "--dry-run")
		assert.Equal(t, 2, code, "%s: %s", file, stderr)
	}
	o.requireBroadcasts(0)
	assert.NoFileExists(t, filepath.Join(o.folder, "state", "messaging", "sends.jsonl"))
}
