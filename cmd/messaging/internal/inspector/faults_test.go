package inspector_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
	"github.com/messaging-go/messaging/internal/fake"
)

func TestFaultsOfTheFormAndThePresets(t *testing.T) {
	f := start(t, records.Demo())
	form := func(values url.Values) reply {
		return f.do("POST", f.ui+"/faults", values.Encode(), func(r *http.Request) {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		})
	}
	require.Equal(t, 303, form(url.Values{"preset": {"0"}, "op": {"create event"}}).Status)
	require.Equal(t, 303, form(url.Values{"op": {"list events"}, "kind": {"slow"}, "after": {"2s"}, "skip": {"1"}, "count": {""}}).Status)
	rules := f.box.Rules()
	require.Len(t, rules, 2)
	assert.Equal(t, "create event", rules[0].Op)
	assert.Equal(t, "unknown", rules[0].Delivery)
	assert.Equal(t, fake.Rule{Op: "list events", Skip: 1, Probability: 1,
		Fault: fake.Fault{Kind: "slow", After: fake.Duration(2 * time.Second)}}, rules[1].Rule)
	assert.Equal(t, 0, f.send("POST", "/v1/events", `{"name":"n","description":"d","parameters":[]}`))
	assert.Equal(t, 200, f.send("POST", "/v1/events", `{"name":"n","description":"d","parameters":[]}`))

	refused := form(url.Values{"op": {"list events"}, "kind": {"status"}, "status": {"one"}})
	assert.Equal(t, 422, refused.Status)
	assert.Contains(t, refused.Body, "status must be a number")
	assert.Contains(t, refused.Body, `<option value="list events" selected>List events</option>`)
	assert.Contains(t, refused.Body, `name="status" value="one"`, "what was typed is still there")
	require.Equal(t, 303, form(url.Values{"kind": {"status"}}).Status)
	assert.Equal(t, 502, f.box.Rules()[1].Fault.Status)
}

func TestPresetsAreForTheOperationThatIsSelected(t *testing.T) {
	f := start(t, records.Demo())
	for op, retried := range map[string]int{"": 2, "trigger event": 2, "list events": 5} { // not a 200 that can't be read
		page := f.get("/faults?op=" + url.QueryEscape(op)).Body
		assert.Equal(t, retried, strings.Count(page, ">retried<"), op)
		if op != "" {
			assert.Contains(t, page, `<option value="`+op+`" selected>`+strings.ToUpper(op[:1])+op[1:]+`</option>`)
		}
	}
}

func TestRulesAreDescribedInWords(t *testing.T) {
	f := start(t, records.Demo())
	for rule, words := range map[string]string{
		`"count":1`:          "1 request<",
		`"count":0`:          "all<",
		`"count":3,"skip":2`: "3 requests after the first 2<",
		`"count":0,"skip":1,"probability":0.5,"seed":7`: "all after the first, each with probability 0.5 (seed 7)<",
	} {
		require.Equal(t, 200, f.post("/api/faults", `{`+rule+`,"fault":{"kind":"slow","after":"2s"}}`).Status)
		assert.Contains(t, f.get("/faults").Body, `<td data-label="What happens">delayed by 2s<td data-label="Which requests">`+words)
	}
}

func TestThePageOfFaultsHasTheRequestsOfARuleThatIsUsedUp(t *testing.T) {
	f := start(t, records.Demo())
	assert.NotContains(t, f.get("/faults").Body, "Latest requests with a fault")
	f.send("GET", "/v1/events", "")
	require.Equal(t, 200, f.post("/api/faults", `{"op":"list events","count":1,"fault":{"kind":"status","status":502}}`).Status)
	require.Equal(t, 502, f.send("GET", "/v1/events", ""))
	page := f.get("/faults").Body
	assert.Contains(t, page, "None is active: every request is served.")
	assert.Contains(t, page, `href="/requests/2" data-kind="read" data-number="2"`)
	assert.NotContains(t, page, `href="/requests/1"`)
}

func TestRulesThatAreUsedUpStayInSightUntilAReset(t *testing.T) {
	f := start(t, records.Demo())
	shown := func() []string { return regexp.MustCompile(`done, \d of \d`).FindAllString(f.get("/faults").Body, -1) }
	add := func(count int) {
		require.Equal(t, 200, f.post("/api/faults", fmt.Sprintf(`{"op":"list events","count":%d,"fault":{"kind":"status","status":502}}`,
			count)).Status)
	}
	add(3)
	for _, want := range []string{"0 failures", "1 failure<", "2 failures", "done, 3 of 3"} {
		page := f.get("/faults").Body
		assert.Contains(t, page, want)
		assert.Equal(t, want != "done, 3 of 3", strings.Contains(page, "/faults/1/remove"))
		f.send("GET", "/v1/events", "")
	}
	assert.Contains(t, f.get("/api/faults").Body, `"items":[]`)
	for range 5 {
		add(1)
		f.send("GET", "/v1/events", "")
	}
	assert.Equal(t, slices.Repeat([]string{"done, 1 of 1"}, 5), shown(), "the latest ones")
	add(2)
	require.Equal(t, 204, f.do("DELETE", f.ui+"/api/faults/7", "").Status)
	assert.Len(t, shown(), 5, "a rule that is removed is not used up")
	for _, what := range []string{"faults", "all"} {
		add(1)
		f.send("GET", "/v1/events", "")
		assert.NotEmpty(t, shown())
		require.Equal(t, 204, f.post("/api/reset?what="+what, "").Status)
		assert.Empty(t, shown())
	}
}
