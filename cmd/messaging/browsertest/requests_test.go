package browsertest

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	orderShipped = "5eed0000-0000-4000-8000-000000000001" // of the demo seed
	triggerPath  = "/v1/events/trigger"
	emailPath    = "/v1/broadcast/send/email"
)

// email returns the body of a broadcast.
func email(t testing.TB, subject, message string) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{
		"sender_email": "news@acme.test", "sender_name": "Acme", "email": "news@acme.test", "subject": subject, "message": message,
		"cc": []string{"team@acme.test"}, "message_type": "announcement", "schedule_type": "send-now",
		"variables": map[string]any{"first_name": "Ada", "season": "autumn"},
		"recipients": map[string]any{"type": "customer", "customers": []map[string]string{
			{"email": "ada@example.com", "first_name": "Ada"}, {"email": "maria@example.com", "first_name": "Maria"}}},
	})
	require.NoError(t, err)
	return string(body)
}

func trigger(email, shippedAt string) string {
	return `{"event_id":"` + orderShipped + `","payload":{"email":"` + email + `","order":"A-1001","shipped_at":"` + shippedAt +
		`","parcels":2}}`
}

// sendSome sends what shows every kind of outcome.
func sendSome(t testing.TB, b *box) {
	t.Helper()
	message, err := os.ReadFile("testdata/moved.html")
	require.NoError(t, err)
	b.send("GET", "/v1/events", "")
	b.send("GET", "/v1/customers?per_page=10", "")
	b.send("POST", "/v1/events", `{"name":"cart abandoned","description":"A cart was left.",`+
		`"parameters":[{"name":"items","type":"numeric","required":true}]}`)
	b.send("POST", triggerPath, `{"event_id":"`+orderShipped+`","payload":{"email":"alan@example.com","shipped_at":"2026-12-01T09:00:00Z"}}`)
	b.control("POST", "/api/faults", `{"op":"send push broadcast","count":1,"fault":{"kind":"answer_lost"}}`)
	b.send("POST", "/v1/broadcast/send/push-notification", `{"subject":"Come and see us","message":"The doors of our new shop open at nine.`+
		` Coffee is on us.","all_customers":true,"schedule_type":"send-now"}`)
	b.send("POST", triggerPath, trigger("alan@example.com", "2026-12-01T09:00:00Z"))
	b.control("POST", "/api/faults", `{"op":"create event","count":1,"fault":{"kind":"status","status":502,`+
		`"body":"<html><body><h1>502 Bad Gateway</h1></body></html>"}}`)
	b.send("POST", "/v1/events", `{"name":"invoice paid","description":"An invoice was paid.","parameters":[]}`)
	b.send("POST", emailPath, `{"sender_email":"news@acme.test","sender_name":"Acme","email":"not an address","subject":"Sale","message":"m",`+
		`"message_type":"x","schedule_type":"send-now","recipients":{"type":"customer","customers":[{"email":"ada@"},{"phone_no":"030"}]}}`)
	b.send("POST", triggerPath, trigger("grace@example.com", "21.11.2026"))
	b.send("POST", emailPath, email(t, "We have moved", string(message)))
	for range 4 {
		b.send("POST", triggerPath, trigger("ada@example.com", "2026-12-01T09:00:00Z"))
	}
}

// startBoxWithRows starts a sandbox with a list that is longer than a window.
func startBoxWithRows(t *testing.T) *box {
	t.Helper()
	b := startBox(t, "--seed", "demo")
	b.sendMany(40)
	return b
}

// sendMany sends triggers for different customers.
func (b *box) sendMany(n int) {
	b.t.Helper()
	for i := range n {
		require.Equal(b.t, 200, b.send("POST", triggerPath, trigger(fmt.Sprintf("c%d@example.com", i), "2026-12-01T09:00:00Z")))
	}
}
