package inspector_test

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// latest returns the body of the latest request.
func (f *fixture) latest() string {
	return f.get(fmt.Sprintf("/api/requests/%d/body", f.box.History.State().Last)).Body
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
		require.Equal(t, 200, f.post("/api/replay", `{"number":1,"body":`+body+`}`).Status, body)
		assert.Equal(t, want, f.latest(), body)
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
		`{"number":3,"path":"/elsewhere"}`: 422, `{"number":3,"as_sent":true}`: 422,
	} {
		got := f.post("/api/replay", body)
		assert.Equal(t, status, got.Status, "%.40s: %.200s", body, got.Body)
	}
	f.send("POST", "/v1/events", `{"subject":"a","message":"b"}`)
	assert.Equal(t, 422, f.postForm("/replay", url.Values{"number": {"9"}, "message": {"c"}}).Status)
	assert.Equal(t, 403, f.do("POST", f.ui+"/api/replay", `{"number":3}`, cross).Status)
	assert.Equal(t, 9, f.box.History.State().Requests)
}

// oddEmail is the body of a broadcast that nothing but its author would write like this.
const oddEmail = `{ "message" :"<p>\u00e9 &amp; \"A\"<\/p>\n<p>B</p>", "x":1.50,"subject":"\u003cOld\u003e","nested":{"subject":"no"}}`

func TestTheTextsOfABroadcastAreEditedWithoutItsJSON(t *testing.T) {
	f := start(t)
	f.email(oddEmail)
	f.shows("/requests/1?tab=replay", `<input name="subject" value="&lt;Old&gt;"`, "@\n<p>é &amp; \"A\"</p>\n<p>B</p></textarea>",
		`<summary>Edit the whole body</summary>`)
	f.push(`{"subject":"s","message":"\r\na"}`)
	f.send("POST", "/v1/events", "{\r\n \"name\": \"b\"\r\n}")
	const message = "<p>é &amp; \"A\"</p>\r\n<p>B</p>"
	for _, edit := range []struct {
		form url.Values
		body string
	}{
		{url.Values{"number": {"1"}, "subject": {"<Old>"}, "message": {message}}, oddEmail},
		{url.Values{"number": {"1"}, "subject": {"New & \"<é>\""}, "message": {message}},
			`{"message":"<p>\u00e9 &amp; \"A\"<\/p>\n<p>B</p>","nested":{"subject":"no"},"subject":"New & \"<é>\"","x":1.50}`},
		{url.Values{"number": {"1"}, "subject": {""}, "message": {"a\r\nb"}},
			`{"message":"a\nb","nested":{"subject":"no"},"subject":"","x":1.50}`},
		// A form sends CR LF. The replay has the line ends of the request.
		{url.Values{"number": {"1"}, "body": {"{\r\n}"}}, "{\n}"},
		{url.Values{"number": {"2"}, "subject": {"s"}, "message": {"\r\nb"}}, `{"message":"\r\nb","subject":"s"}`},
		{url.Values{"number": {"3"}, "body": {"{\r\n}"}}, "{\r\n}"},
	} {
		require.Equal(t, 303, f.postForm("/replay", edit.form).Status)
		assert.Equal(t, edit.body, f.latest())
	}
}
