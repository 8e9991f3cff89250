package sandbox

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/outcome"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/service"
	"github.com/messaging-go/messaging/messagingtest"
)

// FaultKinds are the kinds of faults that a rule can have.
var FaultKinds = []string{"answer_lost", "status", "rate_limited", "slow", "malformed"}

// FaultFields are the fields of a fault that its kind uses.
var FaultFields = map[string][]string{"status": {"status", "body"}, "rate_limited": {"after"}, "slow": {"after"}, "malformed": {"body"}}

// Fault describes how a request fails.
type Fault struct {
	Kind   string   `json:"kind"`
	Status int      `json:"status,omitempty"`
	Body   string   `json:"body,omitempty"`
	After  Duration `json:"after,omitzero"`
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

// check returns a *RuleError if the fault is invalid.
func (f Fault) check() error {
	if !slices.Contains(FaultKinds, f.Kind) {
		return ruleError("fault.kind", "unknown kind %q; must be one of %s; an outage is not a rule", f.Kind, strings.Join(FaultKinds, ", "))
	}
	for _, field := range []struct {
		name string
		set  bool
	}{{"status", f.Status != 0}, {"body", f.Body != ""}, {"after", f.After != 0}} {
		if field.set && !slices.Contains(FaultFields[f.Kind], field.name) {
			return ruleError("fault."+field.name, "has no effect on %s", f.Kind)
		}
	}
	after := time.Duration(f.After)
	switch {
	case f.Kind == "status" && (f.Status < 200 || f.Status > 599):
		return ruleError("fault.status", "must be from 200 to 599")
	case f.Kind == "rate_limited" && after < 0:
		return ruleError("fault.after", "must not be negative")
	case f.Kind == "slow" && (after <= 0 || after > time.Hour):
		return ruleError("fault.after", "must be more than 0 and at most 1h")
	}
	return nil
}

// fault returns the fault for the service. It must have been checked.
func (f Fault) fault() messagingtest.Fault {
	switch f.Kind {
	case "answer_lost":
		return messagingtest.AnswerLost()
	case "malformed":
		return messagingtest.Malformed(f.Body)
	case "rate_limited":
		return messagingtest.RateLimited(time.Duration(f.After))
	case "slow":
		return messagingtest.Slow(time.Duration(f.After))
	}
	if f.Body == "" {
		return messagingtest.Status(f.Status)
	}
	return messagingtest.Status(f.Status, f.Body)
}

// readFault returns a fault with the fields that its kind uses, so that what is read
// can be added again.
func readFault(f messagingtest.Fault) Fault {
	fault, used := Fault{Kind: f.Kind()}, FaultFields[f.Kind()]
	if slices.Contains(used, "status") {
		fault.Status = f.Status()
	}
	if slices.Contains(used, "body") {
		fault.Body = f.Body()
	}
	if slices.Contains(used, "after") {
		fault.After = Duration(f.After())
	}
	return fault
}

// attemptTimeout is how long the client waits for a response by default.
const attemptTimeout = 30 * time.Second

// Expect returns the delivery that package messaging reports for a request of the
// operation with the fault. Without an operation, it is that of a send.
func (f Fault) Expect(op string) string { return words.Delivery(f.outcome(op).Delivery) }

// Retried reports whether package messaging retries a request of the operation with
// the fault. Without an operation, it is a send.
func (f Fault) Retried(op string) bool { return f.outcome(op).Retryable }

func (f Fault) outcome(op string) outcome.Outcome {
	if op == "" {
		op = service.TriggerEvent.Name
	}
	e := &messagingtest.Exchange{Op: op, Fault: f.Kind, Status: f.Status, ResponseBody: []byte(f.Body)}
	switch {
	case f.Kind == "slow" && time.Duration(f.After) < attemptTimeout, f.Kind == "malformed":
		e.Status = http.StatusOK
	case f.Kind == "rate_limited":
		e.Status = http.StatusTooManyRequests
	case f.Kind == "status" && f.Body == "":
		e.ResponseBody = []byte(`{"success":false}`)
	}
	return outcome.Of(e)
}
