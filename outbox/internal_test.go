package outbox

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
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
