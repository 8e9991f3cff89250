package messagingtest

import (
	"time"

	"github.com/messaging-go/messaging"
)

// The forms in which the service writes times.
const (
	toTheSecond      = "2006-01-02T15:04:05Z"
	toTheMicrosecond = "2006-01-02T15:04:05.000000Z"
	wallClock        = "2006-01-02 15:04:05"
)

// timeText is a time as a row holds it, nil for none.
func timeText(t time.Time, form string) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(form)
}

// second is a time as the service keeps those of a customer.
func second(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

// withExtra adds to a row what a record has beside its fields, and in place of
// those that it lacks.
func withExtra(extra messaging.Extra, row map[string]any) map[string]any {
	for key, value := range extra {
		if row[key] == nil {
			row[key] = value
		}
	}
	return row
}

// presentUnless fills in a time that is missing, unless extra says something in
// its place.
func presentUnless(extra messaging.Extra, key string, t time.Time) time.Time {
	if _, given := extra[key]; t.IsZero() && !given {
		return time.Now()
	}
	return t
}
