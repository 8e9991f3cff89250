package inspector_test

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
	"github.com/messaging-go/messaging/internal/fake"
)

// openLargeEmail stores an email of a size, one that is refused, and another one.
func openLargeEmail(t *testing.T, size int) *fixture {
	f := start(t, records.Demo())
	var message strings.Builder
	for i := 0; message.Len() < size; i++ {
		_, _ = fmt.Fprintf(&message, `<p>Hi {{name}}, <a href="https://acme.test/%d">look <b>here</b></a><img src="/%d.gif"></p>`, i, i)
	}
	quoted, err := json.Marshal(message.String())
	require.NoError(t, err)
	large := strings.Replace(emailBody, `"<p>Hi {{name}}, <a href=\"https://acme.test\">look</a></p>"`, string(quoted), 1)
	require.Greater(t, len(large), size)
	require.Equal(t, 200, f.send("POST", "/v1/broadcast/send/email", large))
	require.Equal(t, 422, f.send("POST", "/v1/broadcast/send/email", strings.Replace(large, "news@acme.test", "nobody", 1)))
	require.Equal(t, 200, f.send("POST", "/v1/broadcast/send/email", large))
	return f
}

// largeTabs are pages that show the large emails.
var largeTabs = []string{"/", "/requests/1", "/requests/1?tab=source", "/requests/1?tab=text",
	"/requests/1?tab=check", "/requests/1?tab=audience",
	"/requests/1?tab=exchange", "/requests/3?tab=diff", "/requests/1?tab=copy", "/requests/2", "/requests/2?tab=copy", "/preview/1"}

func TestTabsOfALargeEmailAreSmall(t *testing.T) {
	f := openLargeEmail(t, 3<<20)
	for _, path := range largeTabs {
		got := f.do("GET", f.ui+path, "", frame)
		require.Equal(t, 200, got.Status, path)
		assert.Less(t, len(got.Body), 2<<20, path)
	}
	assert.Contains(t, f.get("/requests/1?tab=text").Body, "Only its first 256 kB are read here")
}

func TestTheSourceOfAnEmailIsExactlyItsMessage(t *testing.T) {
	f := start(t, records.Demo())
	for i, message := range []string{"<p>One\n\n&amp;</p>\n<b>", strings.Repeat("<table><tr><td>é</td></tr></table>", 200), "", "\n", "é"} {
		quoted, err := json.Marshal(message)
		require.NoError(t, err)
		f.send("POST", "/v1/broadcast/send/email", strings.Replace(emailBody,
			`"<p>Hi {{name}}, <a href=\"https://acme.test\">look</a></p>"`, string(quoted), 1))
		_, source, _ := strings.Cut(f.get(fmt.Sprintf("/requests/%d?tab=source", i+1)).Body, `aria-label="Message as it was sent"><code>`)
		source, _, _ = strings.Cut(source, "</code>")
		assert.Equal(t, message, html.UnescapeString(regexp.MustCompile(`</?span[^>]*>`).ReplaceAllString(source, "")))
		assert.Equal(t, i == 1, strings.Count(source, "<span") == 600, "a line that is too long is divided where blocks begin")
	}
}

func TestARefusedTriggerAllocatesTheSameWithManyEvents(t *testing.T) {
	events := make([]string, 20_000)
	for i := range events {
		events[i] = fmt.Sprintf(`{"id":"event-%d","name":"n","description":"%s"}`, i, strings.Repeat("x", 100))
	}
	seed, err := records.ParseSeed([]byte(`{"events":[` + strings.Join(events, ",") + `]}`))
	require.NoError(t, err)
	allocations := func(f *fixture) float64 {
		return testing.AllocsPerRun(20, func() {
			require.Equal(t, 422, f.send("POST", "/v1/events/trigger", `{"event_id":"`+orderShipped+`","payload":{}}`))
		})
	}
	few := allocations(start(t, records.Demo()))
	assert.InDelta(t, few, allocations(start(t, seed)), few/2)
}

func TestACustomerWithManyDevicesHasASmallPage(t *testing.T) {
	f := start(t, records.Seed{})
	devices := make([]fake.Device, 20_000)
	for i := range devices {
		devices[i] = fake.Device{DeviceType: "ios", DeviceToken: fmt.Sprint("token-", i)}
	}
	encoded, err := json.Marshal(devices)
	require.NoError(t, err)
	require.Equal(t, 200, f.send("POST", "/v1/broadcast/send/push-notification", `{"subject":"s","message":"m","schedule_type":"send-now",
		"recipients":{"type":"customer","customers":[{"customer_id":"1","devices":`+string(encoded)+`}]}}`))
	page := f.get("/customers/1").Body
	assert.Less(t, len(page), 100_000)
	assert.Contains(t, page, "19,500 more devices not shown")
}

func TestACustomerHasItsRefusedRequestsToo(t *testing.T) {
	f := start(t, records.Demo())
	const id = orderShipped
	f.send("POST", "/v1/events/trigger", `{"event_id":"`+id+`","payload":{"email":"\u0041da@example.com"}}`)
	f.send("POST", "/v1/events/trigger", `{"event_id":"`+id+`","payload":{"email":"xada@example.com"}}`)
	f.send("POST", "/v1/events/trigger", `{"event_id":"none","payload":{"customer":{"customer_id":"no-1"}}}`)
	page := f.get("/customers/1").Body
	assert.Contains(t, page, `href="/requests/1"`)
	assert.NotContains(t, page, `href="/requests/2"`, "another customer")
	assert.NotContains(t, page, `href="/requests/3"`, "another customer")
	assert.Contains(t, page, `<a class="chip" href="/?q=to%3aada%40example.com">to:ada@example.com</a>`)

	page = f.get("/requests/1").Body
	assert.Contains(t, page, `<dt>Event</dt><dd><a href="/events/1">`)
	assert.Contains(t, page, `<dt>Customer</dt><dd><a href="/?q=to%3AAda%40example.com">`)
	page = f.get("/requests/3").Body
	assert.Contains(t, page, `<dt>Customer</dt><dd><a href="/?q=to%3Ano-1">`)
	assert.NotContains(t, page, "<dt>Event</dt>", "there is none with this id")
}

// fieldValue is the text in the field of the search.
var fieldValue = regexp.MustCompile(`name="q" value="[^"]*"`)

func TestControlCharactersAreShownAndTurnNothingAround(t *testing.T) {
	f := start(t, records.Demo())
	subject := "Invoice \u202egnp.exe \x07 \u2066مرحبا بالعالم"
	quoted, err := json.Marshal(subject)
	require.NoError(t, err)
	require.Equal(t, 200, f.send("POST", "/v1/broadcast/send/email", strings.Replace(emailBody, `"Moved"`, string(quoted), 1)))
	require.Equal(t, 422, f.send("POST", "/v1/events/trigger", `{"event_id":"\u202e","payload":{"email":"\u202ea@b.test"}}`))
	for _, path := range []string{"/", "/requests/1", "/requests/1?tab=exchange", "/requests/1?tab=audience", "/requests/2",
		"/?q=%E2%80%AE", "/?q=op:%E2%80%AE"} {
		page := f.get(path).Body
		page = fieldValue.ReplaceAllString(page, "")
		assert.NotContains(t, page, "\u202e", path)
		assert.NotContains(t, page, "\x07", path)
	}
	list := f.get("/").Body
	assert.Contains(t, list, `<bdi class="what">Invoice `+
		"\u2066‹U&#43;202E›\u2069"+`gnp.exe ␇ `+"\u2066‹U&#43;2066›\u2069"+`مرحبا بالعالم</bdi>`)
	assert.Contains(t, f.get("/requests/1").Body, `<h1 dir="auto" title="Invoice`)
}

func TestPlaceholdersWithoutAVariableAreOneNote(t *testing.T) {
	f := start(t, records.Demo())
	f.send("POST", "/v1/broadcast/send/email", strings.Replace(emailBody, "Hi {{name}}", "{{a}} {{b}} {{c}} {{d}} {{e}} {{f}} {{g}}", 1))
	page := f.get("/requests/1").Body
	assert.Equal(t, 1, strings.Count(page, "is not documented.</p>"))
	assert.Contains(t, page, "{{a}}, {{b}}, {{c}}, {{d}}, {{e}} and 2 more were sent without a variable.")
}

func TestSearchWithoutMatchSaysSoAndNothingElse(t *testing.T) {
	f := start(t, records.Demo())
	f.send("GET", "/v1/events", "")
	for path, want := range map[string]string{"/?q=nowhere": "1 request is kept, and none of them matches.",
		"/?q=status:many": "The search is invalid", "/?q=-status:many": "The search is invalid",
		"/?q=op:nonsense": "unknown operation"} {
		page := f.get(path).Body
		assert.Contains(t, page, want, path)
		assert.NotContains(t, page, "Send something here", path)
		assert.NotContains(t, page, "Point a program", path)
	}
}

func TestSearchCountsItsMatches(t *testing.T) {
	f := start(t, records.Demo())
	f.fill()
	for path, want := range map[string]string{"/?q=op:list": "2 matches", "/?q=-op:list": "5 matches", "/?q=op:trigger": "1 match",
		"/requests/1?q=-nowhere": "7 matches", "/?q=nowhere": "0 matches"} {
		assert.Contains(t, f.get(path).Body, `<span id="matches">`+want+`</span> for`, path)
	}
	assert.NotContains(t, f.get("/").Body, "matches")
	assert.Equal(t, "2 matches", f.get("/rows?section=requests&after=6&q=op:list").Header.Get("Rows-Matches"))
	assert.Empty(t, f.get("/rows?section=requests&after=6").Header.Get("Rows-Matches"))
}

func TestAnInvalidSearchPrintsItsErrorOnce(t *testing.T) {
	f := start(t, records.Demo())
	f.send("GET", "/v1/events", "")
	for _, path := range []string{"/?q=status:many"} {
		assert.Equal(t, 1, strings.Count(f.get(path).Body, "must be a status code"), path)
		assert.NotContains(t, f.get(path).Body, "invalid query", path)
	}
}

func TestTheSameRequestAfterARefusalIsOneRowAndNotCalledOneCall(t *testing.T) {
	f := start(t, records.Demo())
	f.post("/api/faults", `{"op":"trigger","count":2,"fault":{"kind":"rate_limited"}}`)
	for range 3 {
		f.send("POST", "/v1/events/trigger", skippedBody)
	}
	list := f.get("/").Body
	assert.Equal(t, 1, strings.Count(list, `class="row"`))
	assert.Contains(t, list, `data-number="3" data-attempts="2 1"`)
	assert.Contains(t, list, `href="/requests/1"`)
	assert.Contains(t, list, ">3 attempts<")
	page := f.get("/requests/3").Body
	attempts := func(page string) string {
		_, strip, _ := strings.Cut(page, `<nav class="attempts" aria-label="Attempts with the same request">`)
		strip, _, _ = strings.Cut(strip, "</nav>")
		return regexp.MustCompile(`after [\d.]+ .?s`).ReplaceAllString(textOf(strip), "after –")
	}
	assert.Equal(t, "Looks like attempt 3 of 3: #1 429 rejected after – #2 429 rejected after – #3 accepted 1 skipped",
		attempts(page))
	assert.Contains(t, page, `<a href="/requests/3" aria-current="page">#3 `)
	first := f.get("/requests/1").Body
	assert.Contains(t, attempts(first), "attempt 1 of 3: #1 429 rejected")
	assert.Contains(t, first, `<a href="/requests/1" aria-current="page">#1 `)
	assert.Contains(t, first, `data-number="3" data-attempts="2 1" aria-current="true"`, "the row of the call is the current one")
	assert.NotContains(t, page, "of one call")
	assert.NotContains(t, page, "duplicate?", "the first two were refused")
	assert.Contains(t, f.get("/?q=status:429").Body, `data-number="2" data-attempts="1"`)
	assert.Contains(t, f.get("/?q=status:429").Body, ">2 of 3 attempts<", "the search does not find the last one")
	assert.Equal(t, 3, strings.Count(f.get("/api/requests").Body, `"number"`), "the API has each attempt")
}

func TestASendWhoseTwinWasCarriedOutIsAPossibleDuplicate(t *testing.T) {
	f := start(t, records.Demo())
	f.post("/api/faults", `{"op":"trigger","count":1,"fault":{"kind":"answer_lost"}}`)
	for range 2 {
		f.send("POST", "/v1/events/trigger", skippedBody)
	}
	f.send("GET", "/v1/events", "")
	f.send("GET", "/v1/events", "")
	assert.Regexp(t, `Possibly a duplicate: .* carried out [\d.]+.?s earlier, as request 1\.`,
		f.get("/requests/2").Body)
	assert.Regexp(t, `The same request was sent again [\d.]+ .?s later, as request 2\. <a href="/requests/2">`, f.get("/requests/1").Body)
	for _, path := range []string{"/requests/2", "/requests/3"} {
		assert.NotContains(t, f.get(path).Body, "was sent again")
	}
	assert.Equal(t, 1, strings.Count(f.get("/").Body, `title="duplicate?"`), "reads have no duplicates")
	assert.Equal(t, 1, strings.Count(f.get("/?q=has:duplicate").Body, `class="row"`))
}

func TestThePageOfARefusedRequestSaysWhy(t *testing.T) {
	f := start(t, records.Demo())
	for _, test := range []struct{ method, path, body, why string }{
		{"POST", "/v1/event/trigger", "{}", "No operation has this method and path: did you mean /v1/events/trigger?"},
		{"POST", "/events/trigger", "{}", "No operation has this method and path: did you mean /v1/events/trigger?"},
		{"GET", "/v1/v1/customers", "", "No operation has this method and path: did you mean /v1/customers?"},
		{"DELETE", "/v1/customers", "", "No operation has this method and path: this path needs GET, not DELETE"},
		{"GET", "/elsewhere", "", "No operation has this method and path; /openapi.json lists them."},
		{"POST", "/v1/events/trigger", "", "The request has no body."},
		{"POST", "/v1/events/trigger", "\xff\xfe\x00\x01", "The body is not text."},
		{"POST", "/v1/events/trigger", "[1]", "The body is JSON, but not an object."},
		{"POST", "/v1/events/trigger", "{bad", "The body is not JSON."},
	} {
		f.send(test.method, test.path, test.body)
		page := f.get(fmt.Sprintf("/requests/%d", f.box.History.State().Last)).Body
		assert.Contains(t, page, `<p class="note bad">`+test.why+`</p>`)
		isUnknown := strings.HasPrefix(test.why, "No operation")
		assert.Equal(t, isUnknown, strings.Contains(page, "Check the method and the path: nothing was done."), test.path)
		assert.Equal(t, isUnknown, !strings.Contains(page, `data-tab="replay"`), "only an operation can be repeated: %s", test.path)
	}
	for _, row := range []string{"the request has no body", "the body is not text", "the body is JSON, but not an object",
		"the body is not JSON"} {
		assert.Contains(t, f.get("/").Body, `<span class="says"><bdi>`+row+`</bdi>`)
	}
}

func TestARowKeepsTheEndOfALongPath(t *testing.T) {
	f := start(t, records.Demo())
	f.send("GET", "/v1/customers/5eed0000-0000-4000/devices", "")
	f.send("GET", "/v1/devices", "")
	page := f.get("/").Body
	assert.Contains(t, page, `<bdi class="what"><span>GET /v1/customers/5eed0000-0000-40</span><span class="end">00/devices</span></bdi>`)
	assert.Contains(t, page, `<bdi class="what">GET /v1/devices</bdi>`)
}

func TestTheLineAboutARequestDoesNotRepeatItsTitle(t *testing.T) {
	f := start(t, records.Demo())
	f.send("GET", "/v1/customers", "")
	f.send("GET", "/elsewhere", "")
	assert.Contains(t, f.get("/requests/1").Body, `<p class="sub">GET /v1/customers · request 1 · `)
	assert.Contains(t, f.get("/requests/2").Body, `<p class="sub">request 2 · `)
}

func TestAnEventIsTriggeredFromAShellToo(t *testing.T) {
	f := start(t, records.Demo())
	page := html.UnescapeString(f.get("/events/1").Body)
	assert.Contains(t, page, "curl \"$MESSAGING_BASE_URL/v1/events/trigger\" \\\n  -H \"X-Authorization: $MESSAGING_API_KEY\"")
	assert.Contains(t, page, `"event_id": "`)
}

func TestADelayedRefusalIsNotCalledAFault(t *testing.T) {
	f := start(t, records.Demo())
	f.post("/api/faults", `{"op":"create event","count":2,"fault":{"kind":"slow","after":"1ms"}}`)
	f.send("POST", "/v1/events", `{"name":"n"}`)
	f.send("POST", "/v1/events", `{"name":"n","description":"d","parameters":[]}`)
	page := f.get("/").Body
	assert.Contains(t, page, `<span class="says"><bdi>description is required, and 1 more</bdi>`)
	assert.Contains(t, page, `<span class="says"><bdi>fault: slow</bdi>`)
}

func TestASearchCountsEachAttemptAsTheAPIDoes(t *testing.T) {
	f := start(t, records.Demo())
	f.post("/api/faults", `{"op":"list events","count":2,"fault":{"kind":"status","status":500}}`)
	for range 3 {
		f.send("GET", "/v1/events", "")
	}
	page := f.get("/?q=delivery:unknown").Body
	assert.Contains(t, page, `<span id="matches">2 matches</span>`)
	assert.Contains(t, page, ">2 unknown</a>")
	assert.Equal(t, 1, strings.Count(page, `class="row"`), "they are in one row")
	assert.Contains(t, page, `<span class="tag unknown">500 unknown</span>`, "a read has the same words")
	assert.Equal(t, 2, strings.Count(f.get("/api/requests?q=delivery:unknown").Body, `"number"`))
}

func TestARowHasTheTimeThatASlowRequestTook(t *testing.T) {
	f := start(t, records.Demo())
	f.send("GET", "/v1/events", "")
	f.post("/api/faults", `{"op":"list events","count":1,"fault":{"kind":"slow","after":"20ms"}}`)
	f.send("GET", "/v1/events", "")
	page := f.get("/").Body
	assert.Regexp(t, `(?s)<small>#2</small>[^#]*<span class="ended">\d+ ms</span></span>\s*</a>`, page)
}

func TestWhatTheSDKRefusesIsAcceptedWithAWarning(t *testing.T) {
	f := start(t, records.Demo())
	injected := strings.Replace(emailBody, `"Acme"`, `"Acme\r\nBcc: eve@example.com"`, 1)
	require.Equal(t, 200, f.send("POST", "/v1/broadcast/send/email", injected))
	f.fill()
	_, page, _ := strings.Cut(f.get("/requests/1").Body, "<article>")
	assert.Contains(t, page, "sender_name must not contain a line break or a NUL")
	assert.Contains(t, page, `<h2>The Go SDK would not have sent this</h2>`)
	assert.Contains(t, page, `Delivery <span class="tag warn">not sent</span> The service carried it out, because it came`)
	assert.Contains(t, page, `<span class="tags"><span class="tag ok">accepted</span>`)
	for _, path := range []string{"/requests/2", "/requests/4", "/requests/5", "/requests/6"} {
		assert.NotContains(t, f.get(path).Body, "would not have sent this", path)
	}
	assert.Contains(t, f.get("/requests/5").Body, `<span class="tags"><span class="tag ok">accepted</span></span>`)
}

func TestTheFactsDoNotRepeatTheHeader(t *testing.T) {
	f := start(t, records.Demo())
	f.fill()
	page := f.get("/requests/5?tab=exchange").Body
	for _, repeated := range []string{"The SDK reports", "Operation", "Endpoint", "Status"} {
		assert.NotContains(t, page, "<dt>"+repeated+"</dt>")
	}
	assert.Contains(t, page, `<h2>Request <small class="endpoint">POST /v1/`, "the exchange has the endpoint")
	f.do("GET", f.api+"/v1/events", "", func(r *http.Request) { r.Header["User-Agent"] = nil })
	assert.NotContains(t, f.get(fmt.Sprintf("/requests/%d", f.box.History.State().Requests)).Body, `class="facts"`, "nothing is left to say")
}

func TestWhatIsDoneWithARequestIsBesideItsTabs(t *testing.T) {
	f := start(t, records.Demo())
	f.fill()
	_, tabs, _ := strings.Cut(f.get("/requests/1?tab=diff&q=to:ada").Body, `<nav class="tabs"`)
	views, actions, ok := strings.Cut(tabs, `<span class="actions">`)
	require.True(t, ok)
	assert.NotContains(t, views, "tab=copy")
	actions, _, _ = strings.Cut(actions, "</nav>")
	assert.Contains(t, html.UnescapeString(actions), `?q=to%3Aada&tab=diff" aria-current="page" data-tab="diff">Compare</a>`)
	assert.Contains(t, actions, `data-tab="copy">Copy</a>`)
	assert.Contains(t, actions, `data-tab="replay">Replay</a>`)
	assert.NotContains(t, f.get("/help").Body, "diff")
}

func TestARuleShowsItsID(t *testing.T) {
	f := start(t, records.Seed{})
	f.post("/api/faults", `{"op":"trigger","count":1,"fault":{"kind":"answer_lost"}}`)
	assert.Contains(t, f.get("/faults").Body, `<td><code>1</code><td data-label="Operation">Trigger event`)
}

func TestChipsWriteTheSearch(t *testing.T) {
	f := start(t, records.Demo())
	f.fill()
	page := html.UnescapeString(f.get(`/?q=ada+op:"trigger+event"+status:4xx`).Body)
	assert.Contains(t, page, `<a class="chip" href="/?q=ada+status%3A4xx&filter=open" aria-current="true">Trigger event</a>`)
	assert.Contains(t, page, `<a class="chip" href="/?q=ada+status%3A4xx+op%3A%22create+event%22&filter=open">Create event</a>`)
	assert.Contains(t, page, `<a class="chip" href="/?q=ada+op%3A%22trigger+event%22+status%3A2xx&filter=open">2xx</a>`)
	assert.Contains(t, page, `+has%3Askipped&filter=open">skipped</a>`)
	page = html.UnescapeString(f.get(`/?q=-"op:list+events"+"-x"`).Body)
	assert.Contains(t, page, `href="/?q=-op%3A%22list+events%22+%22-x%22+status%3A4xx&filter=open">4xx</a>`, "an exclusion stays one")
	assert.Contains(t, f.get("/api/requests?q=delivery:unknown").Body, `"number":5,`)
	assert.NotContains(t, f.get("/api/requests?q=delivery:accepted").Body, `"number":5,`)
	assert.Equal(t, 400, f.get("/api/requests?q=delivery:lost").Status)
}

func TestASubjectThatNobodySeesHasATitle(t *testing.T) {
	f := start(t, records.Demo())
	f.send("POST", "/v1/broadcast/send/email", strings.Replace(emailBody, `"Moved"`, `" "`, 1))
	page := f.get("/requests/1").Body
	assert.Contains(t, page, `<bdi class="what">(blank subject)</bdi>`)
	assert.Contains(t, page, `>(blank subject)</h1>`)
}

func TestTheFiltersStayOpenWhileTheyAreChosen(t *testing.T) {
	f := start(t, records.Demo())
	f.fill()
	const open = `<details class="chips" open>`
	assert.NotContains(t, f.get("/?q=op:trigger").Body, open, "the results are in sight")
	assert.Contains(t, f.get("/?q=op:trigger&filter=open").Body, open)
}

func TestEachTermOfASearchCanBeRemoved(t *testing.T) {
	f := start(t, records.Demo())
	f.fill()
	page := html.UnescapeString(f.get(`/?q=-ada+op:"trigger+event"`).Body)
	assert.Contains(t, page, `href="/?q=op%3A%22trigger+event%22" title="Search without it"><bdi>-ada</bdi>`)
	assert.Contains(t, page, `href="/?q=-ada" title="Search without it"><bdi>op:"trigger event"</bdi>`)
	assert.Contains(t, f.get("/customers?q=ada").Body, `href="/customers" title="Search without it"><bdi>ada</bdi>`)
}

func TestASearchThatFindsNothingShowsHowToSearch(t *testing.T) {
	f := start(t, records.Demo())
	f.fill()
	for _, path := range []string{"/?q=ada+has:skip", "/?q=stats:422", "/?q=op:nonsense", "/?q=nowhere"} {
		assert.Contains(t, f.get(path).Body, `<table class="search-keys">`, path)
	}
}

func TestTheSearchOffersTermsWhereTheyAreUnderstood(t *testing.T) {
	f := start(t, records.Demo())
	for path, want := range map[string]bool{"/": true, "/help": true, "/customers": false, "/events": false} {
		assert.Equal(t, want, strings.Contains(f.get(path).Body, `<option value="has:skipped">`), path)
	}
	f.box.History.Mark("check out")
	page := html.UnescapeString(f.get("/").Body)
	for _, term := range []string{`event:"order shipped"`, `mark:"check out"`, "fault:slow"} {
		assert.Contains(t, page, `<option value="`+term+`">`)
	}
}

func TestRequestsAreCopiedAndDownloaded(t *testing.T) {
	f := start(t, records.Demo())
	f.fill()
	page := f.get("/requests/4?tab=copy").Body
	for _, text := range []string{"curl -g", "messaging.ParsePrepared", "/download/4.eml", "tab=replay"} {
		assert.Contains(t, page, text)
	}
	for _, text := range []string{"Resend unchanged", "Subject<input", "Edit the whole body"} {
		assert.Contains(t, f.get("/requests/4?tab=replay").Body, text)
	}
	assert.NotContains(t, page, testKey)
	for path, want := range map[string][3]string{
		"/download/4.eml":      {"message/rfc822", `attachment; filename="4.eml"`, "Subject: Moved\r\n"},
		"/api/requests/4/body": {"application/octet-stream", `attachment; filename="4.body"`, emailBody},
	} {
		got := f.get(path)
		assert.Equal(t, 200, got.Status, path)
		assert.Equal(t, want[0], got.Header.Get("Content-Type"))
		assert.Equal(t, want[1], got.Header.Get("Content-Disposition"))
		assert.Contains(t, got.Body, want[2])
		assert.NotContains(t, got.Body, testKey)
	}
	for _, path := range []string{"/download/3.eml", "/download/99.eml", "/download/4.har", "/download/04.eml", "/download/4",
		"/api/requests/99/body"} {
		assert.Equal(t, 404, f.get(path).Status, path)
	}
	assert.Equal(t, 403, f.do("GET", f.ui+"/download/4.eml", "", link).Status)
	replayed := f.do("POST", f.ui+"/replay", "number=4", header("Content-Type", "application/x-www-form-urlencoded", "Origin", f.ui))
	assert.Equal(t, 303, replayed.Status)
	assert.Equal(t, "/requests/8#detail", replayed.Header.Get("Location"))
}

func TestValuesOfUndocumentedTypesAreMarked(t *testing.T) {
	f := start(t, records.Demo())
	require.Equal(t, 200, f.send("POST", "/v1/events", `{"name":"n","description":"d","parameters":[{"name":"a","type":"text"},
		{"name":"b","type":"numeric"},{"name":"c","type":"color"},{"name":"d","type":"numeric"}]}`))
	var created struct {
		Items []struct{ ID string }
	}
	require.NoError(t, json.Unmarshal([]byte(f.get("/api/events?limit=1").Body), &created))
	require.Equal(t, 200, f.send("POST", "/v1/events/trigger",
		`{"event_id":"`+created.Items[0].ID+`","payload":{"email":"a@b.test","a":1,"b":"1","c":"red","d":1.5}}`))
	page := f.get("/requests/2").Body
	assert.Equal(t, 3, strings.Count(page, "It is not documented what the service makes of this value."))
	assert.Equal(t, 1, strings.Count(page, ">read</span>"))
}

// TestTemplatesShowEveryTextOfOthers finds what would print a text as it was sent.
func TestTemplatesShowEveryTextOfOthers(t *testing.T) {
	files, err := filepath.Glob("view/templates/*.html")
	require.NoError(t, err)
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, field := range []string{".Subject", ".Message", ".Description", ".Email", ".CustomerID", ".PhoneNo", ".Who", ".Failure",
			".Line.Title", ".URL", ".DeviceToken"} {
			assert.NotContains(t, string(content), "{{"+field+"}}", "%s: write {{show %s}}", file, field)
		}
	}
}

func TestCustomersWithoutANameAreNotNamedTwice(t *testing.T) {
	f := start(t, nil)
	f.send("POST", "/v1/broadcast/send/email", emailBody)
	list, _, _ := strings.Cut(f.get("/customers").Body, `id="detail"`)
	assert.Equal(t, 1, strings.Count(list, "new@example.com"))
}

func TestAListOfRecordsShowsItsFirstOneBesideIt(t *testing.T) {
	f := start(t, records.Demo())
	page := f.get("/events").Body
	assert.Contains(t, page, `<main id="main" class="panes">`, "a narrow page shows the list")
	assert.Equal(t, 1, strings.Count(page, `aria-current="true"`))
	assert.Contains(t, page, "messaging.EventTriggerParams")
	assert.NotContains(t, f.get("/events?q=nothing").Body, "<article>")
}

func TestAReadIsNeverSaidToBeCarriedOut(t *testing.T) {
	f := start(t, records.Demo())
	require.Equal(t, 200, f.send("GET", "/v1/events", ""))
	f.post("/api/faults", `{"op":"list events","count":1,"fault":{"kind":"malformed","body":"{"}}`)
	require.Equal(t, 200, f.send("GET", "/v1/events", ""))
	assert.Contains(t, f.get("/requests/1").Body, `<span class="tags"><span class="tag ok">accepted</span></span>`)
	page := f.get("/requests/2").Body
	assert.Contains(t, page, "A read changes nothing: repeat it when the cause is gone.")
	assert.NotContains(t, page, "Do not send it again")
}

func TestARowOfATriggerHasWhatWasSkippedFirst(t *testing.T) {
	f := start(t, records.Demo())
	body := `{"event_id":"5eed0000-0000-4000-8000-000000000001","payload":{"email":"ada@example.com","order":"",` +
		`"parcels":12345678901234567890,"shipped_at":"on Tuesday, if the carrier comes in time"}}`
	f.send("POST", "/v1/events/trigger", body)
	f.send("POST", "/v1/events/trigger", `{"event_id":"x","payload":{"code":"A-1"}}`)
	list := f.get("/").Body
	assert.Contains(t, list, "<bdi>ada@example.com · shipped_at on Tuesday, if the carrier… · parcels 12345678901234567890</bdi>")
	assert.Contains(t, list, "<bdi>code A-1</bdi>", "no customer, and no point before it")
	page := f.get("/requests/1").Body
	assert.Contains(t, page, `<code>order</code> <small>text, required</small><td role="cell" data-label="Sent as"><code>&#34;&#34;</code>`+
		`<td role="cell"><span class="tag warn">empty</span>`)
	assert.Contains(t, page, "<dt>Sent by</dt><dd><bdi>test</bdi></dd>")
}
