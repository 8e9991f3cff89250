package sandbox

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/outcome"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/fake"
	"github.com/messaging-go/messaging/internal/service"
)

// Preset is a rule for a common failure.
type Preset struct {
	Name  string
	About string
	Rule  fake.Rule
}

// Presets are rules for common failures.
var Presets = []Preset{
	{"Response lost once", "Carried out; the connection closes without a response.",
		fake.Rule{Count: 1, Probability: 1, Fault: fake.Fault{Kind: "answer_lost"}}},
	{"429 three times", "Not carried out; Retry-After is 1 s.",
		fake.Rule{Count: 3, Probability: 1, Fault: fake.Fault{Kind: "rate_limited", After: fake.Duration(time.Second)}}},
	{"502 with HTML", "Not carried out; a proxy's error page.",
		fake.Rule{Count: 1, Probability: 1, Fault: fake.Fault{Kind: "status", Status: 502,
			Body: "<html><body><h1>502 Bad Gateway</h1></body></html>"}}},
	{"35 s delay", "Carried out after the client has given up (it waits 30 s).",
		fake.Rule{Count: 1, Probability: 1, Fault: fake.Fault{Kind: "slow", After: fake.Duration(35 * time.Second)}}},
	{"Truncated JSON", "Carried out; the response is cut off.",
		fake.Rule{Count: 1, Probability: 1, Fault: fake.Fault{Kind: "malformed", Body: `{"success":true,"da`}}},
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
	return words.Delivery(messaging.DeliveryOf(outcome.Of(e)))
}

// ActiveRule is a rule of the service.
type ActiveRule struct {
	fake.ActiveRule
	// Delivery is what package messaging reports for a request that fails.
	Delivery string `json:"delivery"`
}

// Rules returns the rules in the order in which they apply.
func (b *Sandbox) Rules() []ActiveRule {
	rules := []ActiveRule{}
	for _, r := range b.service.Rules() {
		rules = append(rules, ActiveRule{r, Expect(r.Fault, r.Op)})
	}
	return rules
}

// AddRule adds a rule, which finds requests as [history.ParseRequest] has it, and returns its
// id. The error is a *[fake.RuleError].
func (b *Sandbox) AddRule(r fake.Rule) (id int, err error) {
	if err := r.Check(); err != nil {
		return 0, err
	}
	query, err := history.ParseRequest(r.Match)
	if err != nil {
		return 0, &fake.RuleError{Field: "match", Problem: err.Error()}
	}
	if len(query) > 0 {
		r.Matches = func(e *fake.Exchange, sent any) bool { return query.Match(b.History.Unanswered(e, sent)) }
	}
	id = b.service.AddRule(r)
	b.History.Touch()
	return id, nil
}

// ErrNotFound is the error for a rule that does not exist.
var ErrNotFound = errors.New("not found")

// RemoveRule removes a rule. It returns ErrNotFound if there is none with the id.
func (b *Sandbox) RemoveRule(id int) error {
	if !b.service.RemoveRule(id) {
		return ErrNotFound
	}
	b.History.Touch()
	return nil
}

// maxOutage is the longest outage.
const maxOutage = time.Hour

// Outage closes the port of the service and its connections for a duration. If there is
// an outage, the duration replaces the rest of it. The error is a *[fake.RuleError].
func (b *Sandbox) Outage(d time.Duration) error {
	if d <= 0 || d > maxOutage {
		return &fake.RuleError{Field: "for", Problem: fmt.Sprintf("must be more than 0 and at most %v", maxOutage)}
	}
	b.port.outage(d)
	b.History.Touch()
	return nil
}

// OutageUntil returns the end of the outage, or the zero time.
func (b *Sandbox) OutageUntil() time.Time { return b.port.outageUntil() }
