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

// recordedSteps are the commands of the recorded run. An answer is given on a terminal.
var recordedSteps = []struct{ line, answer string }{
	{"messaging sandbox fault answer_lost --op 'send email broadcast'", ""},
	{"messaging -p sandbox broadcast email --from-file email.json --to-customers customers.csv", "y"},
	{"messaging sandbox wait 'op:send email broadcast' delivery:unknown --after 0 --json=number,at,effect", ""},
	{"messaging sends resolve SENDID --carried-out --json=operation,delivery", ""},
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
	{regexp.MustCompile(`resolve [A-Z2-7]{10}`), "resolve JKQ4XW6DZ7"},
	{regexp.MustCompile(`\r`), ""},
}

// record runs the steps, and returns what an operator sees.
func record(o *operator) string {
	var all strings.Builder
	for _, step := range recordedSteps {
		line := step.line
		for _, send := range o.sends() {
			line = strings.Replace(line, "SENDID", send.ID, 1)
		}
		var text string
		var code int
		if step.answer == "" {
			text, code = o.shell(line)
		} else {
			s := o.started(nil, "sh", "-c", line)
			require.True(o.t, s.expect("[y/N] "), s.text())
			s.write(step.answer + "\n")
			code, _ = s.wait() // the text shows more
			text = s.text()
		}
		text = "$ " + line + "\n" + text
		for _, f := range fixed {
			text = f.pattern.ReplaceAllString(text, f.text)
		}
		all.WriteString(text)
		if code != 0 {
			fmt.Fprintf(&all, "[exit code %d]\n", code)
		}
		all.WriteString("\n")
	}
	return "```\n" + strings.TrimSuffix(all.String(), "\n") + "```\n"
}

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(readmeFile)
	require.NoError(t, err)
	return string(text)
}

// commands returns what the README has for a shell once a sandbox runs, in blocks.
func commands(t *testing.T) (list []string) {
	_, rest, _ := strings.Cut(readme(t), "messaging sandbox --seed demo          # in another shell\n")
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch("```sh\n"+rest, -1) {
		list = append(list, block[1])
	}
	return list
}

func TestReadmeRuns(t *testing.T) {
	text, code := newOperator(t).shell("set -eu\n" + strings.Join(commands(t)[:3], "")) // the others ask
	assert.Zero(t, code, text)
}

func TestReadmeShowsARunThatWasRecorded(t *testing.T) {
	o := newOperator(t)
	text, code := o.shell(commands(t)[0])
	require.Zero(t, code, text)

	before, rest, _ := strings.Cut(readme(t), "<!-- recorded -->\n")
	shown, after, _ := strings.Cut(rest, "<!-- end -->")
	recorded := record(o)
	if *update {
		require.NoError(t, os.WriteFile(readmeFile, []byte(before+"<!-- recorded -->\n"+recorded+"<!-- end -->"+after), 0o644))
		return
	}
	assert.Equal(t, recorded, shown, "write it with -update")
	assert.Equal(t, 2, strings.Count(recorded, recordedSteps[2].line+"\n"), "the error names the command that is run")
	o.requireBroadcasts(1)
}
