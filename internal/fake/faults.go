package fake

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The kinds of faults.
const (
	AnswerLost  = "answer_lost"  // carries out the request, and closes the connection without a response
	Status      = "status"       // responds with Status and Body, and does not carry out the request
	RateLimited = "rate_limited" // responds with status 429 and After as Retry-After, and does not carry out the request
	Slow        = "slow"         // carries out the request when After is over, or the client cancels it
	Malformed   = "malformed"    // carries out the request, and responds with status 200 and Body
	NotReached  = "not_reached"  // closes the connection, and does not carry out the request
)

// FaultKinds are the kinds of faults that a [Rule] can have in JSON.
var FaultKinds = []string{AnswerLost, Status, RateLimited, Slow, Malformed}

// faultFields are the fields of a fault that its kind uses.
var faultFields = map[string][]string{Status: {"status", "body"}, RateLimited: {"after"}, Slow: {"after"}, Malformed: {"body"}}

// Fault is a way for a request to fail. The zero Fault has no effect.
type Fault struct {
	Kind   string   `json:"kind"`
	Status int      `json:"status,omitempty"`
	Body   string   `json:"body,omitempty"`
	After  Duration `json:"after,omitzero"`
	// EmptyBody means that a [Status] has no body, instead of an error of the service.
	EmptyBody bool `json:"-"`
}

// Duration is a time.Duration that is written in JSON as "1m30s".
type Duration time.Duration

// MarshalText writes the form "1m30s".
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads the form "1m30s".
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration such as 7s or 1m30s", text)
	}
	*d = Duration(parsed)
	return nil
}

// RuleError reports what is invalid in a rule.
type RuleError struct {
	Field   string // such as "fault.status"
	Problem string
}

// Error returns the field and the problem.
func (e *RuleError) Error() string { return e.Field + ": " + e.Problem }

func ruleError(field, format string, args ...any) error {
	return &RuleError{field, fmt.Sprintf(format, args...)}
}

// check returns a *RuleError if the fault is invalid.
func (f Fault) check() error {
	if !slices.Contains(FaultKinds, f.Kind) {
		return ruleError("fault.kind", "unknown kind %q; must be one of %s", f.Kind, strings.Join(FaultKinds, ", "))
	}
	for _, field := range []struct {
		name string
		set  bool
	}{{"status", f.Status != 0}, {"body", f.Body != ""}, {"after", f.After != 0}} {
		if field.set && !slices.Contains(faultFields[f.Kind], field.name) {
			return ruleError("fault."+field.name, "has no effect on %s", f.Kind)
		}
	}
	after := time.Duration(f.After)
	switch {
	case f.Kind == Status && (f.Status < 200 || f.Status > 599):
		return ruleError("fault.status", "must be from 200 to 599")
	case f.Kind == RateLimited && after < 0:
		return ruleError("fault.after", "must not be negative")
	case f.Kind == Slow && (after <= 0 || after > time.Hour):
		return ruleError("fault.after", "must be more than 0 and at most 1h")
	}
	return nil
}

// rejection returns the response in place of carrying out the request, or nil.
func (f Fault) rejection() *response {
	switch f.Kind {
	case Status:
		r := errorResponse(f.Status, http.StatusText(f.Status))
		if f.Body != "" || f.EmptyBody {
			r.body = []byte(f.Body)
		}
		return &r
	case RateLimited:
		r := errorResponse(http.StatusTooManyRequests, http.StatusText(http.StatusTooManyRequests))
		r.header.Set("Retry-After", strconv.Itoa(int(math.Ceil(max(0, time.Duration(f.After)).Seconds()))))
		return &r
	}
	return nil
}

// wait waits for the delay of the fault. It returns early if the request is canceled or
// the server closes.
func (f Fault) wait(ctx context.Context, closing <-chan struct{}) {
	if f.Kind != Slow {
		return
	}
	timer := time.NewTimer(time.Duration(f.After))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-closing:
	}
}

type faultKey struct{}

// WithFault returns a context with which a request takes a fault, instead of that of a
// [Rule]. With the zero Fault, it takes none.
func WithFault(ctx context.Context, f Fault) context.Context {
	return context.WithValue(ctx, faultKey{}, f)
}
