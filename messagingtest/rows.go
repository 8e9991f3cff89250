package messagingtest

import (
	"encoding/json"
	"time"
)

// The layouts in which the service writes times.
const (
	secondLayout      = "2006-01-02T15:04:05Z"
	microsecondLayout = "2006-01-02T15:04:05.000000Z"
	wallClockLayout   = "2006-01-02 15:04:05"
)

// formatTime returns a time as it stands in a row. It returns nil for the zero time.
func formatTime(t time.Time, layout string) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(layout)
}

// truncateToSecond truncates a time to the precision of the times of a customer.
func truncateToSecond(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

// withExtra adds the members of extra to a row, except those that the row already has.
func withExtra(extra map[string]json.RawMessage, row map[string]any) map[string]any {
	for key, value := range extra {
		if row[key] == nil {
			row[key] = value
		}
	}
	return row
}

// timeOrNow returns t, or the current time if t is zero and extra has no member with the
// key.
func timeOrNow(extra map[string]json.RawMessage, key string, t time.Time) time.Time {
	if _, ok := extra[key]; t.IsZero() && !ok {
		return time.Now()
	}
	return t
}
