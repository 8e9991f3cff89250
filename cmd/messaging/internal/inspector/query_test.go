package inspector_test

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
)

func TestQueryIsInTheRowAndInTheRequest(t *testing.T) {
	f := start(t, records.Demo())
	require.Equal(t, 200, f.send("GET", "/v1/customers?email=ada%40example.com&per_page=3&x=%3Cb%3E%E2%80%AE", ""))
	list := html.UnescapeString(f.get("/").Body)
	assert.Contains(t, list, `<bdi class="query">?email=ada@example.com&per_page=3&x=%3Cb%3E%E2%80%AE</bdi>`)
	assert.Contains(t, list, `<span class="tag warn" title="unknown parameter">unknown parameter</span>`)
	page := f.get("/requests/1").Body
	assert.NotContains(t, page, "<b>\u202e")
	assert.Contains(t, page, "<td><code>x</code><td><code>&lt;b&gt;\u2066‹U&#43;202E›\u2069</code>")
	page = html.UnescapeString(page)
	assert.Contains(t, page, `<small class="endpoint">GET /v1/customers?email=ada@example.com&per_page=3`)
	assert.Contains(t, page, "<tr><td><code>per_page</code><td><code>3</code></tr>")
	assert.Contains(t, page, "email (did you mean emails?) and x were sent, which the operation or the event does not have.")
	for search, found := range map[string]int{"ada@example.com": 1, "email": 1, "bob@example.com": 0} {
		assert.Equal(t, found, strings.Count(f.get("/?q="+search).Body, `class="row"`), search)
	}
}

func TestQueryInARowIsShort(t *testing.T) {
	f := start(t, records.Demo())
	f.send("GET", "/v1/customers?emails="+strings.Repeat("ada@example.com,", 100), "")
	row := regexp.MustCompile(`<bdi class="query">([^<]*)<`).FindStringSubmatch(f.get("/").Body)
	require.Len(t, row, 2)
	assert.Len(t, []rune(row[1]), 61)
	assert.True(t, strings.HasSuffix(row[1], "…"))
}

func TestQueryMarksItsProblems(t *testing.T) {
	f := start(t, records.Demo())
	require.Equal(t, 422, f.send("GET", "/v1/events?cursor=zzz&per_page=2", ""))
	page := f.get("/requests/1").Body
	assert.Contains(t, page, `<tr class="marked" id="at-cursor"><td><code>cursor</code><td><code>zzz</code>`+
		`<em>is not a cursor of this list</em>`)
	assert.Contains(t, page, `1 problem in the query: `+
		`<a href="/requests/1?tab=exchange#at-cursor">cursor</a> is not a cursor of this list.`)
}

func TestProblemsOfABodyThatIsNotShownAsLinesAreNamed(t *testing.T) {
	f := start(t, records.Demo())
	body := `{"name":"n","more":[` + strings.Repeat("1,", 4100) + `1]}`
	require.Equal(t, 422, f.send("POST", "/v1/events", body))
	page := f.get("/requests/1").Body
	assert.Contains(t, page, `#at-description">description</a> is required; `)
	require.Equal(t, 422, f.send("POST", "/v1/events", `{"name":"n"}`))
	page = f.get("/requests/2").Body
	assert.Contains(t, page, `in the request: <a href="/requests/2?tab=exchange#at-description">description</a> is required; `+
		`<a href="/requests/2?tab=exchange#at-parameters">parameters</a> is required.</p>`)
	assert.Contains(t, page, `<em id="at-description">description is required</em>`)
	assert.Contains(t, page, `class="line marked"`)
}

func TestQueryOfASendHasNoParameters(t *testing.T) {
	f := start(t, records.Demo())
	f.send("POST", "/v1/events?dry_run=1", `{"name":"n"}`)
	f.send("GET", "/elsewhere?x=1", "")
	assert.Contains(t, f.get("/requests/1").Body, "dry_run was sent, which the operation or the event does not have.")
	assert.NotContains(t, f.get("/requests/2").Body, "not a parameter", "no operation has this path")
	assert.Contains(t, f.get("/requests/2").Body, "GET /elsewhere?x=1")
}

func TestProblemsLeadToTheirLines(t *testing.T) {
	f := start(t, records.Demo())
	require.Equal(t, 422, f.send("POST", "/v1/broadcast/send/email", broadcastOf(`"Acme"`, `7`, `"ada@example.com"`, `"ada"`)))
	page := f.get("/requests/1?q=status:422").Body
	assert.Regexp(t, `2 problems in the request: <a href="/requests/1\?q=status%3A422&amp;tab=exchange#at-recipients.1.customers.0.email">`+
		`recipients.1.customers.0.email</a> [^<]*; <a href="[^"]*#at-sender_name">sender_name</a> [^<]*\.</p>`, page)
	assert.Regexp(t, `<span class="line marked" [^\n]*sender_name[^\n]*<em id="at-sender_name">`, page)
	var many strings.Builder
	for i := range 30 {
		fmt.Fprintf(&many, `{"email":"x%d"},`, i)
	}
	require.Equal(t, 422, f.send("POST", "/v1/broadcast/send/email", broadcastOf(`{"email":"ada@example.com"},`, many.String())))
	assert.Contains(t, f.get("/requests/2").Body, "; 10 more.</p>")
}
