package inspector_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging/cmd/messaging/internal/findings"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
)

func TestTheRulesAreTheValuesOfASearch(t *testing.T) {
	var ids []string
	for _, rule := range findings.Rules {
		ids = append(ids, rule.ID)
	}
	assert.Equal(t, history.Codes, ids)
	assert.LessOrEqual(t, len(ids), 12)
}

func TestEachRuleFindsItsMistake(t *testing.T) {
	const valid = `{"event_id":"` + orderShipped + `","payload":{"email":"grace@example.com",` +
		`"order":"A-1001","shipped_at":"2026-12-01T09:00:00Z"}}`
	trigger := func(old, with string) string { return strings.Replace(valid, old, with, 1) }
	f := start(t)
	for _, test := range []struct{ step, code, text string }{
		{"trigger " + valid, "", ""},
		{"trigger " + valid, "duplicate", "as request 1."},
		{"trigger " + skippedBody, "skipped", "shipped_at was skipped"},
		{"trigger " + trigger(orderShipped, "order shipped"), "name_as_id", "Its id is " + orderShipped},
		{"POST /v1/events/triger " + valid, "wrong_path", "did you mean /v1/events/trigger?"},
		{"POST /elsewhere " + valid, "", ""},
		{"trigger " + trigger(`"order"`, `"parcel":2,"order"`), "unknown_parameter", "payload.parcel (did you mean parcels?) was sent"},
		{"GET /v1/events?per_pages=1", "unknown_parameter", "per_pages (did you mean per_page?) was sent"},
		{"trigger " + trigger(`"order"`, `"parcels":"2","order"`), "wrong_type", "parcels was sent"},
		{"trigger " + trigger("A-1001", " "), "empty_value", "order was empty"},
		{"email " + broadcastOf("{{name}}", "{{nobody}} {{email}}"), "no_variable", "{{nobody}} was"},
		{"email " + broadcastOf("{{name}}", "{{a}} {{b}} {{c}} {{d}} {{e}} {{f}} {{g}}"), "no_variable",
			"{{a}}, {{b}}, {{c}}, {{d}}, {{e}} and 2 more were sent without a variable."},
		{"email " + broadcastOf(`"Acme"`, `"Acme\r\nBcc: eve@example.com"`), "sdk_refuses", "sends nothing"},
		{"email " + broadcastOf("https://acme.test", "http://localhost/x"), "email_check", "1 link to this machine"},
		{"as X:y | GET /v1/events", "key_header", "no X-Authorization header"},
		{"as X-Authorization: | GET /v1/events", "key_header", "X-Authorization is empty"},
		{"as X-Api-Key:" + testKey + " | GET /v1/events", "key_header", "the key is in X-Api-Key instead of X-Authorization"},
		{"as X-Authorization:Bearer " + testKey + " | GET /v1/events", "key_header", `"Bearer " before the key in X-Authorization`},
		{"as X-Authorization:live-1 | GET /v1/events", "foreign_key", "The API key is not that of this sandbox: it belongs to another"},
		{"as Authorization:live-1 | GET /v1/events", "foreign_key", "The API key is not that of this sandbox: it belongs to another"},
	} {
		f.steps([]string{test.step})
		f.shows(fmt.Sprint("/requests/", f.box.History.State().Last), "!"+testKey, "!live-1")
		e, _ := f.box.History.Get(f.box.History.State().Last)
		var codes, texts []string
		for _, n := range e.Notes() {
			codes, texts = append(codes, n.Code), append(texts, n.Text)
		}
		assert.Equal(t, test.code, strings.Join(codes, " "), test.step)
		assert.Contains(t, strings.Join(texts, "\n"), test.text, test.step)
	}
}
