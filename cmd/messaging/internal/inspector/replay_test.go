package inspector_test

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// replayed replays a request, and returns the number and the JSON of the new one.
func (f *fixture) replayed(body string) (number int, detail string) {
	f.t.Helper()
	got := f.post("/api/replay", body)
	require.Equal(f.t, 200, got.Status, got.Body)
	var created struct{ Number int }
	require.NoError(f.t, json.Unmarshal([]byte(got.Body), &created))
	return created.Number, f.get(fmt.Sprint("/api/requests/", created.Number)).Body
}

func TestReplayRepeatsARequestWithinTheSandbox(t *testing.T) {
	f := start(t)
	f.fill()
	number, _ := f.replayed(`{"number":3}`)
	assert.Equal(t, 8, number)
	f.shows("/api/requests/8", `"replay_of":3`, `"status":200`, `"op":"trigger event"`, `"value":"21.11.2026"`,
		`"X-Authorization":["REDACTED"]`, `"Content-Type":["application/json"]`, "!User-Agent") // no other header is repeated
	f.shows("/requests/8", "This repeats request 3.")
	assert.Equal(t, 408, f.get("/api/wait?q=op:trigger&after=3&timeout=1ms").Status, "a wait does not wait for it")
	assert.Equal(t, 200, f.get("/api/wait?q=op:trigger+has:replay&after=3&timeout=1ms").Status)
	f.shows("/api/requests?q=op:trigger", `"number":8,`) // a search finds it

	_, detail := f.replayed(`{"number":3,"body":` + strconv.Quote(strings.Replace(skippedBody, "21.11.2026", "2026-11-21T09:00:00Z", 1)) + `}`)
	assert.Contains(t, detail, `"skipped":[]`)
	_, detail = f.replayed(`{"number":1}`)
	assert.Contains(t, detail, `"per_page":["1"]`, "the query is repeated")
	f.fault(`{"op":"trigger event","count":1,"fault":{"kind":"answer_lost"}}`)
	_, detail = f.replayed(`{"number":3}`)
	assert.Contains(t, detail, `"status":200`, "faults are for those who ask for them")
	_, detail = f.replayed(`{"number":3,"faults":true}`)
	assert.Contains(t, detail, `"fault":"answer_lost"`)
}

func TestTheBodyOfAReplayIsATextOrJSON(t *testing.T) {
	f := start(t)
	f.send("POST", "/v1/events", `{"name":"n"}`)
	for body, want := range map[string]string{
		`"{ \"name\":\"a\" }"`:                 `{ "name":"a" }`,
		`""`:                                   ``,
		`{ "n": 1.50, "name": "<\u00e9 & >" }`: `{"n":1.50,"name":"<\u00e9 & >"}`,
		`[ 1, {} ]`:                            `[1,{}]`,
		`null`:                                 `{"name":"n"}`,
	} {
		number, _ := f.replayed(`{"number":1,"body":` + body + `}`)
		assert.Equal(t, want, f.get(fmt.Sprintf("/api/requests/%d/body", number)).Body, body)
	}
	refused := f.post("/api/replay", `{"number":1,"body":7}`)
	assert.Equal(t, 422, refused.Status)
	assert.Contains(t, refused.Body, "body: must be a text, an object or an array")
}

func TestReplayIsRefused(t *testing.T) {
	f := start(t)
	f.fill()
	f.trigger(`{"event_id":"REDACTED"}`)
	for body, status := range map[string]int{
		`{"number":99}`: 404, `{"number":7}`: 422, `{"number":8}`: 409, `{"number":3,"body":"REDACTED"}`: 409,
		`{"number":3,"body":"[API key]"}`: 409, `{"number":"3"}`: 422,
		`{"number":3,"path":"/elsewhere"}`: 422,
	} {
		got := f.post("/api/replay", body)
		assert.Equal(t, status, got.Status, "%.40s: %.200s", body, got.Body)
	}
	assert.Equal(t, 403, f.do("POST", f.ui+"/api/replay", `{"number":3}`, cross).Status)
	assert.Equal(t, 8, f.box.History.State().Requests)
}

// resent resends a request with what a form has, and returns the body of the new one.
func (f *fixture) resent(form url.Values) string {
	f.t.Helper()
	require.Equal(f.t, 303, f.postForm("/replay", form).Status)
	return f.get(fmt.Sprintf("/api/requests/%d/body", f.box.History.State().Last)).Body
}

// oddEmail is the body of a broadcast that nothing but its author would write like this.
const oddEmail = `{ "message" :"<p>\u00e9 &amp; \"A\"<\/p>\n<p>B</p>", "x":1.50,"subject":"\u003cOld\u003e","nested":{"subject":"no"}}`

func TestTheTextsOfABroadcastAreEditedWithoutItsJSON(t *testing.T) {
	f := start(t)
	f.email(oddEmail)
	f.shows("/requests/1?tab=replay", `<input name="subject" value="&lt;Old&gt;"`, "@\n<p>é &amp; \"A\"</p>\n<p>B</p></textarea>",
		`<summary>Edit the whole body</summary>`)
	const message = "<p>é &amp; \"A\"</p>\r\n<p>B</p>"
	for _, edit := range []struct{ subject, message, body string }{
		{"<Old>", message, oddEmail},
		{"New & \"<é>\"", message,
			`{"message":"<p>\u00e9 &amp; \"A\"<\/p>\n<p>B</p>","nested":{"subject":"no"},"subject":"New & \"<é>\"","x":1.50}`},
		{"", "a\r\nb", `{"message":"a\nb","nested":{"subject":"no"},"subject":"","x":1.50}`},
	} {
		assert.Equal(t, edit.body, f.resent(url.Values{"number": {"1"}, "subject": {edit.subject}, "message": {edit.message}}))
	}
	assert.Equal(t, "{\n}", f.resent(url.Values{"number": {"1"}, "body": {"{\r\n}"}}), "a form sends CR LF")
}

func TestAnEditedReplayKeepsTheLineEndsOfTheRequest(t *testing.T) {
	f := start(t)
	f.send("POST", "/v1/events", "{\r\n \"name\": \"b\"\r\n}")
	assert.Equal(t, "{\r\n}", f.resent(url.Values{"number": {"1"}, "body": {"{\r\n}"}}))
	f.push(`{"subject":"s","message":"\r\na"}`)
	assert.Equal(t, `{"message":"\r\nb","subject":"s"}`, f.resent(url.Values{"number": {"3"}, "subject": {"s"}, "message": {"\r\nb"}}))
}

func TestOnlyTheWholeBodyIsEditedWhereTheTextsAreNotPlain(t *testing.T) {
	f := start(t)
	for i, body := range []string{`{"subject":"a","message":1}`, `{"message":"b"}`,
		`["subject","message"]`, `{"subject":"a","message":"b"`, `{"subject":"a\nb","message":"b"}`, `{"subject":"a","message":"\u0000"}`} {
		f.email(body)
		f.shows(fmt.Sprintf("/requests/%d?tab=replay", i+1), `!name="message"`, `Or edit the body<textarea name="body"`)
	}
	f.send("POST", "/v1/events", `{"subject":"a","message":"b"}`)
	f.shows("/requests/7?tab=replay", `!name="message"`)
	assert.Equal(t, 422, f.postForm("/replay", url.Values{"number": {"7"}, "message": {"c"}}).Status)
	assert.Equal(t, 7, f.box.History.State().Requests)
}

var diffLine = regexp.MustCompile(`<span class="line (add|del)">(.*?)</span>`)

// changedLines returns the lines of a comparison that differ, with their signs.
func changedLines(page string) (list []string) {
	for _, line := range diffLine.FindAllStringSubmatch(page, -1) {
		text := strings.TrimLeft(html.UnescapeString(line[2]), "−+ ")
		list = append(list, map[string]string{"add": "+", "del": "-"}[line[1]]+text)
	}
	return list
}

func TestARequestIsComparedWithTheOneThatIsMostLikeIt(t *testing.T) {
	f := start(t)
	for _, subject := range []string{"We have moved", "Another subject", "We have moved"} {
		require.Equal(t, 200, f.email(broadcastOf("Moved", subject)))
	}
	f.replayed(`{"number":2}`)
	for path, with := range map[string]string{"2?tab=diff": "1", "3?tab=diff": "1", "4?tab=diff": "2", "3?tab=diff&with=2": "2"} {
		f.shows("/requests/"+path, `">request `+with+`</a> <span`)
	}
	f.shows("/requests/4?tab=diff&with=99", "There is no request 99")
	f.shows("/requests/1?tab=diff", "There is no earlier request")
}

func TestAComparisonHasTheLinesThatDiffer(t *testing.T) {
	f := start(t)
	long := strings.Repeat(`<table><tr><td>A cell</td></tr></table>`, 20)
	email := func(code string) string { return broadcastOf("Hi {{name}},", long+`The <b>code</b> is `+code) }
	const reordered = `{"subject":"Moved",`
	key, bearer := http.Header{"X-Authorization": {testKey}}, http.Header{"Authorization": {"Bearer " + testKey}}
	send := func(header http.Header, body string) int {
		return f.sendWith(header.Clone(), "POST", "/v1/broadcast/send/email", body)
	}
	for i, body := range []string{email("AUTUMN"), email("WINTER"), email("WINTER") + " ",
		reordered + strings.Replace(email("WINTER"), `"subject":"Moved",`, "", 1)[1:]} {
		require.Equal(t, 200, send(key, body), i)
	}
	send(http.Header{}, email("WINTER"))
	send(bearer, email("WINTER"))
	f.send("GET", "/v1/customers", "")
	f.read()
	f.fault(`{"op":"list events","count":1,"fault":{"kind":"answer_lost"}}`)
	f.read()
	for path, want := range map[string][]string{
		"2?tab=diff&with=1": {"-The <b>code</b> is AUTUMN", "+The <b>code</b> is WINTER"},
		"3?tab=diff&with=2": nil, "4?tab=diff&with=2": nil,
		"5?tab=diff&with=2": {"-API key: that of this sandbox", "+API key: no X-Authorization header", "-Outcome: accepted",
			"+Outcome: 401 rejected"},
		"6?tab=diff&with=5": {"-API key: no X-Authorization header", "+API key: the key is in Authorization instead of X-Authorization"},
		"8?tab=diff&with=7": {"-GET /v1/customers", "+GET /v1/events"},
		"9?tab=diff&with=8": {"-Outcome: accepted", "+Outcome: unknown"},
	} {
		page := f.get("/requests/" + path).Body
		changed := strings.Join(changedLines(page), "\n")
		for _, line := range want {
			assert.Contains(t, changed, line, path)
		}
		assert.Equal(t, want == nil, changed == "", path)
		assert.Equal(t, want == nil, strings.Contains(page, "<b>No line differs.</b>"), path)
		assert.NotContains(t, page, testKey)
	}
	assert.Len(t, changedLines(f.get("/requests/2?tab=diff").Body), 2)
}

func TestAComparisonShowsWhatCannotBeSeen(t *testing.T) {
	f := start(t)
	f.send("POST", "/v1/events", `{"name":"one\ntwo\u202ethree"}`)
	f.send("POST", "/v1/events", `{"name":"one\ntwothree","z":[],"y":{},"x":1.50,"w":null}`)
	f.shows("/requests/2?tab=diff", "!\u202e",
		"&#34;w&#34;: null<", "&#34;x&#34;: 1.50<", "&#34;y&#34;: {}<", "&#34;z&#34;: []<", "&#34;name&#34;: &#34;one<", "  two")
}
