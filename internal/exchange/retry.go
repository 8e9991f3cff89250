package exchange

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// RetryPolicy sets how often a call is retried, and how long it waits between attempts.
type RetryPolicy struct {
	MaxAttempts                     int // including the first
	MinWait, MaxWait, MaxRetryAfter time.Duration
}

// WithDefaults returns p with each zero field replaced by its default.
func (p RetryPolicy) WithDefaults() RetryPolicy {
	if p.MaxAttempts == 0 {
		p.MaxAttempts = 3
	}
	if p.MinWait == 0 {
		p.MinWait = 500 * time.Millisecond
	}
	if p.MaxWait == 0 {
		p.MaxWait = max(8*time.Second, p.MinWait)
	}
	if p.MaxRetryAfter == 0 {
		p.MaxRetryAfter = 30 * time.Second
	}
	return p
}

// wait returns the wait after the given number of attempts, for when the service does not
// ask for one. It grows with each attempt. It is random, so that clients that failed at the
// same time do not retry at the same time.
func (p RetryPolicy) wait(attempts int, random float64) time.Duration {
	longest := p.MinWait
	for range attempts {
		if longest >= p.MaxWait/2 {
			longest = p.MaxWait
			break
		}
		longest *= 2
	}
	return p.MinWait + time.Duration(random*float64(longest-p.MinWait))
}

// pause returns the wait after the last of some attempts. It returns false if there should be
// no next one, because the service asked for a longer wait than the policy allows.
func (p RetryPolicy) pause(attempts int, last *Result, random float64) (time.Duration, bool) {
	if !last.asksToWait {
		return p.wait(attempts, random), true
	}
	return max(last.RetryAfter, p.MinWait), last.RetryAfter <= p.MaxRetryAfter // 0 must not cause a busy loop
}

// parseRetryAfter reads the Retry-After header. It holds seconds, with a fraction in the
// responses of some servers, or a date, which is compared with the Date of the response
// because clocks differ. For anything else, parseRetryAfter returns false. The wait is never
// negative and never overflows.
func parseRetryAfter(header http.Header, now time.Time) (time.Duration, bool) {
	value := header.Get("Retry-After")
	if isDecimal(value) {
		seconds, _ := strconv.ParseFloat(value, 64) // infinite if it is out of range
		return time.Duration(min(seconds, float64(math.MaxInt64/time.Second)) * float64(time.Second)), true
	}
	until, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		now = date
	}
	return max(0, until.Sub(now)), true
}

// isDecimal reports whether text is a number such as 2 or 1.5.
func isDecimal(text string) bool {
	whole, fraction, point := strings.Cut(text, ".")
	isDigits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	return isDigits(whole) && (!point || isDigits(fraction))
}
