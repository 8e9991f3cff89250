package inspector_test

import (
	"encoding/json"
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

func TestAnyTwoRequestsAreCompared(t *testing.T) {
	f := start(t, records.Demo())
	f.fill()
	page := f.get("/requests/4?tab=diff&with=3").Body
	assert.Contains(t, page, `<span class="del">−</span> <a href="/requests/3">request 3</a> <span class="add">+</span> this request`)
	assert.Contains(t, page, `<option value="2">n, 422 rejected, 20`, "others are found by more than their number")
	assert.NotContains(t, page, `<option value="4">`)
	assert.Contains(t, f.get("/requests/4?tab=diff&with=99").Body, "There is no request 99")
	assert.Contains(t, f.get("/requests/4?tab=diff").Body, "There is no earlier request")
}

var (
	diffLines = regexp.MustCompile(`<span class="line (add|del)?">(.*?)</span>`)
	details   = regexp.MustCompile(`<details><summary>(\d+) unchanged lines</summary>`)
)

// newsletter is an email in one line, with its keys in an order.
func newsletter(code string, keys ...string) string {
	message := `<html><head><style>p{margin:0}h1{color:red}</style></head><body>` +
		strings.Repeat(`<table><tr><td>A cell</td></tr></table>`, 20) + `<p>The <b>code</b> is ` + code + `.</p></body></html>`
	values := map[string]any{"sender_email": "news@acme.test", "sender_name": "Acme", "email": "news@acme.test", "subject": "We have moved",
		"message": message, "message_type": "announcement", "schedule_type": "send-now",
		"recipients": map[string]any{"type": "customer", "customers": []map[string]string{{"email": "ada@example.com"}}}}
	var members []string
	for _, key := range append(keys, "sender_email", "sender_name", "email", "subject", "message", "message_type", "schedule_type",
		"recipients") {
		if value, ok := values[key]; ok {
			members = append(members, fmt.Sprintf("%q:%s", key, must(json.Marshal(value))))
			delete(values, key)
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

func TestARequestIsComparedWithTheOneThatItRepeatsOrThatHasItsTitle(t *testing.T) {
	f := start(t, records.Demo())
	for _, subject := range []string{"We have moved", "Another subject", "We have moved"} {
		require.Equal(t, 200, f.send("POST", "/v1/broadcast/send/email", strings.Replace(emailBody, "Moved", subject, 1)))
	}
	f.replayed(`{"number":2}`)
	for path, with := range map[string]string{"/requests/2?tab=diff": "1</a>, the previous request of the same operation ",
		"/requests/3?tab=diff": "1</a>, of which it may be a duplicate ",
		"/requests/4?tab=diff": "2</a>, which it repeats ", "/requests/3?tab=diff&with=2": "2</a> "} {
		assert.Contains(t, f.get(path).Body, `">request `+with+`<span`, path)
	}
}

func TestAComparisonHasOneLineForOneDifference(t *testing.T) {
	f := start(t, records.Demo())
	for _, body := range []string{newsletter("AUTUMN"), newsletter("WINTER", "subject", "recipients"), newsletter("WINTER"),
		newsletter("WINTER")} {
		require.Equal(t, 200, f.send("POST", "/v1/broadcast/send/email", body))
	}
	page := f.get("/requests/2?tab=diff").Body
	changed := map[string][]string{}
	for _, line := range diffLines.FindAllStringSubmatch(page, -1) {
		changed[line[1]] = append(changed[line[1]], line[2])
		assert.Less(t, len(line[2]), 120, "a line can be read")
	}
	assert.Equal(t, []string{`−     &lt;p&gt;The &lt;b&gt;code&lt;/b&gt; is <mark>AUTUMN</mark>.&lt;/p&gt;`}, changed["del"])
	assert.Equal(t, []string{`&#43;     &lt;p&gt;The &lt;b&gt;code&lt;/b&gt; is <mark>WINTER</mark>.&lt;/p&gt;`}, changed["add"])
	assert.Len(t, details.FindAllString(page, -1), 2, "above and below")

	assert.Contains(t, f.get("/requests/3?tab=diff").Body, "The bodies differ only in white space or in the order of keys.")
	page = f.get("/requests/4?tab=diff").Body
	assert.Contains(t, page, "<b>The requests are identical.</b>")
}

func TestARequestIsComparedWithThePreviousOneForItsCustomerAndEvent(t *testing.T) {
	f := start(t, records.Demo())
	const another = "5eed0000-0000-4000-8000-000000000002"
	refused := strings.Replace(skippedBody, `"order":"A-1001",`, "", 1)
	for _, body := range []string{skippedBody, strings.Replace(skippedBody, "grace@", "ada@", 1), refused,
		strings.Replace(skippedBody, orderShipped, another, 1), skippedBody, strings.Replace(skippedBody, "grace@", "alan@", 1),
		strings.Replace(skippedBody, orderShipped, "no event", 1)} {
		f.send("POST", "/v1/events/trigger", body)
	}
	f.send("DELETE", "/elsewhere", "")
	f.send("DELETE", "/elsewhere", "")
	f.send("POST", "/v1/events", `{"name":"n","description":"1"}`)
	f.send("POST", "/v1/events", `{"name":"m","description":"1"}`)
	f.send("POST", "/v1/events", `{"name":"n","description":"2"}`)
	for number, want := range map[int]string{2: "1</a>, the previous request of the same event ",
		3: "1</a>, the previous request for the same customer and event ", 4: "3</a>, the previous request of the same operation ",
		5: "1</a>, of which it may be a duplicate ", 6: "5</a>, the previous request of the same event ",
		7: "6</a>, the previous request of the same operation ", 9: "8</a>, the previous request to the same path ",
		12: "10</a>, the previous request with the same name "} {
		assert.Contains(t, f.get(fmt.Sprintf("/requests/%d?tab=diff", number)).Body, `">request `+want+`<span`, number)
	}
}

func TestOutcomesOfIdenticalRequestsAreCompared(t *testing.T) {
	f := start(t, records.Demo())
	f.post("/api/faults", `{"op":"trigger","count":1,"fault":{"kind":"answer_lost"}}`)
	for _, body := range []string{skippedBody, skippedBody, skippedBody, skippedBody + " "} {
		f.send("POST", "/v1/events/trigger", body)
	}
	const identical = "<b>The requests are identical.</b>"
	page := f.get("/requests/2?tab=diff").Body
	assert.NotContains(t, page, identical)
	assert.Equal(t, []string{"-Outcome: unknown", "+Outcome: accepted"}, changedLines(page))
	page = f.get("/requests/3?tab=diff").Body
	assert.Contains(t, page, identical)
	assert.Empty(t, changedLines(page))
	page = f.get("/requests/4?tab=diff&with=3").Body
	assert.Contains(t, page, "<b>The bodies differ only in white space or in the order of keys.</b>")
	assert.Empty(t, changedLines(page))
}

// changedLines returns the lines of a comparison that differ, with their signs.
func changedLines(page string) (list []string) {
	page, _, _ = strings.Cut(page, "<h2>Response</h2>")
	for _, line := range regexp.MustCompile(`<span class="line (add|del)">(.*?)</span>`).FindAllStringSubmatch(page, -1) {
		text := strings.TrimLeft(html.UnescapeString(regexp.MustCompile(`</?mark>`).ReplaceAllString(line[2], "")), "−+ ")
		list = append(list, map[string]string{"add": "+", "del": "-"}[line[1]]+text)
	}
	return list
}

func TestALineThatChangedIsBelowTheOneThatItReplaces(t *testing.T) {
	f := start(t, records.Demo())
	f.send("POST", "/v1/events", `{"name":"the first","description":"the old text","z":1}`)
	f.send("POST", "/v1/events", `{"name":"the second","description":"the new text","y":[1],"z":1}`)
	var signs string
	for _, line := range diffLines.FindAllStringSubmatch(f.get("/requests/2?tab=diff").Body, -1) {
		signs += map[string]string{"del": "-", "add": "+", "": " "}[line[1]]
	}
	assert.Contains(t, signs, "-+-+", "description and name")
}

func TestRequestsThatDifferInMoreThanTheirBodiesAreNotIdentical(t *testing.T) {
	f := start(t, records.Demo())
	key, bearer := http.Header{"X-Authorization": {testKey}}, http.Header{"Authorization": {"Bearer " + testKey}}
	for _, header := range []http.Header{key, {}, bearer, key} {
		f.sendWith(header, "POST", "/v1/events/trigger", skippedBody)
	}
	f.send("GET", "/v1/customers", "")
	f.send("GET", "/v1/events", "")
	for address, want := range map[string][]string{
		"2?tab=diff&with=1": {"-API key: that of this sandbox", "+API key: none", "-Outcome: accepted", "+Outcome: 401 rejected"},
		"3?tab=diff&with=2": {"-API key: none", "+API key: in Authorization"},
		"6?tab=diff&with=5": {"-GET /v1/customers", "+GET /v1/events"},
	} {
		page := f.get("/requests/" + address).Body
		assert.ElementsMatch(t, want, changedLines(page), address)
		assert.NotContains(t, page, "The requests are identical.")
		assert.NotContains(t, page, testKey)
	}
	_, response, found := strings.Cut(f.get("/requests/2?tab=diff&with=1").Body, "<h2>Response</h2>")
	require.True(t, found)
	assert.Contains(t, response, `class="line add"`)
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
}
