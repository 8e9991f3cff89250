package sandbox

import (
	"time"

	"github.com/messaging-go/messaging/internal/fake"
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
