package outbox

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

func TestADeadlineIsOverByEitherClock(t *testing.T) {
	now := time.Now()
	deadline := now.Add(time.Minute)
	assert.False(t, expired(deadline, now, now))
	assert.True(t, expired(deadline, now.Add(time.Minute), now))
	assert.True(t, expired(deadline, now, now.Add(time.Minute)), "the machine was asleep")
}

func TestWaitsGrowUpToALimit(t *testing.T) {
	c := defaultConfig()
	for attempts, most := range map[int]time.Duration{1: 500 * time.Millisecond, 2: time.Second, 5: 8 * time.Second, 60: time.Minute} {
		for range 20 {
			wait := c.timing.growingWait(attempts)
			assert.LessOrEqual(t, wait, most)
			assert.GreaterOrEqual(t, wait, most/2)
		}
	}
}

func TestTheGateObeysRetryAfterOfASendThatWasInFlight(t *testing.T) {
	g := newGate(defaultConfig().timing.gate, slog.New(slog.DiscardHandler))
	now := time.Now()
	blocked := outcome{state: ledger.Pending, block: blockAlways, reason: "429"}
	assert.True(t, g.report(blocked, false, now, now))
	assert.Equal(t, 500*time.Millisecond, g.wait(now))
	blocked.retryAfter = 2 * time.Minute
	assert.True(t, g.report(blocked, false, now, now))
	assert.Equal(t, 2*time.Minute, g.wait(now))
}

func TestTheGateAsksToWaitWhileAProbeIsSent(t *testing.T) {
	g := newGate(defaultConfig().timing.gate, slog.New(slog.DiscardHandler))
	now := time.Now()
	g.report(outcome{state: ledger.Pending, block: blockAlways, reason: "429"}, false, now, now)
	now = now.Add(time.Second)
	assert.Zero(t, g.wait(now), "a probe can be sent")
	pass, _, _ := g.admit(now)
	assert.Equal(t, passProbe, pass)
	assert.Equal(t, 500*time.Millisecond, g.wait(now))
}
