package sandbox

import (
	"fmt"
	"net/http"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/outcome"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/fake"
	"github.com/messaging-go/messaging/internal/service"
)

// RuleError reports what is invalid in a rule or an outage.
type RuleError = fake.RuleError

func ruleError(field, format string, args ...any) error {
	return &RuleError{Field: field, Problem: fmt.Sprintf(format, args...)}
}

// attemptTimeout is how long the client waits for a response by default.
const attemptTimeout = 30 * time.Second

// Expect returns the delivery that package messaging reports for a request of the
// operation with the fault. Without an operation, it is that of a send.
func Expect(f fake.Fault, op string) string {
	if op == "" {
		op = service.TriggerEvent.Name
	}
	e := &fake.Exchange{Op: op, Fault: f.Kind, Status: f.Status, ResponseBody: []byte(f.Body)}
	switch {
	case f.Kind == fake.Slow && time.Duration(f.After) < attemptTimeout, f.Kind == fake.Malformed:
		e.Status = http.StatusOK
	case f.Kind == fake.RateLimited:
		e.Status = http.StatusTooManyRequests
	case f.Kind == fake.Status && f.Body == "":
		e.ResponseBody = []byte(`{"success":false}`)
	}
	return words.Delivery(outcome.Of(e).Delivery)
}
