package cli

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const readmeFile = "../../README.md"

// shell runs a line of a shell without a terminal, and returns what it printed.
func (o *operator) shell(line string) (text string, code int) {
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir, cmd.Env = o.folder, append(os.Environ(), o.env()...)
	output, _ := cmd.CombinedOutput() // the exit code has the error
	return string(output), cmd.ProcessState.ExitCode()
}

// onTerminal runs a line of a shell on a terminal, and answers its question if it has one.
func (o *operator) onTerminal(line, answer string) (text string, code int) {
	s, err := startSession(o.folder, o.env(), "sh", "-c", line)
	require.NoError(o.t, err)
	if s.expect("[y/N] ") {
		s.write(answer + "\n")
	}
	code, err = s.wait()
	require.NoError(o.t, err)
	return s.text(), code
}

// recordedSteps are the commands of the recorded run. An answer is given on a terminal.
var recordedSteps = []struct{ line, answer string }{
	{"messaging sandbox fault answer_lost --op 'send email broadcast'", ""},
	{"messaging -p sandbox broadcast email --from-file email.json --to-customers customers.csv --dry-run", ""},
	{"messaging -p sandbox broadcast email --from-file email.json --to-customers customers.csv", "y"},
	{"messaging -p sandbox broadcast email --from-file email.json --to-customers customers.csv", "y"},
	{"messaging sandbox wait 'op:send email broadcast' 'subject:We have moved' delivery:unknown --after start --json=number,at,effect", ""},
	{"messaging -p sandbox broadcast email --from-file email.json --to-customers customers.csv --again", "y"},
}

// fixed are what the recorded run shows in place of what differs from run to run.
var fixed = []struct {
	pattern *regexp.Regexp
	text    string
}{
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:8077"},
	{regexp.MustCompile(`\b[0-9a-f]{6}[0-9a-f]{58}\b`), "5eedf1…"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC`), "2026-01-02 03:04:05 UTC"},
	{regexp.MustCompile(`"at":"[^"]+"`), `"at":"2026-01-02T03:04:05Z"`},
	{regexp.MustCompile(` --ui http://127\.0\.0\.1:8077`), ""}, // on the default port
	{regexp.MustCompile(`came \S+ before`), "came 4s before"},
	{regexp.MustCompile(`\r`), ""},
}

// record runs the steps, and returns what an operator sees.
func record(o *operator) string {
	var all strings.Builder
	for _, step := range recordedSteps {
		run := func() (string, int) { return o.shell(step.line) }
		if step.answer != "" {
			run = func() (string, int) { return o.onTerminal(step.line, step.answer) }
		}
		text, code := run()
		for _, f := range fixed {
			text = f.pattern.ReplaceAllString(text, f.text)
		}
		fmt.Fprintf(&all, "$ %s\n%s", step.line, text)
		if code != 0 {
			fmt.Fprintf(&all, "[exit code %d]\n", code)
		}
		all.WriteString("\n")
	}
	return "```\n" + strings.TrimSuffix(all.String(), "\n") + "```\n"
}

func TestReadmeSortsUnclearEntriesByWhatTheSandboxHas(t *testing.T) {
	data, err := os.ReadFile(readmeFile)
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(data), "messaging outbox list --ledger orders.db --state unclear --json=key |")
	require.True(t, found)
	sort, _, _ := strings.Cut("messaging outbox list --ledger orders.db --state unclear --json=key |"+rest, "```")
	o := newOperator(t)
	rows := "email,order,shipped_at\n"
	for i := range 12 {
		rows += fmt.Sprintf("ada@example.com,A-%d,2026-11-20T10:00:00Z\n", i+1)
	}
	o.write("orders.csv", rows)
	o.confirmed("-p", "sandbox", "outbox", "import", "--ledger", "orders.db", "--from", "orders.csv", "--event", "order shipped",
		"--key-column", "order")
	o.must("sandbox", "fault", "answer_lost", "--op", "trigger event", "--count", "2")
	o.must("sandbox", "fault", "status", "--status", "500", "--op", "trigger event", "--count", "3")
	_, stderr, code := o.run("-p", "sandbox", "outbox", "run", "--ledger", "orders.db", "--until-empty")
	require.Equal(t, 9, code, stderr)
	text, code := o.shell(sort)
	require.Zero(t, code, text)
	text, code = o.shell(`d="messaging outbox dismiss --ledger orders.db -"; $d --confirm "$($d --dry-run <carried-out)" <carried-out
r="messaging -p sandbox outbox resend --ledger orders.db - --again"; $r --confirm "$($r --dry-run <not-carried-out)" <not-carried-out
messaging -p sandbox outbox run --ledger orders.db --until-empty`)
	require.Zero(t, code, text)
	assert.Contains(t, o.must("outbox", "status", "--ledger", "orders.db", "--json"), `"accepted":10,"rejected":0,"unclear":0,"dismissed":2`)
	for i := range 12 {
		o.must("sandbox", "wait", "op:trigger", "has:effect", fmt.Sprintf("value:payload.order==A-%d", i+1), "--after", "start", "--count", "1",
			"--timeout", "0s")
	}
	o.must("sandbox", "wait", "op:trigger", "has:effect", "--after", "start", "--count", "12", "--timeout", "0s")
	_, _, code = o.run("sandbox", "wait", "op:trigger", "has:effect", "--after", "start", "--count", "13", "--timeout", "0s")
	assert.Equal(t, 11, code, "nothing was sent twice")
}

func TestReadmeShowsARunThatWasRecorded(t *testing.T) {
	data, err := os.ReadFile(readmeFile)
	require.NoError(t, err)
	readme := string(data)
	o := newOperator(t)
	_, rest, _ := strings.Cut(readme, "messaging sandbox --seed demo          # in another shell\n")
	setup, _, _ := strings.Cut(rest, "```")
	text, code := o.shell(setup)
	require.Zero(t, code, text)

	before, rest, _ := strings.Cut(readme, "<!-- recorded -->\n")
	shown, after, _ := strings.Cut(rest, "<!-- end -->")
	recorded := record(o)
	if *update {
		require.NoError(t, os.WriteFile(readmeFile, []byte(before+"<!-- recorded -->\n"+recorded+"<!-- end -->"+after), 0o644))
		return
	}
	assert.Equal(t, recorded, shown, "write it with -update")
	assert.Equal(t, 3, strings.Count(recorded, recordedSteps[4].line+"\n"), "both errors name the command that is run")
	o.requireBroadcasts(2)

	_, rest, _ = strings.Cut(after, "```sh\nsend=")
	script, _, _ := strings.Cut(rest, "```")
	other := newOperator(t) // which has sent nothing yet
	text, code = other.shell(setup + "send=" + script)
	assert.Zero(t, code, text)
}
