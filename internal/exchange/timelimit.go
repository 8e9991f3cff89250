package exchange

import (
	"errors"
	"slices"
	"time"
)

// ErrNotAfter is returned if the request would begin after its time limit.
var ErrNotAfter = errors.New("the time set by WithNotAfter was reached")

// TimeLimit is the time after which no request begins. It has passed if one of two clocks
// says so: the wall clock, and the monotonic clock, which nobody can set back. The zero
// TimeLimit is no limit.
type TimeLimit struct{ wall, monotonic time.Time }

// NewTimeLimit returns the limit t.
func NewTimeLimit(t time.Time) TimeLimit {
	now := time.Now()
	return TimeLimit{wall: t.Round(0), monotonic: now.Add(t.Sub(now))}
}

// Earliest returns the limit that has passed if one of the two has.
func (l TimeLimit) Earliest(other TimeLimit) TimeLimit {
	switch {
	case l == TimeLimit{}:
		return other
	case other == TimeLimit{}:
		return l
	}
	earliest := func(times ...time.Time) time.Time { return slices.MinFunc(times, time.Time.Compare) }
	return TimeLimit{wall: earliest(l.wall, other.wall), monotonic: earliest(l.monotonic, other.monotonic)}
}

// passed reports whether no request may begin now. It reads the clocks only if there is a limit.
func (l *TimeLimit) passed() bool { return *l != (TimeLimit{}) && l.passedAt(time.Now()) }

// passedAt reports whether no request may begin at a time that is read from both clocks.
func (l *TimeLimit) passedAt(t time.Time) bool {
	return *l != (TimeLimit{}) && (t.After(l.monotonic) || t.Round(0).After(l.wall))
}
