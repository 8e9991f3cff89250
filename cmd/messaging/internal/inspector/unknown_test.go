package inspector_test

import (
	"html"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
)

func TestUnknownKeysAreMarkedAndCorrected(t *testing.T) {
	f := start(t, records.Demo())
	require.Equal(t, 422, f.send("POST", "/v1/events/trigger", `{"event_id":"`+orderShipped+`","payload":{
		"email":"ada@example.com","Order":"A-1",
		"shiped_at":"2026-11-21T09:00:00Z","color":"<b>","customer":{"emial":"a@b.test"}},"extra":1}`))
	page := html.UnescapeString(f.get("/requests/1?tab=exchange").Body)
	for key, hint := range map[string]string{
		"Order": "not a parameter of the event; did you mean order?", "shiped_at": "not a parameter of the event; did you mean shipped_at?",
		"color": "not a parameter of the event", "emial": "not a key of this request; did you mean email?", "extra": "not a key of this request",
	} {
		assert.Regexp(t, `<span class="k odd">"`+key+`"</span>[^\n]*<em>`+regexp.QuoteMeta(hint)+`</em>`, page)
	}
	assert.Contains(t, page, "The request has keys that neither the operation nor the event has: "+
		"extra, payload.Order (did you mean order?), "+
		"payload.color, payload.customer.emial (did you mean email?) and payload.shiped_at (did you mean shipped_at?).")
}

func TestUnknownKeysAreThoseOfTheOperation(t *testing.T) {
	f := start(t, records.Demo())
	f.fill()
	for _, path := range []string{"/requests/3?tab=exchange", "/requests/4?tab=exchange", "/requests/5?tab=exchange"} {
		assert.NotContains(t, f.get(path).Body, "k odd", path)
	}
	f.send("POST", "/v1/events/trigger", `{"event_id":"none","payload":{"anything":1}}`)
	assert.NotContains(t, f.get("/requests/8?tab=exchange").Body, "k odd", "the parameters of an unknown event are unknown")
	require.Equal(t, 200, f.send("POST", "/v1/events", `{"name":"n","description":"d","parameters":[]}`))
	event, _ := f.box.Records.All(records.Events).Search(nil, 0, 1)
	id := event[0].Model().(messaging.Event).ID
	f.send("POST", "/v1/events/trigger", `{"event_id":"`+id+`","payload":{"email":"a@b.test","anything":1}}`)
	assert.Contains(t, f.get("/requests/10?tab=exchange").Body, "k odd", "an event without parameters is known")
	f.send("POST", "/v1/broadcast/send/push-notification", `{"subject":"s","message":"m","schedule_type":"send-now",
		"recipients":{"type":"customer","customers":[{"Email":"a@b.test","devices":[{"device_tokn":"t"}]}]}}`)
	page := html.UnescapeString(f.get("/requests/11?tab=exchange").Body)
	assert.Regexp(t, `<span class="k odd">"Email"</span>[^\n]*did you mean email`, page)
	assert.Regexp(t, `<span class="k odd">"device_tokn"</span>[^\n]*did you mean device_token`, page)
	f.send("POST", "/v1/broadcast/send/push-notification", `{"recipients":[{"type":"segment","segmnts":["vip"]}]}`)
	page = html.UnescapeString(f.get("/requests/12?tab=exchange").Body)
	assert.Regexp(t, `<span class="k odd">"segmnts"</span>[^\n]*did you mean segments`, page, "recipients can be an array")
}

func TestASyntaxErrorIsMarkedInTheBody(t *testing.T) {
	for body, want := range map[string][2]string{
		"{\n  \"é\": 1,\n  <b>\n}": {"line 3, column 3: invalid character '<' looking for beginning of object key string",
			`<mark class="syntax">&lt;</mark>b&gt;`},
		`{"a": é}`: {"line 1, column 7: ", `<mark class="syntax">é</mark>}`},
		`{"a": 1`:  {"line 1, column 8: unexpected end of JSON input", `<mark class="syntax"></mark>`},
		"{\"a\": \"x\u202e\"} {}": {"line 1, column 13: invalid character '{' after top-level value",
			"\u2066‹U&#43;202E›\u2069" + `&#34;} <mark class="syntax">{</mark>}`},
	} {
		f := start(t, records.Demo())
		require.Equal(t, 400, f.send("POST", "/v1/events", body), body)
		page := f.get("/requests/1").Body
		assert.Contains(t, html.UnescapeString(page), "Not JSON: "+want[0], body)
		assert.Contains(t, page, want[1], body)
	}
	f := start(t, records.Demo())
	f.send("POST", "/v1/events", "name=n")
	assert.NotContains(t, f.get("/requests/1").Body, "Not JSON: line", "it does not look like JSON")
}
