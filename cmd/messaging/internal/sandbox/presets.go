package sandbox

import "time"

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
	{"502 with HTML", "Not carried out; a proxy's error page.",
		Rule{Count: 1, Probability: 1, Fault: Fault{Kind: "status", Status: 502, Body: "<html><body><h1>502 Bad Gateway</h1></body></html>"}}},
	{"35 s delay", "Carried out after the client has given up (it waits 30 s).",
		Rule{Count: 1, Probability: 1, Fault: Fault{Kind: "slow", After: Duration(35 * time.Second)}}},
	{"Truncated JSON", "Carried out; the response is cut off.",
		Rule{Count: 1, Probability: 1, Fault: Fault{Kind: "malformed", Body: `{"success":true,"da`}}},
}
