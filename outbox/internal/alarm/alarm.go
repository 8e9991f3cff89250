// Package alarm logs what keeps failing, but not each failure.
package alarm

import (
	"log/slog"
	"sync"
	"time"
)

// every is the time between two lines while something keeps failing.
const every = time.Minute

// Alarm is about one thing that can fail.
type Alarm struct {
	logger *slog.Logger
	text   string

	mu       sync.Mutex
	failing  bool
	logged   time.Time
	failures int // since then
}

// New returns an alarm that logs "cannot", the text and "retrying".
func New(logger *slog.Logger, text string) *Alarm { return &Alarm{logger: logger, text: text} }

// Failed logs the first failure, and one a minute after it.
func (a *Alarm) Failed(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failures++
	if a.failing && time.Since(a.logged) < every {
		return
	}
	a.logger.Error("outbox: cannot "+a.text+"; retrying", "error", err, "failures", a.failures)
	a.failing, a.logged, a.failures = true, time.Now(), 0
}

// Works logs the end of the failures.
func (a *Alarm) Works() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.failing {
		a.logger.Info("outbox: can " + a.text + " again")
	}
	a.failing, a.failures = false, 0
}
