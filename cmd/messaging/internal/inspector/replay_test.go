package inspector_test

import (
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
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
	f := start(t, records.Demo())
	f.fill()
	number, detail := f.replayed(`{"number":3}`)
	assert.Equal(t, 8, number)
	for _, part := range []string{`"replay_of":3`, `"status":200`, `"op":"trigger event"`, `"value":"21.11.2026"`,
		`"X-Authorization":["REDACTED"]`,
		`"Content-Type":["application/json"]`} {
		assert.Contains(t, detail, part)
	}
	assert.NotContains(t, detail, "User-Agent", "no other header is repeated")
	assert.Contains(t, f.get("/requests/8").Body, "This repeats request 3.")

	edited, err := json.Marshal(strings.Replace(skippedBody, "21.11.2026", "2026-11-21T09:00:00Z", 1))
	require.NoError(t, err)
	_, detail = f.replayed(`{"number":3,"body":` + string(edited) + `}`)
	assert.Contains(t, detail, `"skipped":[]`)
	_, detail = f.replayed(`{"number":1}`)
	assert.Contains(t, detail, `"per_page":["1"]`, "the query is repeated")
}

// postForm sends a form of a page, as a browser does.
func (f *fixture) postForm(path string, form url.Values) reply {
	f.t.Helper()
	return f.do("POST", f.ui+path, form.Encode(), header("Content-Type", "application/x-www-form-urlencoded", "Origin", f.ui))
}

func TestAnEditedReplayKeepsTheLineEndsOfTheRequest(t *testing.T) {
	f := start(t, records.Demo())
	f.send("GET", "/v1/events", "")
	for number, body := range []string{"{\n \"name\": \"a\"\n}", "{\r\n \"name\": \"b\"\r\n}"} {
		f.send("POST", "/v1/events", body)
		form := url.Values{"number": {strconv.Itoa(2 + 2*number)}, "body": {strings.ReplaceAll(strings.ReplaceAll(body, "\r", ""), "\n", "\r\n")}}
		require.Equal(t, 303, f.postForm("/replay", form).Status)
		assert.Equal(t, body, f.get(fmt.Sprintf("/api/requests/%d/body", 3+2*number)).Body)
	}
}

func TestTheBodyOfAReplayIsATextOrJSON(t *testing.T) {
	f := start(t, records.Demo())
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

func TestReplayTakesFaultsOnlyWhenAsked(t *testing.T) {
	f := start(t, records.Demo())
	f.send("POST", "/v1/events/trigger", skippedBody)
	f.post("/api/faults", `{"op":"trigger","count":1,"fault":{"kind":"answer_lost"}}`)
	_, detail := f.replayed(`{"number":1}`)
	assert.Contains(t, detail, `"status":200`)
	_, detail = f.replayed(`{"number":1,"faults":true}`)
	assert.Contains(t, detail, `"fault":"answer_lost"`)
}

func TestReplayIsNotWhatAWaitWaitsFor(t *testing.T) {
	f := start(t, records.Demo())
	f.send("POST", "/v1/events/trigger", skippedBody)
	f.replayed(`{"number":1}`)
	assert.Equal(t, 408, f.get("/api/wait?q=op:trigger&after=1&timeout=1ms").Status)
	assert.Equal(t, 200, f.get("/api/wait?q=op:trigger+has:replay&after=1&timeout=1ms").Status)
	assert.Contains(t, f.get("/api/requests?q=op:trigger").Body, `"number":2,`, "a search finds it")
}

func TestReplayIsRefused(t *testing.T) {
	f := start(t, records.Demo())
	f.fill()
	f.send("POST", "/v1/events/trigger", `{"event_id":"REDACTED"}`)
	for body, status := range map[string]int{
		`{"number":99}`: 404, `{"number":7}`: 422, `{"number":8}`: 409, `{"number":3,"body":"REDACTED"}`: 409,
		`{"number":3,"body":"[API key]"}`: 409, `{"number":"3"}`: 422,
		`{"number":3,"path":"/elsewhere"}`: 422, `{"number":3,"body":"` + strings.Repeat(" ", 1<<20) + `"}`: 413,
	} {
		got := f.post("/api/replay", body)
		assert.Equal(t, status, got.Status, "%.40s: %.200s", body, got.Body)
	}
	assert.Equal(t, 403, f.do("POST", f.ui+"/api/replay", `{"number":3}`, cross).Status)
	assert.Equal(t, 8, f.box.History.State().Requests)
}

func TestTheTextsOfABroadcastAreEditedWithoutItsJSON(t *testing.T) {
	f := start(t, records.Demo())
	const odd = `{ "message" :"<p>\u00e9 &amp; \"A\"<\/p>\n<p>B</p>", "x":1.50,"subject":"\u003cOld\u003e","nested":{"subject":"no"}}`
	f.send("POST", "/v1/broadcast/send/email", odd)
	page := f.get("/requests/1?tab=replay").Body
	assert.Contains(t, page, `<input name="subject" value="&lt;Old&gt;"`)
	assert.Contains(t, html.UnescapeString(page), "\n<p>é &amp; \"A\"</p>\n<p>B</p></textarea>")
	assert.Contains(t, page, `<summary>Edit the whole body</summary>`)
	const message = "<p>é &amp; \"A\"</p>\r\n<p>B</p>"
	for i, edit := range []struct{ subject, message, body string }{
		{"<Old>", message, odd},
		{"New & \"<é>\"", message,
			`{"message":"<p>\u00e9 &amp; \"A\"<\/p>\n<p>B</p>","nested":{"subject":"no"},"subject":"New & \"<é>\"","x":1.50}`},
		{"", "a\r\nb", `{"message":"a\nb","nested":{"subject":"no"},"subject":"","x":1.50}`},
	} {
		form := url.Values{"number": {"1"}, "subject": {edit.subject}, "message": {edit.message}}
		require.Equal(t, 303, f.postForm("/replay", form).Status)
		assert.Equal(t, edit.body, f.get(fmt.Sprintf("/api/requests/%d/body", 2+i)).Body)
	}
}

func TestAnEditedMessageKeepsItsLineEnds(t *testing.T) {
	f := start(t, records.Demo())
	f.send("POST", "/v1/broadcast/send/push-notification", `{"subject":"s","message":"\r\na"}`)
	assert.Contains(t, f.get("/requests/1?tab=replay").Body, ">\n\r\na</textarea>", "a browser takes away the first line end")
	require.Equal(t, 303, f.postForm("/replay", url.Values{"number": {"1"}, "subject": {"s"}, "message": {"\r\nb"}}).Status)
	assert.Equal(t, `{"message":"\r\nb","subject":"s"}`, f.get("/api/requests/2/body").Body)
}

func TestOnlyTheWholeBodyIsEditedWhereTheTextsAreNotPlain(t *testing.T) {
	f := start(t, records.Demo())
	const email, event = "/v1/broadcast/send/email", "/v1/events"
	for i, body := range []string{`{"subject":"a","message":1}`, `{"message":"b"}`,
		`["subject","message"]`, `{"subject":"a","message":"b"`, `{"subject":"a\nb","message":"b"}`, `{"subject":"a","message":"\u0000"}`} {
		f.send("POST", email, body)
		page := f.get(fmt.Sprintf("/requests/%d?tab=replay", i+1)).Body
		assert.NotContains(t, page, `name="message"`, body)
		assert.Contains(t, page, `Or edit the body<textarea name="body"`, body)
	}
	f.send("POST", event, `{"subject":"a","message":"b"}`)
	assert.NotContains(t, f.get("/requests/7?tab=replay").Body, `name="message"`)
	assert.Equal(t, 422, f.postForm("/replay", url.Values{"number": {"7"}, "message": {"c"}}).Status)
	assert.Equal(t, 7, f.box.History.State().Requests)
}
