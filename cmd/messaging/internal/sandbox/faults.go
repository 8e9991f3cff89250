package sandbox

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/verdict"
	"github.com/messaging-go/messaging/messagingtest"
)

// Operations are the names of the operations, as in errors of package messaging.
var Operations = []string{"send email broadcast", "send push broadcast", "trigger event", "create event", "list events", "list customers",
	"list transactional messages"}

// FaultKinds are the kinds of faults that a rule can have.
var FaultKinds = []string{"answer_lost", "status", "rate_limited", "slow", "malformed"}

// FaultFields are the fields of a fault that its kind uses.
var FaultFields = map[string][]string{"status": {"status", "body"}, "rate_limited": {"after"}, "slow": {"after"}, "malformed": {"body"}}

// Rule says which requests fail. Its fields are those of messagingtest.Rule.
type Rule struct {
	Op          string  `json:"op"`
	Skip        int     `json:"skip"`
	Count       int     `json:"count"`
	Probability float64 `json:"probability"`
	Seed        uint64  `json:"seed"`
	Fault       Fault   `json:"fault"`
}

// NewRule returns what a rule has where nothing else is said: one request fails,
// for certain.
func NewRule() Rule { return Rule{Count: 1, Probability: 1} }

// Fault says how a request fails.
type Fault struct {
	Kind   string   `json:"kind"`
	Status int      `json:"status,omitempty"`
	Body   string   `json:"body,omitempty"`
	After  Duration `json:"after,omitzero"`
}

// Duration is a time.Duration that JSON has in the form "1m30s".
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

// ActiveRule is a rule of the service.
type ActiveRule struct {
	ID int `json:"id"`
	Rule
	Failed     int `json:"failed"`
	LetThrough int `json:"let_through"`
	// Delivery is what package messaging reports about a request that fails.
	Delivery string `json:"delivery"`
}

// AddRule adds a rule and returns its id. The error says what is invalid.
func (b *Sandbox) AddRule(r Rule) (id int, err error) {
	if r.Op != "" && !slices.Contains(Operations, r.Op) {
		return 0, fmt.Errorf("op: unknown operation %q; must be empty or one of %s", r.Op, strings.Join(Operations, ", "))
	}
	switch {
	case r.Skip < 0:
		return 0, fmt.Errorf("skip: must not be negative")
	case r.Count < 0:
		return 0, fmt.Errorf("count: must not be negative")
	case !(r.Probability > 0 && r.Probability <= 1):
		return 0, fmt.Errorf("probability: must be more than 0 and at most 1")
	case r.Seed != 0 && r.Probability == 1:
		return 0, fmt.Errorf("seed: has no effect without a probability below 1")
	}
	fault, err := r.Fault.fault()
	if err != nil {
		return 0, fmt.Errorf("fault.%w", err)
	}
	defer b.History.Touch()
	return b.service.AddFaultRule(messagingtest.Rule{
		Op: r.Op, Skip: r.Skip, Count: r.Count, Probability: r.Probability, Seed: r.Seed, Fault: fault}), nil
}

// fault returns the fault, or an error that begins with the invalid field.
func (f Fault) fault() (messagingtest.Fault, error) {
	if !slices.Contains(FaultKinds, f.Kind) {
		return messagingtest.Fault{}, fmt.Errorf("kind: unknown kind %q; must be one of %s", f.Kind, strings.Join(FaultKinds, ", "))
	}
	for _, field := range []struct {
		name string
		set  bool
	}{{"status", f.Status != 0}, {"body", f.Body != ""}, {"after", f.After != 0}} {
		if field.set && !slices.Contains(FaultFields[f.Kind], field.name) {
			return messagingtest.Fault{}, fmt.Errorf("%s: has no effect on %s", field.name, f.Kind)
		}
	}
	after := time.Duration(f.After)
	switch f.Kind {
	case "answer_lost":
		return messagingtest.AnswerLost(), nil
	case "malformed":
		return messagingtest.Malformed(f.Body), nil
	case "status":
		if f.Status < 200 || f.Status > 599 {
			return messagingtest.Fault{}, fmt.Errorf("status: must be from 200 to 599")
		}
		if f.Body == "" {
			return messagingtest.Status(f.Status), nil
		}
		return messagingtest.Status(f.Status, f.Body), nil
	case "rate_limited":
		if after < 0 {
			return messagingtest.Fault{}, fmt.Errorf("after: must not be negative")
		}
		return messagingtest.RateLimited(after), nil
	default: // slow
		if after <= 0 || after > time.Hour {
			return messagingtest.Fault{}, fmt.Errorf("after: must be more than 0 and at most 1h")
		}
		return messagingtest.Slow(after), nil
	}
}

// Rules returns the rules in the order in which they apply.
func (b *Sandbox) Rules() []ActiveRule {
	rules := []ActiveRule{}
	for _, r := range b.service.FaultRules() {
		fault := readFault(r.Rule.Fault)
		rules = append(rules, ActiveRule{ID: r.ID, Rule: Rule{Op: r.Rule.Op, Skip: r.Rule.Skip, Count: r.Rule.Count,
			Probability: r.Rule.Probability, Seed: r.Rule.Seed, Fault: fault},
			Failed: r.Failed, LetThrough: r.LetThrough, Delivery: fault.Expect(r.Rule.Op)})
	}
	return rules
}

// readFault returns a fault with the fields that its kind uses, so that what is
// read can be added again.
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

// RemoveRule removes a rule. It returns ErrNotFound if there is none.
func (b *Sandbox) RemoveRule(id int) error {
	if !b.service.RemoveFaultRule(id) {
		return ErrNotFound
	}
	b.History.Touch()
	return nil
}

// attemptTimeout is how long the client waits for a response by default.
const attemptTimeout = 30 * time.Second

// Expect returns the delivery that package messaging reports for a request of
// the operation that takes the fault. For "" it is a trigger.
func (f Fault) Expect(op string) string { return DeliveryName(f.verdict(op).Delivery) }

// Retried reports whether package messaging retries a request of the operation
// that takes the fault. For "" it is a trigger.
func (f Fault) Retried(op string) bool { return f.verdict(op).Retryable }

func (f Fault) verdict(op string) verdict.Verdict {
	if op == "" {
		op = "trigger event"
	}
	e := &messagingtest.Exchange{Op: op, Fault: f.Kind, Status: f.Status, ResponseBody: []byte(f.Body)}
	switch {
	case f.Kind == "slow" && time.Duration(f.After) < attemptTimeout:
		e.Status = 200
	case f.Kind == "malformed":
		e.Status = 200
	case f.Kind == "rate_limited":
		e.Status = 429
	case f.Kind == "status" && f.Body == "":
		e.ResponseBody = []byte(`{"success":false}`)
	}
	return verdict.Of(e)
}

// DeliveryName returns a delivery as it is in JSON.
func DeliveryName(d messaging.Delivery) string { return strings.ReplaceAll(d.String(), " ", "_") }

// MaxOutage is the longest outage.
const MaxOutage = time.Hour

// Outage closes the port of the service and its connections for a duration. It
// replaces an outage that lasts.
func (b *Sandbox) Outage(d time.Duration) error {
	if d <= 0 || d > MaxOutage {
		return fmt.Errorf("for: must be more than 0 and at most %v", MaxOutage)
	}
	b.port.outage(d)
	b.History.Touch()
	return nil
}

// OutageUntil returns the end of the outage, or the zero time.
func (b *Sandbox) OutageUntil() time.Time { return b.port.outageUntil() }

// Preset is a rule for a common failure.
type Preset struct {
	Name  string
	About string
	Rule  Rule
}

// Presets are rules for common failures.
var Presets = []Preset{
	{"Response lost once", "Carried out; the connection closes without a response.",
		Rule{Count: 1, Probability: 1, Fault: Fault{Kind: "answer_lost"}}},
	{"429 three times", "Not carried out; Retry-After is 1 s.",
		Rule{Count: 3, Probability: 1, Fault: Fault{Kind: "rate_limited", After: Duration(time.Second)}}},
	{"502 with HTML", "Not carried out; the page of a proxy.",
		Rule{Count: 1, Probability: 1, Fault: Fault{Kind: "status", Status: 502, Body: "<html><body><h1>502 Bad Gateway</h1></body></html>"}}},
	{"35 s delay", "Carried out after the client has given up: it waits for 30 s.",
		Rule{Count: 1, Probability: 1, Fault: Fault{Kind: "slow", After: Duration(35 * time.Second)}}},
	{"Truncated JSON", "Carried out; the response breaks off.",
		Rule{Count: 1, Probability: 1, Fault: Fault{Kind: "malformed", Body: `{"success":true,"da`}}},
}
