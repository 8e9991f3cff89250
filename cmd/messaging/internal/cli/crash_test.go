package cli

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// endedBy starts the program, sends it a signal when it waits for a slow response, and returns
// its exit code.
func (o *operator) endedBy(signal os.Signal, args ...string) (stderr string, code int) {
	o.t.Helper()
	o.must("sandbox", "fault", "slow", "--after", "60s")
	var text bytes.Buffer
	cmd := o.command(args...)
	cmd.Stderr = &text
	require.NoError(o.t, cmd.Start())
	o.awaitRequest()
	require.NoError(o.t, cmd.Process.Signal(signal))
	ended := new(exec.ExitError)
	require.True(o.t, errors.As(cmd.Wait(), &ended))
	return text.String(), ended.ExitCode()
}

func TestQuitDuringASendIsUnknown(t *testing.T) {
	o := newOperator(t)
	confirmed := func(args []string) []string {
		return append(args, "--confirm", strings.TrimSpace(o.must(append(args, "--dry-run")...)))
	}
	for _, signal := range []os.Signal{syscall.SIGQUIT, syscall.SIGABRT} {
		stderr, code := o.endedBy(signal, confirmed(append(slices.Clone(sale), "--again"))...)
		assert.Equal(t, 9, code, stderr)
		assert.Contains(t, stderr, "may have been carried out: look before you repeat it\n")
		assert.NotContains(t, stderr, "goroutine")
	}
	_, _, code := o.run(confirmed(slices.Clone(sale))...)
	assert.Equal(t, 2, code)
}

func TestQuitDuringARunOfTheOutboxIsUnknown(t *testing.T) {
	o := newOperator(t)
	o.write("orders.csv", exampleFiles["orders.csv"])
	text, code := o.shell(`orders="-p sandbox outbox import -q --ledger orders.db --from orders.csv --key-column order"
		messaging $orders --event "order shipped" --confirm "$(messaging $orders --event "order shipped" --dry-run)"`)
	require.Zero(t, code, text)
	stderr, code := o.endedBy(syscall.SIGQUIT, "-p", "sandbox", "outbox", "run", "--ledger", "orders.db")
	assert.Equal(t, 9, code, stderr)
}

func TestQuitDuringAReadIsAnInterrupt(t *testing.T) {
	o := newOperator(t)
	for _, signal := range []os.Signal{syscall.SIGQUIT, syscall.SIGABRT} {
		stderr, code := o.endedBy(signal, "-p", "sandbox", "customer", "list", "--json")
		assert.Equal(t, 130, code, stderr)
		assert.Regexp(t, `\A\{"error":\{"message":"ended by a signal: `, stderr)
	}
}

func TestPanicShowsItsStackAndNoSecret(t *testing.T) {
	t.Cleanup(func() { sendBegan.Store(false) })
	for begun, want := range map[bool]int{false: 1, true: 9} {
		sendBegan.Store(begun)
		var stderr bytes.Buffer
		assert.Equal(t, want, withoutPanic(func() int { panic("the key is CANARY") }, nil, &stderr))
		assert.Contains(t, stderr.String(), "crash_test.go:")
		assert.Contains(t, stderr.String(), "messaging: panic: ")
		assert.NotContains(t, stderr.String(), "CANARY")
	}
	var stderr bytes.Buffer
	withoutPanic(func() int { return []int{}[len(stderr.String())] }, nil, &stderr)
	assert.Contains(t, stderr.String(), "index out of range")
}
