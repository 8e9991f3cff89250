package inspector_test

import (
	"html"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
)

func TestTheSameSendAfterFailuresNamesThem(t *testing.T) {
	f := start(t, records.Demo())
	page := func(path string) string { return html.UnescapeString(f.get(path).Body) }
	f.post("/api/faults", `{"op":"trigger event","count":2,"fault":{"kind":"status","status":502}}`)
	for range 3 {
		f.send("POST", "/v1/events/trigger", skippedBody)
	}
	assert.Contains(t, page("/requests/3"), "The same request failed before, as request 1 (502 unknown) and request 2 (502 unknown). "+
		"They were not carried out, but the caller cannot know that. The SDK does not repeat such a request by itself. "+
		`<a href="/requests/2">Show the latest</a>`)
	assert.Contains(t, page("/"), `>repeats #2</span>`)
	assert.Contains(t, page("/"), `>repeats #1</span>`)
	assert.Regexp(t, `The same request was sent again .* later, as request 2 \(502 unknown\)\. <a href="/requests/2">Show it</a>`,
		page("/requests/1"))

	f.post("/api/faults", `{"op":"trigger event","count":1,"fault":{"kind":"answer_lost"}}`)
	other := func() int { return f.send("POST", "/v1/events/trigger", skippedBody+" ") }
	other()
	other()
	lost := page("/requests/5")
	assert.Regexp(t, `Possibly a duplicate: .* was carried out .* earlier, as request 4, but its caller cannot know that\.`, lost)
	assert.NotContains(t, lost, "The same request failed before", "one note says it")
	assert.NotContains(t, page("/requests/4"), "as request 5 (accepted)", "the link to the duplicate says it")

	f.send("POST", "/v1/events", `{"name":"n"}`)
	f.send("POST", "/v1/events", `{"name":"n"}`)
	assert.Contains(t, page("/requests/7"), "The same request failed before, as request 6 (422 rejected). It was not carried out.")
	assert.NotContains(t, page("/requests/7"), "cannot know that")

	f.post("/api/faults", `{"op":"create event","count":2,"fault":{"kind":"rate_limited","after":"1s"}}`)
	for range 3 {
		f.send("POST", "/v1/events", `{"name":"m","description":"d","parameters":[]}`)
	}
	assert.NotContains(t, page("/requests/10"), "failed before", "attempts of a call are something else")

	for range 8 {
		f.send("POST", "/v1/events", `{"name":"o"}`)
	}
	assert.Contains(t, page("/requests/18"), "The same request failed before, as 2 earlier ones, request 13 (422 rejected), ")
	assert.Contains(t, page("/requests/18"), " and request 17 (422 rejected). Of the latest 5, 0 were carried out.")
}

func TestANoteOfAFailureSaysThatItHadADifferentKey(t *testing.T) {
	f := start(t, records.Demo())
	for _, header := range []http.Header{{}, {"X-Authorization": {"sandbox-of-yesterday"}}, {"X-Authorization": {testKey}}} {
		f.sendWith(header, "POST", "/v1/events/trigger", skippedBody)
	}
	assert.Contains(t, f.get("/requests/1").Body, "as request 2 (401 rejected, with a key)")
	last := f.get("/requests/3").Body
	assert.Contains(t, last, "as request 1 (401 rejected, without a key) and request 2 (401 rejected, with a different key). They were not")
}
