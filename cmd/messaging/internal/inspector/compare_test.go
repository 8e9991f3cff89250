package inspector_test

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
)

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
	f := start(t, records.Demo())
	for _, subject := range []string{"We have moved", "Another subject", "We have moved"} {
		require.Equal(t, 200, f.send("POST", "/v1/broadcast/send/email", broadcastOf("Moved", subject)))
	}
	f.replayed(`{"number":2}`)
	require.Equal(t, 200, f.send("POST", "/v1/broadcast/send/email", broadcastOf("Moved", "Another subject", "Acme", "Other")))
	for path, with := range map[string]string{"2?tab=diff": `1</a>, the previous one of the same operation `,
		"3?tab=diff": `1</a>, of which it may be a duplicate `, "4?tab=diff": `2</a>, which it repeats `,
		"5?tab=diff": `4</a>, the previous one with the same title `, "3?tab=diff&with=2": `2</a> `} {
		assert.Contains(t, f.get("/requests/"+path).Body, `">request `+with+`<span`, path)
	}
	page := f.get("/requests/4?tab=diff&with=3").Body
	assert.Contains(t, page, `<option value="2">Another subject, accepted, 20`, "others are found by more than their number")
	assert.NotContains(t, page, `<option value="4">`)
	assert.Contains(t, f.get("/requests/4?tab=diff&with=99").Body, "There is no request 99")
	assert.Contains(t, f.get("/requests/1?tab=diff").Body, "There is no earlier request")
}

func TestAComparisonHasTheLinesThatDiffer(t *testing.T) {
	f := start(t, records.Demo())
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
	f.send("GET", "/v1/events", "")
	f.post("/api/faults", `{"op":"list events","count":1,"fault":{"kind":"answer_lost"}}`)
	f.send("GET", "/v1/events", "")
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
		assert.Equal(t, want == nil, strings.Contains(page, "<b>The bodies differ only in white space or in the order of keys.</b>"), path)
		assert.NotContains(t, page, testKey)
	}
	assert.Len(t, changedLines(f.get("/requests/2?tab=diff").Body), 2)
	f.send("GET", "/v1/events", "")
	f.send("GET", "/v1/events", "")
	assert.Contains(t, f.get("/requests/11?tab=diff").Body, "<b>The requests are identical.</b>")
}

func TestAComparisonShowsWhatCannotBeSeen(t *testing.T) {
	f := start(t, records.Demo())
	f.send("POST", "/v1/events", `{"name":"one\ntwo\u202ethree"}`)
	f.send("POST", "/v1/events", `{"name":"one\ntwothree","z":[],"y":{},"x":1.50,"w":null}`)
	page := f.get("/requests/2?tab=diff").Body
	assert.NotContains(t, page, "\u202e")
	for _, line := range []string{"&#34;w&#34;: null<", "&#34;x&#34;: 1.50<", "&#34;y&#34;: {}<", "&#34;z&#34;: []<", "    one<"} {
		assert.Contains(t, page, line)
	}
	for name, body := range map[string]string{"deep": strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
		"long": "[" + strings.Repeat("1,", 60_000) + "1]"} {
		f.send("POST", "/v1/events/trigger", fmt.Sprintf(`{"event_id":"nope","payload":{"email":"a@b.test","order":%s}}`, body))
		page := f.get(fmt.Sprintf("/requests/%d?tab=diff&with=1", f.box.History.State().Last)).Body
		assert.Less(t, len(page), 20_000+2*len(body), name)
	}
}
