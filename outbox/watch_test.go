package outbox

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestARequestHangsOneSecondAfterItsDeadlineInARunningProcess(t *testing.T) {
	for name, test := range map[string]struct {
		deadline, takes time.Duration
		hangs           bool
	}{
		"returns":              {time.Minute, time.Minute - 1, false},
		"returns a bit late":   {time.Minute, time.Minute + 999*time.Millisecond, false},
		"does not return":      {time.Minute, time.Minute + 1001*time.Millisecond, true},
		"after a paused hour":  {-time.Hour, 999 * time.Millisecond, false},
		"hangs after that too": {-time.Hour, 1001 * time.Millisecond, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var called atomic.Int32
				w := newWatch(time.Now().Add(test.deadline), func() { called.Add(1) })
				time.Sleep(test.takes)
				assert.Equal(t, test.hangs, w.end())
				time.Sleep(time.Hour)
				assert.Equal(t, test.hangs, called.Load() == 1)
			})
		})
	}
}
