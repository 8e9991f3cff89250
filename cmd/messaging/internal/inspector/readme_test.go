package inspector_test

import (
	"html"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector/guard"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTheFirstRequestOfAnEmptyListFillsIt runs the command that an empty list shows.
func TestTheFirstRequestOfAnEmptyListFillsIt(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("SKIPPED: there is no curl")
	}
	f := start(t, func(c *sandbox.Config, _ *guard.Config) { c.Seed = nil })
	const filter = `<details class="chips"`
	f.shows("/", "!"+filter, "export MESSAGING_SANDBOX_URL="+f.ui)
	command := html.UnescapeString(regexp.MustCompile(`(?s)<code>(curl .*?)</code>`).FindStringSubmatch(f.get("/").Body)[1])
	out, err := exec.CommandContext(t.Context(), "sh", "-c", strings.Replace(command, "curl ", "curl -sf ", 1)).CombinedOutput()
	require.NoError(t, err, "%s\n%s", command, out)
	f.shows("/", row, filter, "!422 rejected")
}

func TestThePythonOfTheReadmeFindsWhatIsWrong(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("SKIPPED: no Python is installed")
	}
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(readme), "```python\n")
	require.True(t, found)
	program, _, _ := strings.Cut(rest, "```")
	program += "\nunittest.main()\n"
	f := start(t)
	run := func(program string) (output string, err error) {
		cmd := exec.CommandContext(t.Context(), python, "-c", program)
		cmd.Env = append(cmd.Environ(), "MESSAGING_BASE_URL="+f.api, "MESSAGING_API_KEY="+testKey, "MESSAGING_SANDBOX_URL="+f.ui)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := run(program)
	require.NoError(t, err, out)
	assert.Contains(t, f.get("/").Body, "We have moved")
	out, err = run(strings.Replace(program, `"/api/mark", {"name": self.id()}`, `"/api/reset", {}`, 1))
	require.NoError(t, err, out)
	program = strings.Replace(program, `timeout="5s"`, `timeout="50ms"`, 1)
	for _, mistake := range []struct{ right, wrong, want string }{
		{`send_news("We have moved"`, `print("We have moved"`, "0 of 1 request matched in 50ms"},
		{`to:bob@example.com`, `to:ada@example.com`, "matched, and none was expected"},
		{`        sent, =`, `        send_news("Again", ["ada@example.com"]); sent, =`, "matched, and none was expected"},
		{`"subject": subject`, `"subject": 1`, "422: "},
	} {
		out, err := run(strings.Replace(program, mistake.right, mistake.wrong, 1))
		assert.Error(t, err, mistake.wrong)
		assert.Contains(t, out, mistake.want)
	}
}
