//go:build linux || darwin

package intent

import (
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
)

func TestLogTakesBackALineThatDidNotFit(t *testing.T) {
	log := emptyLog(t)
	require.NoError(t, begin(t, log, broadcast).Done(messaging.DeliveryNotSent, exit.NotDone))
	before, err := os.ReadFile(log.Path())
	require.NoError(t, err)

	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit))
	full := limit
	full.Cur = uint64(len(before)) + 20
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &full))
	_, err = log.Begin(t.Context(), broadcast, false, nil)
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))

	require.ErrorContains(t, err, "nothing was sent: cannot write down that this send begins")
	after, err := os.ReadFile(log.Path())
	require.NoError(t, err)
	assert.Equal(t, string(before), string(after))
	begin(t, log, broadcast)
}
