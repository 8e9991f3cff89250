package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var apply = []string{"-p", "sandbox", "event", "apply", "events.json"}

// confirmedApply writes a file of definitions, and returns the command that creates them.
func (o *operator) confirmedApply() []string {
	o.t.Helper()
	o.write("events.json", exampleFiles["events.json"])
	return append(apply, "--confirm", strings.TrimSpace(o.must(append(apply, "--dry-run")...)))
}

func TestEventsAreCreatedOnceByTwoProcesses(t *testing.T) {
	o := newOperator(t)
	confirmed := o.confirmedApply()
	o.must("sandbox", "fault", "slow", "--after", "1s", "--op", "create event")
	type ended struct {
		stderr string
		code   int
	}
	results := make(chan ended)
	for range 3 {
		go func() {
			_, stderr, code := o.run(confirmed...)
			results <- ended{stderr, code}
		}()
	}
	for range 3 {
		each := <-results
		assert.Zero(t, each.code, each.stderr)
	}
	assert.Equal(t, 1, strings.Count(o.must("-p", "sandbox", "event", "list"), "order lost"))
}

func TestEventsWaitNoLongerThanTheTimeout(t *testing.T) {
	o := newOperator(t)
	confirmed := o.confirmedApply()
	o.must("sandbox", "fault", "slow", "--after", "60s", "--op", "create event")
	first := o.command(confirmed...)
	require.NoError(t, first.Start())
	o.awaitRequest()
	_, stderr, code := o.run(append(confirmed, "--timeout", "100ms")...)
	require.NoError(t, first.Process.Kill())
	_ = first.Wait() // it was killed
	assert.Equal(t, 8, code)
	assert.Contains(t, stderr, "nothing was created: another messaging event create or apply has not ended")
}

func TestEventsThatCannotBePrintedAreReportedAsCreated(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full")
	}
	o := newOperator(t)
	o.confirmedApply()
	text, code := o.shell(`apply="messaging -p sandbox event apply events.json"
		$apply --confirm "$($apply --dry-run)" >/dev/full`)
	assert.Equal(t, 7, code)
	assert.Contains(t, text, "1 of 1 event created, but not printed: write /dev/stdout: no space left on device; "+
		"to see them: messaging -p sandbox event list")
}
