package inspector_test

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
)

// overviewOf returns the texts of the overview of a page, one for each of its lines.
func overviewOf(t *testing.T, body string) (summary string, findings []string) {
	t.Helper()
	_, rest, ok := strings.Cut(body, `<section id="overview">`)
	require.True(t, ok, "the page has an overview")
	section, _, _ := strings.Cut(rest, "</section>")
	summary, list, _ := strings.Cut(section, `<ul class="overview">`) // the others follow in a second list
	for _, item := range strings.Split(list, "<li>")[1:] {
		item, _, _ = strings.Cut(item, "</li>")
		if item = textOf(item); item != "" {
			findings = append(findings, item)
		}
	}
	return textOf(summary), findings
}

var markup = regexp.MustCompile(`<[^>]*>`)

// textOf returns the text of a part of a page.
func textOf(part string) string {
	return strings.Join(strings.Fields(markup.ReplaceAllString(part, " ")), " ")
}

func TestTheOverviewGroupsWhatIsWorthALookAndBeginsWithTheLatestFailure(t *testing.T) {
	f := start(t, records.Demo())
	for range 2 {
		f.send("POST", "/v1/events/trigger", skippedBody)
	}
	for range 3 {
		f.send("POST", "/v1/events", `{"name":"n"}`)
	}
	f.post("/api/faults", `{"op":"send push broadcast","count":1,"fault":{"kind":"answer_lost"}}`)
	f.send("POST", "/v1/broadcast/send/push-notification", `{"subject":"s","message":"m","all_customers":true,"schedule_type":"send-now"}`)
	f.send("GET", "/elsewhere", "")

	page := f.get("/").Body
	summary, findings := overviewOf(t, page)
	assert.Equal(t, "Worth a look All 7 requests: 2 accepted 4 rejected 1 unknown", summary)
	assert.Equal(t, []string{
		"skipped order shipped shipped_at was skipped, although the response reports success. last #2 2 times",
		"404 rejected GET /elsewhere no operation has this method and path #7",
		"unknown s fault: response lost #6",
		"422 rejected Create event · n description is required, and 1 more last #5 3 times",
		"duplicate? order shipped Possibly a duplicate of an earlier request. #2",
	}, findings)
	levels := regexp.MustCompile(`<li class="level">([^<]*)</li>`).FindAllStringSubmatch(page, -1)
	require.Len(t, levels, 6, "the list of a narrow page has them too")
	assert.Equal(t, []string{"Accepted, with values skipped", "Failed", "Suspicious"}, []string{levels[3][1], levels[4][1], levels[5][1]})
	assert.Contains(t, page, `<a class="tag bad" href="/?q=delivery%3Arejected">4 rejected</a>`)
	assert.Contains(t, page, `<li><a href="/requests/5">`, "a finding leads to its latest request")
	const all = "/?q=op%3A%22create&#43;event%22&#43;says%3A%22description&#43;is&#43;required%2C&#43;and&#43;1&#43;more%22"
	assert.Contains(t, page, `<a class="all" href="`+all+`">3 times</a>`)
	assert.Contains(t, f.get(html.UnescapeString(all)).Body, `<span id="matches">3 matches</span>`, "and to all of them")

	f.send("POST", "/v1/events/trigger", `{"event_id":"none","payload":{"email":"ada@example.com"}}`)
	page = f.get("/triggers").Body
	summary, findings = overviewOf(t, page)
	assert.Equal(t, "Worth a look 3 requests, including refused ones: 2 accepted 1 rejected", summary,
		"a list has the overview of its own requests")
	assert.Len(t, findings, 3)
	assert.Contains(t, page, `<a class="tag bad" href="/?q=op%3Atrigger&#43;delivery%3Arejected">`)
	assert.Contains(t, page, `<li><a href="/requests/8">`, "what was refused is no item of the list")
	assert.Contains(t, page, `<li><a href="/triggers/2">`)
}

func TestTheOverviewSaysWhenNothingStandsOut(t *testing.T) {
	f := start(t, records.Demo())
	assert.NotContains(t, f.get("/").Body, `id="overview"`, "nothing was sent")
	f.send("GET", "/v1/events", "")
	summary, findings := overviewOf(t, f.get("/").Body)
	assert.Equal(t, "Nothing stands out One request: 1 accepted", summary)
	assert.Empty(t, findings)
}

func TestASearchHasTheOverviewOfItsMatches(t *testing.T) {
	f := start(t, records.Demo())
	for range 2 {
		f.send("POST", "/v1/events/trigger", skippedBody)
	}
	f.send("POST", "/v1/events", `{"name":"n"}`)
	f.send("GET", "/v1/events", "")
	page := f.get("/?q=op:event").Body
	summary, findings := overviewOf(t, page)
	assert.Equal(t, "4 matches 3 accepted 1 rejected Worth a look", summary)
	assert.Len(t, findings, 3)
	page = html.UnescapeString(page)
	assert.Contains(t, page, `<li><a href="/requests/3?q=op%3Aevent">`, "the list stays the one of the search")
	assert.Contains(t, page, `<a class="tag bad" href="/?q=op%3Aevent+delivery%3Arejected">1 rejected</a>`)
	assert.Contains(t, page, `<details class="setup">`)
	assert.NotContains(t, page, "Select a request")

	summary, findings = overviewOf(t, f.get("/?q=op:list").Body)
	assert.Equal(t, "1 match 1 accepted", summary)
	assert.Empty(t, findings)
	page = html.UnescapeString(f.get("/?q=op:event+delivery:rejected").Body)
	assert.Contains(t, page, `<a class="tag bad" href="/?q=op%3Aevent+delivery%3Arejected">1 rejected</a>`, "a term is there once")
	assert.NotContains(t, f.get("/?q=nowhere").Body, `id="overview"`)

	now := f.get("/rows?section=requests&after=3&overview=1&q=op:event").Body
	summary, _ = overviewOf(t, now)
	assert.Equal(t, "4 matches 3 accepted 1 rejected Worth a look", summary)
}

func TestTheOverviewOfASearchSaysHowManyMatchesItLookedAt(t *testing.T) {
	f := start(t, records.Demo())
	for range 502 {
		f.send("GET", "/v1/events", "")
	}
	summary, _ := overviewOf(t, f.get("/?q=op:list").Body)
	assert.Equal(t, "502 matches The latest 500: 500 accepted", summary)
}

func TestTheOverviewBeginsWithAKeyThatIsNotOfTheSandbox(t *testing.T) {
	f := start(t, records.Demo())
	f.send("POST", "/v1/events/trigger", skippedBody)
	f.do("GET", f.api+"/v1/events", "", func(r *http.Request) { r.Header.Set("X-Authorization", "another") })
	_, findings := overviewOf(t, f.get("/").Body)
	require.Len(t, findings, 2)
	assert.Equal(t, "401 rejected List events the API key is not that of this sandbox #2", findings[0])
	var detail struct{ Notes []struct{ Code, Text string } }
	require.NoError(t, json.Unmarshal([]byte(f.get("/api/requests/2").Body), &detail))
	require.Len(t, detail.Notes, 1, "programs see what the page says of the key")
	assert.Contains(t, detail.Notes[0].Text, "The API key is not that of this sandbox")
	assert.Equal(t, "api_key", detail.Notes[0].Code)
}

func TestTheOverviewFoldsWhatDoesNotFit(t *testing.T) {
	f := start(t, records.Demo())
	for i := range 13 {
		f.send("GET", fmt.Sprintf("/v1/events?x%d=1", i), "")
	}
	page := f.get("/").Body
	_, findings := overviewOf(t, page)
	assert.Len(t, findings, 13)
	assert.Contains(t, page, "<summary>3 more findings</summary>")
	assert.Contains(t, page, "<summary>13 worth a look</summary>")
}

func TestTheOverviewFoldsHowToSendRequests(t *testing.T) {
	f := start(t, records.Demo())
	const folded = `<details class="setup">`
	assert.NotContains(t, f.get("/").Body, folded, "nothing was sent")
	f.send("GET", "/v1/events", "")
	page := f.get("/").Body
	assert.Contains(t, page, folded)
	assert.Contains(t, page, "export MESSAGING_BASE_URL=")
}

func TestNewRowsComeWithTheOverviewOnlyWhereThePageHasOne(t *testing.T) {
	f := start(t, records.Demo())
	f.fill()
	assert.Contains(t, f.get("/rows?section=requests&after=0&overview=1").Body, `id="overview"`)
	assert.NotContains(t, f.get("/rows?section=requests&after=0").Body, `id="overview"`)
}

func TestTheOverviewTellsApartWhatNothingElseShows(t *testing.T) {
	f := start(t, records.Demo())
	for range 2 {
		f.send("POST", "/v1/events/trigger", skippedBody)
		f.send("POST", "/v1/broadcast/send/push-notification", `{"subject":"s","message":"m","all_customers":true,"schedule_type":"send-now"}`)
	}
	_, findings := overviewOf(t, f.get("/").Body)
	duplicates := slices.DeleteFunc(findings, func(text string) bool { return !strings.HasPrefix(text, "duplicate?") })
	assert.Equal(t, []string{"duplicate? s Possibly a duplicate of an earlier request. #4",
		"duplicate? order shipped Possibly a duplicate of an earlier request. #3"}, duplicates)
}

func TestAFindingOfSeveralRequestsCountsThem(t *testing.T) {
	f := start(t, records.Demo())
	for _, subject := range []string{"Moved", "Open", "Closed"} {
		f.send("POST", "/v1/broadcast/send/email", broadcastOf("Moved", subject, "{{name}}", "{{nme}}"))
	}
	f.send("GET", "/elsewhere", "")
	f.send("POST", "/elsewhere", "{}")
	_, findings := overviewOf(t, f.get("/").Body)
	require.Len(t, findings, 2)
	assert.Equal(t, "404 rejected Several requests no operation has this method and path last #5 2 times", findings[0])
	assert.Contains(t, findings[1], "no variable Send email broadcast No variable was sent for {{nme}}.")
	assert.Contains(t, findings[1], "last #3 3 times")
}

func TestTheOverviewHasAFindingForEachVariableThatIsMissing(t *testing.T) {
	f := start(t, records.Demo())
	for i, names := range []string{"{{coupon}}", "{{coupon}} {{shop}}", "{{first_name}} {{shop}} {{coupon}}", "{{unsubscribe_url}}"} {
		f.send("POST", "/v1/broadcast/send/email", broadcastOf("Moved", fmt.Sprint("Offer ", i), "{{name}}", names))
	}
	_, findings := overviewOf(t, f.get("/").Body)
	assert.Equal(t, []string{
		"no variable Send email broadcast No variable was sent for {{coupon}}. last #3 3 times",
		"no variable Send email broadcast No variable was sent for {{shop}}. last #3 2 times",
	}, findings)
}

// read sends requests with which nothing is wrong.
func (f *fixture) read(n int) {
	for range n {
		f.send("GET", "/v1/events", "")
	}
}

func TestTheOverviewIsOfAllRequestsThatAreKept(t *testing.T) {
	f := start(t, records.Demo())
	f.post("/api/faults", `{"op":"create event","count":3,"fault":{"kind":"status","status":502}}`)
	for i := range 5 {
		f.send("POST", "/v1/events", fmt.Sprintf(`{"name":"n%d"}`, i))
	}
	f.read(600)
	summary, findings := overviewOf(t, f.get("/").Body)
	assert.Contains(t, summary, "All 605 requests: 600 accepted 2 rejected 3 unknown", "the first page has all counts")
	assert.NotContains(t, summary, "Nothing stands out")
	require.Eventually(t, func() bool {
		summary, findings = overviewOf(t, f.get("/").Body)
		return !strings.Contains(summary, "so far")
	}, 10*time.Second, time.Millisecond)
	assert.Equal(t, "Worth a look All 605 requests: 600 accepted 2 rejected 3 unknown", summary)
	assert.Equal(t, []string{
		"422 rejected Create event description is required, and 1 more last #5 2 times",
		"502 unknown Create event fault: status 502 last #3 3 times",
	}, findings)
}

func TestTheOverviewForgetsWhatIsNoLongerKept(t *testing.T) {
	f := startWith(t, records.Demo(), "", func(c *sandbox.Config) { c.Keep = 10 })
	f.send("POST", "/v1/events", `{"name":"n"}`)
	f.send("POST", "/v1/events", `{"name":"n"}`)
	_, findings := overviewOf(t, f.get("/").Body)
	assert.Equal(t, []string{"422 rejected Create event · n description is required, and 1 more last #2 2 times"}, findings)
	f.read(9)
	summary, findings := overviewOf(t, f.get("/").Body)
	assert.Equal(t, "Worth a look The latest 10 requests: 9 accepted 1 rejected", summary)
	assert.Equal(t, []string{"422 rejected Create event · n description is required, and 1 more #2"}, findings)
	f.read(1)
	summary, _ = overviewOf(t, f.get("/").Body)
	assert.Equal(t, "Nothing stands out The latest 10 requests: 10 accepted", summary)
	f.send("POST", "/v1/events", `{"name":"n"}`)
	f.post("/api/reset?what=history", "")
	f.read(1)
	summary, _ = overviewOf(t, f.get("/").Body)
	assert.Equal(t, "Nothing stands out One request: 1 accepted", summary)
}

func TestTheOverviewBoundsTheKindsOfFindings(t *testing.T) {
	f := start(t, records.Demo())
	for i := range 500 {
		f.send("POST", "/v1/broadcast/send/push-notification",
			fmt.Sprintf(`{"subject":"s%d","message":"m","all_customers":true,"schedule_type":"send-now"}`, i%250))
	}
	for i := range 350 {
		f.send("GET", fmt.Sprintf("/v1/events?x%d=1", i), "")
	}
	var page string
	require.Eventually(t, func() bool {
		page = f.get("/").Body
		return !strings.Contains(page, "so far")
	}, 10*time.Second, time.Millisecond)
	_, findings := overviewOf(t, page)
	assert.Len(t, findings, 351, "many broadcasts with the same remark are one finding")
	assert.Contains(t, findings, "duplicate? Send push broadcast Possibly a duplicate of an earlier request. last #500 250 times")

	for i := range 350 {
		f.send("GET", fmt.Sprintf("/v1/events?y%d=1", i), "")
	}
	require.Eventually(t, func() bool {
		page = f.get("/").Body
		return !strings.Contains(page, "so far")
	}, 10*time.Second, time.Millisecond)
	_, findings = overviewOf(t, page)
	assert.Len(t, findings, 500)
	assert.Contains(t, page, "There are too many kinds of findings to list them all: 201 findings are left out.")
}
