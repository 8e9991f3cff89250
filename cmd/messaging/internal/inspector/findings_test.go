package inspector_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/findings"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
)

// notesOf returns the codes of what the rules find in the latest request, and their texts.
func (f *fixture) notesOf() (codes []string, texts string) {
	f.t.Helper()
	var list struct{ Items []struct{ Number int } }
	require.NoError(f.t, json.Unmarshal([]byte(f.get("/api/requests?limit=1").Body), &list))
	var detail struct{ Notes []history.Note }
	require.NoError(f.t, json.Unmarshal([]byte(f.get("/api/requests/"+string(must(json.Marshal(list.Items[0].Number)))).Body), &detail))
	for _, n := range detail.Notes {
		codes, texts = append(codes, n.Code), texts+n.Text+"\n"
	}
	return codes, texts
}

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
	f := start(t, records.Demo())
	key := http.Header{"X-Authorization": {testKey}}
	for _, test := range []struct {
		name, path, body string
		header           http.Header
		want             []string
		text             string
	}{
		{"a trigger", "/v1/events/trigger", valid, nil, nil, ""},
		{"the same again", "/v1/events/trigger", valid, nil, []string{"duplicate"}, "as request 1."},
		{"a skipped time", "/v1/events/trigger", skippedBody, nil, []string{"skipped"}, "shipped_at was skipped"},
		{"a foreign key", "/v1/events/trigger", valid, http.Header{"X-Authorization": {"another-key-of-someone"}},
			[]string{"foreign_key"}, "not that of this"},
		{"no key", "/v1/events/trigger", valid, http.Header{}, []string{"key_header"}, "This request: no X-Authorization header."},
		{"a key elsewhere", "/v1/events/trigger", valid, http.Header{"Authorization": {"Bearer " + testKey}},
			[]string{"key_header"}, "in Authorization"},
		{"a name", "/v1/events/trigger", trigger(orderShipped, "order shipped"), nil, []string{"name_as_id"}, "Its id is " + orderShipped},
		{"a path", "/v1/events/triger", valid, nil, []string{"wrong_path"}, "did you mean /v1/events/trigger?"},
		{"another path", "/elsewhere", valid, nil, nil, ""},
		{"a parameter", "/v1/events/trigger", trigger(`"order"`, `"parcel":2,"order"`), nil, []string{"unknown_parameter"},
			"payload.parcel (did you mean parcels?) was sent"},
		{"a type", "/v1/events/trigger", trigger(`"order"`, `"parcels":"2","order"`), nil, []string{"wrong_type"}, "parcels was sent"},
		{"an empty value", "/v1/events/trigger", trigger("A-1001", " "), nil, []string{"empty_value"}, "order was empty"},
		{"a variable", "/v1/broadcast/send/email", broadcastOf("{{name}}", "{{nobody}} {{email}}"), nil,
			[]string{"no_variable"}, "{{nobody}} was"},
		{"a header", "/v1/broadcast/send/email", broadcastOf(`"Acme"`, `"Acme\r\nBcc: eve@example.com"`), nil,
			[]string{"sdk_refuses"}, "sends nothing"},
		{"a link", "/v1/broadcast/send/email", broadcastOf("https://acme.test", "http://localhost/x"), nil, []string{"email_check"},
			"1 link to this machine"},
	} {
		header := test.header
		if header == nil {
			header = key.Clone()
		}
		f.sendWith(header, "POST", test.path, test.body)
		codes, texts := f.notesOf()
		assert.Equal(t, test.want, codes, test.name)
		assert.Contains(t, texts, test.text, test.name)
	}
	f.send("GET", "/v1/events?per_pages=1", "")
	codes, texts := f.notesOf()
	assert.Equal(t, []string{"unknown_parameter"}, codes)
	assert.Contains(t, texts, "per_pages (did you mean per_page?) was sent")
}

// TestRulesAboutARefusalIgnoreTheResponsesOfAFault holds that those about content do not.
func TestRulesAboutARefusalIgnoreTheResponsesOfAFault(t *testing.T) {
	f := start(t, records.Demo())
	f.post("/api/faults", `{"count":2,"fault":{"kind":"status","status":401}}`)
	f.sendWith(http.Header{}, "POST", "/v1/events/trigger", skippedBody)
	codes, _ := f.notesOf()
	assert.Empty(t, codes)
	f.post("/api/reset?what=faults", "")
	f.post("/api/faults", `{"fault":{"kind":"answer_lost"}}`)
	f.send("POST", "/v1/events/trigger", skippedBody)
	codes, _ = f.notesOf()
	assert.Equal(t, []string{"skipped"}, codes)
}
