package inspector_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
)

func TestPagesShowWhatWasSkippedRefusedAndLost(t *testing.T) {
	f := start(t, records.Demo())
	f.fill()
	for path, texts := range map[string][]string{
		"/": {"export MESSAGING_SANDBOX_URL=" + f.ui, "1 skipped", "fault: response lost",
			"the API key is not that of this sandbox",
			"422 rejected", "DELETE /elsewhere", "to ada@example.com &#43;1 and 1 segment"},
		"/requests/2": {"What the Go SDK returns", "rejected", "description is required", "Fix the request"},
		"/requests/3": {"It was sent as <code>&#34;21.11.2026&#34;</code>", "YYYY-MM-DDThh:mm:ssZ",
			"shipped_at was skipped, although"},
		"/requests/5?tab=diff": {"no earlier request of this kind"},
		"/requests/5":          {"unknown", "Check before you send it again", "<dt>Fault</dt><dd><bdi>response lost</bdi></dd>"},
		"/requests/6":          {"The API key is not that of this sandbox", "REDACTED"},
		"/requests/4": {"To ada@example.com &#43;1 and 1 segment · Send email broadcast", "2030-01-01 09:00:00",
			"Europe/Berlin", "1 created, 1 updated", `sandbox=""`},
		"/requests/4?tab=text":     {"Hi {{name}}, look"},
		"/requests/4?tab=audience": {"1 segment", "does not return the size", "new@example.com", "created"},
		"/customers/1":             {"Ada Lovelace", "/requests/4"},
		"/events/1":                {"messaging.EventTriggerParams", "time.Now()"},
		"/?q=status:many":          {"This search is invalid"},
		"/help":                    {"has:skipped", `<svg width="21" height="21"`, "What the sandbox assumes"},
		"/faults":                  {"Truncated JSON", "35 s delay", `<option value="answer_lost">response lost</option>`},
	} {
		body := f.get(path).Body
		for _, text := range texts {
			assert.Contains(t, body, text, path)
		}
		assert.NotContains(t, body, "another&#34;", "no key is shown")
		assert.NotContains(t, body, "ZgotmplZ", path)
	}
}

// Whoever queues again what the client has retried sends it twice.
func TestPagesSayWhatTheClientRetriesByItself(t *testing.T) {
	f := start(t, records.Demo())
	require.Equal(t, 200, f.post("/api/faults", `{"op":"create event","fault":{"kind":"rate_limited","after":"31s"}}`).Status)
	for _, op := range []string{"trigger event", "list events"} {
		require.Equal(t, 200, f.post("/api/faults", `{"op":"`+op+`","fault":{"kind":"rate_limited"}}`).Status)
	}
	f.send("POST", "/v1/events/trigger", skippedBody)
	f.send("GET", "/v1/events", "")
	f.send("GET", "/v2/unknown", "")
	for _, path := range []string{"/requests/1", "/requests/2"} {
		body := f.get(path).Body
		assert.Contains(t, body, "by itself; the caller sees this error only if the last attempt fails.", path)
		assert.NotContains(t, body, "Queue it again", path)
	}
	assert.Contains(t, f.get("/").Body, "no operation has this method and path")
	f.send("POST", "/v1/events", `{"name":"n"}`)
	assert.Contains(t, f.get("/requests/4").Body, "does not wait as long as the service asks for")
	unknown := f.get("/requests/3").Body
	for _, text := range []string{"404 rejected", "GET /v2/unknown", `Delivery <span class="tag bad">rejected</span>`} {
		assert.Contains(t, unknown, text)
	}
}

func TestRequestsThatWereNotCarriedOutHaveTheirEventAndRecipients(t *testing.T) {
	f := start(t, records.Demo())
	for _, request := range []struct{ path, body, query, title, who string }{
		{"/v1/events/trigger", skippedBody, "event:shipped+to:grace", "order shipped",
			"grace@example.com · order A-1001 · shipped_at 21.11.2026"},
		{"/v1/events/trigger", `{"event_id":"` + orderShipped + `","payload":{"customer":{"customer_id":"c-9"}}}`, "event:order+to:c-9",
			"order shipped", "c-9"},
		{"/v1/broadcast/send/email", emailBody, "to:new@example.com", "Moved", "to ada@example.com &#43;1 and 1 segment"},
		{"/v1/broadcast/send/push-notification", `{"subject":"s","message":"m","all_customers":true}`, "subject:s", "s", "to all customers"},
	} {
		require.Equal(t, 200, f.post("/api/faults", `{"fault":{"kind":"rate_limited"}}`).Status)
		require.Equal(t, 429, f.send("POST", request.path, request.body))
		page := f.get("/?q=" + request.query).Body
		assert.Contains(t, page, `<bdi class="what">`+request.title+"</bdi>")
		assert.Contains(t, page,
			`<span class="who"><span class="about"><span class="says"><bdi>fault: rate limited</bdi> · <bdi>`+request.who+
				`</bdi></span> <span class="op">· `)
	}
}

func TestDurationsHaveOneFormat(t *testing.T) {
	f := start(t, records.Demo())
	f.send("GET", "/v1/events", "")
	page := f.get("/requests/1?tab=exchange").Body
	assert.Regexp(t, `<h2>Response <small>200 · \d+ (µs|ms)</small>`, page)
	assert.Regexp(t, ` · \d+ (µs|ms)</p>`, page)
}

func TestDeepAndLongBodiesMakeSmallPages(t *testing.T) {
	for name, value := range map[string]string{
		"deep":  strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
		"long":  "[" + strings.Repeat("1,", 60_000) + "1]",
		"steep": strings.Repeat("[", 450) + strings.Repeat("]", 450),
	} {
		f := start(t, records.Demo())
		f.send("POST", "/v1/events/trigger", `{"event_id":"nope","payload":{"email":"a@b.test","order":`+value+`}}`)
		page := f.get("/requests/1?tab=exchange")
		assert.Equal(t, 200, page.Status)
		assert.Less(t, len(page.Body), 20_000+2*len(value), name)
	}
}

func TestNotesDoNotSayThatARefusedRequestWasCarriedOut(t *testing.T) {
	f := start(t, records.Demo())
	for _, fault := range []string{`{"kind":"answer_lost"}`, `{"kind":"malformed","body":"{"}`, `{"kind":"slow","after":"1ms"}`} {
		for body, carriedOut := range map[string]bool{`{"event_id":"nope","payload":{"email":"a@b.test"}}`: false, skippedBody: true} {
			require.Equal(t, 200, f.post("/api/faults", `{"fault":`+fault+`}`).Status)
			f.send("POST", "/v1/events/trigger", body)
			page := f.get(fmt.Sprintf("/requests/%d", f.box.History.State().Last)).Body
			assert.Equal(t, !carriedOut, strings.Contains(page, "The request was refused, and nothing was done."), fault)
			if !carriedOut {
				assert.NotContains(t, page, "was carried out", fault)
			}
		}
	}
}

func TestAPageLooksAsTheBrowserHasChosen(t *testing.T) {
	f := start(t, records.Demo())
	for cookie, want := range map[string]string{"dark": `<html lang="en" data-theme="dark">`, "light": `<html lang="en" data-theme="light">`,
		"": `<html lang="en">`, `dark" onload="x`: `<html lang="en">`} {
		got := f.do("GET", f.ui+"/help", "", header("Cookie", "messaging-sandbox-theme="+cookie))
		assert.Contains(t, got.Body, want, cookie)
	}
	assert.Contains(t, f.do("GET", f.ui+"/help", "", header("Cookie", "messaging-sandbox-theme=dark")).Body, `<option value="dark" selected>`)
}
