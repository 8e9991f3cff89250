package intent

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
)

func newLog(t *testing.T) *Log {
	return &Log{path: filepath.Join(t.TempDir(), "messaging", "sends.jsonl"), now: time.Now}
}

var broadcast = Send{Host: "api.example.com", Operation: "send", Body: []byte(`{"email":"ada@example.com"}`)}

func begin(t *testing.T, log *Log, s Send) *Intent {
	t.Helper()
	begun, err := log.Begin(t.Context(), s, false)
	require.NoError(t, err)
	return begun
}

func requireRefused(t *testing.T, log *Log, s Send, want string) {
	t.Helper()
	_, err := log.Begin(t.Context(), s, false)
	require.ErrorContains(t, err, want)
	assert.Equal(t, exit.Usage, exit.CodeOf(err))
	_, err = log.Begin(t.Context(), s, true)
	require.NoError(t, err, "--again allows it")
}

func TestLogRefusesWhatMayHaveBeenSent(t *testing.T) {
	t.Run("accepted", func(t *testing.T) {
		log := newLog(t)
		require.NoError(t, begin(t, log, broadcast).Done(messaging.DeliveryAccepted, exit.Done))
		requireRefused(t, log, broadcast, "was accepted")
	})
	t.Run("unknown, however long ago", func(t *testing.T) {
		log := newLog(t)
		require.NoError(t, begin(t, log, broadcast).Done(messaging.DeliveryUnknown, exit.Unknown))
		log.now = func() time.Time { return time.Now().Add(1000 * time.Hour) }
		requireRefused(t, log, broadcast, "its response was lost")
	})
	t.Run("without an outcome", func(t *testing.T) {
		log := newLog(t)
		begin(t, log, broadcast)
		log.now = func() time.Time { return time.Now().Add(1000 * time.Hour) }
		requireRefused(t, log, broadcast, "has no outcome")
	})
}

func TestLogAllowsWhatWasNotCarriedOut(t *testing.T) {
	for _, delivery := range []messaging.Delivery{messaging.DeliveryNotSent, messaging.DeliveryRejected} {
		log := newLog(t)
		require.NoError(t, begin(t, log, broadcast).Done(delivery, exit.NotDone))
		begin(t, log, broadcast)
	}
}

func TestLogAllowsTheSameAfterADay(t *testing.T) {
	log := newLog(t)
	require.NoError(t, begin(t, log, broadcast).Done(messaging.DeliveryAccepted, exit.Done))
	log.now = func() time.Time { return time.Now().Add(window) }
	begin(t, log, broadcast)
}

func TestLogTellsSendsApart(t *testing.T) {
	log := newLog(t)
	begin(t, log, broadcast)
	begin(t, log, Send{Host: "api.example.com#2", Operation: broadcast.Operation, Body: broadcast.Body})
	begin(t, log, Send{Host: broadcast.Host, Operation: "trigger", Body: broadcast.Body})
	begin(t, log, Send{Host: broadcast.Host, Operation: broadcast.Operation, Body: []byte(`{"email":"bda@example.com"}`)})
}

func TestLogIsPrivateAndHoldsNoContent(t *testing.T) {
	log := newLog(t)
	begin(t, log, broadcast)
	info, err := os.Stat(log.Path())
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	content, err := os.ReadFile(log.Path())
	require.NoError(t, err)
	assert.NotContains(t, string(content), "ada")
}

func TestLogCutsOffALineThatACrashTore(t *testing.T) {
	log := newLog(t)
	begin(t, log, broadcast)
	content, err := os.ReadFile(log.Path())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(log.Path(), append(content, content[:20]...), 0o600))
	requireRefused(t, log, broadcast, "has no outcome")
	content, err = os.ReadFile(log.Path())
	require.NoError(t, err)
	assert.Equal(t, 2, strings.Count(string(content), "\n"))
}

func TestLogSendsNothingIfItCannotBeReadOrWritten(t *testing.T) {
	log := newLog(t)
	require.NoError(t, os.MkdirAll(log.Path(), 0o700)) // a folder is in its place
	_, err := log.Begin(t.Context(), broadcast, true)
	require.ErrorContains(t, err, "nothing was sent: cannot write down that this send begins")
	assert.Equal(t, exit.Unexpected, exit.CodeOf(err))

	log = newLog(t)
	begin(t, log, broadcast)
	require.NoError(t, os.WriteFile(log.Path(), []byte("{}\nbroken\n{}\n"), 0o600))
	_, err = log.Begin(t.Context(), broadcast, true)
	require.ErrorContains(t, err, "line 2 is broken")
}

func TestLogLetsOneOfManyBegin(t *testing.T) {
	log := newLog(t)
	var begun sync.Map
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			other := &Log{path: log.path, now: time.Now} // as in another process
			if _, err := other.Begin(context.Background(), broadcast, false); err == nil {
				begun.Store(i, true)
			}
		})
	}
	group.Wait()
	count := 0
	begun.Range(func(_, _ any) bool { count++; return true })
	assert.Equal(t, 1, count)
}
