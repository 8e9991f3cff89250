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
	"unicode/utf8"

	"github.com/messaging-go/messaging/cmd/messaging/internal/findings"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// steps carries out steps: fill; fault, outage, mark or post with what follows; trigger, email or push
// with a body; or a method, a path and a body that the service gets, after "as", the fields of the header
// in place of that with the key, and " | ".
func (f *fixture) steps(steps []string) {
	f.t.Helper()
	for _, step := range steps {
		verb, rest, _ := strings.Cut(step, " ")
		switch verb {
		case "fill":
			f.fill()
		case "fault":
			f.fault(rest)
		case "outage":
			require.Equal(f.t, 204, f.post("/api/outage", `{"for":"`+rest+`"}`).Status)
		case "mark":
			f.box.History.Mark(rest)
		case "post":
			path, body, _ := strings.Cut(rest, " ")
			require.Less(f.t, f.post(path, body).Status, 300, step)
		case "trigger":
			f.trigger(rest)
		case "email":
			f.email(rest)
		case "push":
			f.push(rest)
		default:
			fields := http.Header{"X-Authorization": {testKey}}
			if list, request, ok := strings.Cut(rest, " | "); ok && verb == "as" {
				fields = http.Header{}
				for field := range strings.SplitSeq(list, ", ") {
					name, value, _ := strings.Cut(field, ":")
					fields.Set(name, value)
				}
				verb, rest, _ = strings.Cut(request, " ")
			}
			path, body, _ := strings.Cut(rest, " ")
			f.sendWith(fields, verb, path, body)
		}
	}
}

// shows holds that a page has texts. What begins with "~" is a regular expression, with "!" is not
// there, with "1×" or another number is there as often; "@" before all of that reads the page
// without its escapes. A text such as "<1000" limits the bytes of the page.
func (f *fixture) shows(path string, texts ...string) {
	f.t.Helper()
	got := f.ask("GET", path, "", frame)
	page := got.Body
	assert.Less(f.t, len(page), 2<<20, path)
	assert.NotContains(f.t, page, "ZgotmplZ", path)
	assert.True(f.t, utf8.ValidString(page), path)
	assert.True(f.t, !strings.HasPrefix(path, "/api/") || json.Valid([]byte(page)), path)
	for _, text := range texts {
		page, text := page, text
		if rest, ok := strings.CutPrefix(text, "@"); ok {
			page, text = html.UnescapeString(page), rest
		}
		before, rest, _ := strings.Cut(text, "×")
		if count, err := strconv.Atoi(before); err == nil {
			assert.Equal(f.t, count, strings.Count(page, rest), "%s: %s", path, text)
		} else if limit, err := strconv.Atoi(strings.TrimPrefix(text, "<")); err == nil {
			assert.Less(f.t, len(page), limit, path)
			assert.Equal(f.t, 200, got.Status, path)
		} else if absent, ok := strings.CutPrefix(text, "!"); ok {
			assert.NotContains(f.t, page, absent, path)
		} else if pattern, ok := strings.CutPrefix(text, "~"); ok {
			assert.Regexp(f.t, pattern, page, path)
		} else {
			assert.Contains(f.t, page, text, path)
		}
	}
}

// shown are texts of pages, by path.
type shown map[string][]string

const (
	invalidEvent = `{"name":"n"}`
	validEvent   = `{"name":"n","description":"d","parameters":[]}`
	openFilters  = `<details class="chips" open>`
	acceptedTag  = `<span class="tags"><span class="tag ok">accepted</span>`
	searchHelp   = `<table class="search-keys">`
	byItself     = "The client does that by itself, unless it would have to wait for more than 30 s"
	notSent      = "!would not have sent this"
	row          = `class="row"`
	limited      = `<span class="who"><span class="about"><span class="says"><bdi>fault: rate limited</bdi> · <bdi>`
	refusedBody  = `{"event_id":"nope","payload":{"email":"a@b.test"}}`
	source       = `@aria-label="Message as it was sent"><code>`
	noRoute      = `<p class="note bad">No operation has this method and path`
	repeated     = `>Send again</button>`
	turned       = "!\u202e"
	small        = "<2097152"
	nothingDone  = "The request was refused, and nothing was done."
)

func TestPages(t *testing.T) {
	large := withMessage(many(32_000, "", `<p>Hi {{name}}, <a href="https://acme.test/%d">look <b>here</b></a><img src="/%d.gif"></p>`))
	require.Greater(t, len(large), 3<<20)
	for name, test := range map[string]struct {
		steps []string
		shown shown
	}{
		"what was skipped, refused and lost, and searches for it": {[]string{"fill"}, shown{
			"/": {`title="skipped">skipped<`, "fault: answer lost", "the API key is not that of this sandbox", "422 rejected", "DELETE /elsewhere",
				"to ada@example.com &#43;1 and 1 segment", `!id="matches"`,
				"!another&#34;"},
			"/requests/2": {"What the Go SDK returns", "rejected", "description is required", "Fix the request"},
			"/requests/3": {"<code>&#34;21.11.2026&#34;</code>", "YYYY-MM-DDThh:mm:ssZ", "shipped_at was skipped, although"},
			"/requests/5": {"unknown", "Check before you send it again", "before the response. The request was carried out."},
			"/requests/6": {"The API key is not that of this sandbox", "REDACTED", "!another&#34;"},
			"/requests/4": {"to ada@example.com &#43;1 and 1 segment · Send email broadcast", "2030-01-01 09:00:00",
				"Europe/Berlin", `sandbox=""`},
			"/requests/4?tab=text":     {"Hi {{name}}, look"},
			"/requests/4?tab=audience": {"1 segment", "does not return the size", "new@example.com", "created"},
			"/customers/1":             {"Ada Lovelace", "/requests/4"},
			"/faults":                  {`<option value="trigger event" selected>Trigger event</option>`},
			"/?q=op:list":              {`<span id="matches">2 requests</span> for`}, "/?q=-op:list": {`<span id="matches">5 requests</span> for`},
			"/?q=op:trigger": {`<span id="matches">1 request</span> for`, "!" + openFilters}, "/?q=op:trigger&filter=open": {openFilters},
			`/?q=ada+op:"trigger+event"+status:4xx`: {
				`@<a class="chip" href="/?q=ada+status%3A4xx&filter=open" aria-current="true">trigger event</a>`,
				`@<a class="chip" href="/?q=ada+status%3A4xx+op%3A%22create+event%22&filter=open">create event</a>`,
				`@<a class="chip" href="/?q=ada+op%3A%22trigger+event%22+status%3A2xx&filter=open">2xx</a>`,
				`@+has%3Askipped&filter=open">skipped</a>`},
			`/?q=-"op:list+events"+"-x"`:        {`@href="/?q=-op%3A%22list+events%22+%22-x%22+status%3A4xx&filter=open">4xx</a>`}, // still not
			"/api/requests?q=delivery:unknown":  {`"number":5,`},
			"/api/requests?q=delivery:accepted": {`!"number":5,`},
			"/api/requests?q=op:list&limit=1":   {`1×"number":`, `"number":6,`, `"next":6}`}, "/api/requests?q=op:list&before=6": {
				`1×"number":`, `"number":1,`, `"next":null}`},
		}},
		"a rule shows its search": {[]string{`fault {"match":"to:\u202eada","skip":1,"fault":{"kind":"answer_lost"}}`}, shown{
			"/faults": {`@<code>to:‹U+202E›ada</code>: 1 request after the first`, "the terms op, to, event, subject and value."},
		}},
		"a search without a match says how to search": {[]string{"GET /v1/events"}, shown{
			"/?q=nowhere":      {"1 request is kept, and none of them matches.", searchHelp, "!Send something here"},
			"/?q=-status:many": {"1×must be a status code", "The search is invalid", "!Send something here"},
			"/?q=op:nonsense":  {"unknown operation", searchHelp, "!Send something here"},
		}},
		"an empty history shows how to send": {nil, shown{
			"/?q=has:skipped":  {"Send something here", "!Nothing matches"},
			"/":                {`!id="overview"`, "!data-outage", "<noscript>not live", `<option value="has:skipped">`, `<option value="event:">`},
			"/events?q=no":     {"!<article>", `!<option value="has:skipped">`},
			"/events":          {`<main id="main" class="panes">`, `1×aria-current="true"`}, // the first one is beside the list
			"/customers?q=ada": {`Matches for <bdi>ada</bdi></span><a href="/customers">Clear</a>`},
		}},
		"records are found by words, and have pages": {nil, shown{
			"/api/customers?q=%22Ada+Lovelace%22": {`1×"number"`, "c-1001"}, "/api/customers?q=lovelace+ada": {`1×"number"`, "c-1001"},
			"/api/events?q=shipped+-cart": {`1×"number"`, "order shipped"}, "/api/messages?q=invoice": {`1×"number"`, "Your invoice"},
			"/api/customers?q=status:x":       {`{"items":[],"next":null}`},
			"/api/customers?limit=1":          {`"number":24,`, `"next":24}`},
			"/api/customers?limit=3&before=5": {`3×"number":`, `"number":4,`, `"number":2,`, `"next":2}`},
			"/api/customers?limit=3&before=4": {`3×"number":`, `"number":1,`, `"next":null}`},
		}},
		"summaries say what was sent and to whom": {[]string{
			`push {"subject":"Hi","recipients":{"customers":[7,{"email":"a@x.test"}]}}`, "push " + pushBody,
			`trigger {"event_id":"` + orderShipped + `","payload":{"customer":{"customer_id":"c-9"}}}`, "push " + pushTo(503),
			"trigger " + strings.Replace(skippedBody, "21.11.2026", "21\xff", 1),
			"push " + strings.Replace(pushBody, `"s"`, `"`+strings.Repeat("é", 400)+`"`, 1)}, shown{
			"/api/requests/1":          {`"subject":"Hi","to":["a@x.test"],"to_count":2`},
			"/api/requests/3":          {`"event":"order shipped","to":["c-9"],"to_count":1`},
			"/api/requests/4":          {`"to":["c0@x.test","c1@x.test","c2@x.test","c3@x.test","c4@x.test"],"to_count":503`},
			"/api/requests/6":          {`"subject":"` + strings.Repeat("é", 250) + `",`}, // its beginning
			"/api/broadcasts/4":        {`501×"number":`, `"more_customers":3`},           // its own, and those of 500
			"/requests/4?tab=audience": {"503 customers", "c499@x.test", "!c500@x.test", "3 more customers not shown"},
			"/api/requests/5":          {`"number":5`}, "/api/triggers/5": {`"number":5`}, "/api/triggers": {`"number":5`}, // valid, as all JSON
			"/api/wait?q=to:someone@x.test&count=0&timeout=0s": {"it matched, and none was expected"}, // a broadcast to all is to each
		}},
		"the latest five names of marks are chips": {[]string{"GET /v1/events", "mark first", "mark b", "mark ", "mark check_out",
			`mark quo"ted`, "mark c", "mark a test", "mark b"}, shown{
			"/?q=ada": {`@<span>Mark</span><a class="chip" href="/?q=ada+mark%3Ab&filter=open">b</a>` +
				`<a class="chip" href="/?q=ada+mark%3A%22a+test%22&filter=open">a test</a><a class="chip" href="/?q=ada+mark%3Ac&filter=open">c</a>` +
				`<a class="chip" href="/?q=ada+mark%3A` + url.QueryEscape(`quo\"ted`) + `&filter=open">quo"ted</a>` +
				`<a class="chip" href="/?q=ada+mark%3Acheck_out&filter=open">check_out</a></p>`},
			"/?q=mark:c": {`@<a class="chip" href="/?filter=open" aria-current="true">c</a>`},
		}},
		"a mark that is set again begins anew": {[]string{"mark a test", "GET /v1/events", "mark another", "GET /v1/events", "mark a test",
			"GET /v1/events", "mark a test of more", "GET /v1/events"}, shown{
			"/api/requests?q=mark:%22a+test%22": {`1×"number":`, `"number":3,`}, // neither what came before, nor a longer name
		}},
		"the rules found lead to their search": {[]string{"GET /v1/events", "trigger " + skippedBody, "trigger " + skippedBody}, shown{
			"/": {"Among the latest 3 requests", `<small>2×</small>`,
				`href="/?q=has%3Askipped"><span class="tag warn">skipped</span><span>A value was skipped, although`},
			"/rows?section=requests&after=3&overview=1": {`id="overview"`}, "/rows?section=requests&after=3": {`!id="overview"`},
		}},
		"a customer has its refused requests too": {[]string{
			`trigger {"event_id":"` + orderShipped + `","payload":{"email":"\u0041da@example.com"}}`,
			`trigger {"event_id":"` + orderShipped + `","payload":{"email":"xada@example.com"}}`,
			`trigger {"event_id":"none","payload":{"customer":{"customer_id":"no-1"}}}`}, shown{
			"/customers/1": {`href="/requests/1"`, `!href="/requests/2"`, `!href="/requests/3"`,
				`<a class="chip" href="/?q=to%3aada%40example.com">to:ada@example.com</a>`},
			"/requests/1": {`<dt>Event</dt><dd><a href="/events/1">`, `<dt>Customer</dt><dd><a href="/?q=to%3AAda%40example.com">`},
			"/requests/3": {`<dt>Customer</dt><dd><a href="/?q=to%3Ano-1">`, "!<dt>Event</dt>"}, // there is none with this id
		}},
		"a delayed refusal is not called a fault": {[]string{
			`fault {"op":"create event","count":2,"fault":{"kind":"slow","after":"1ms"}}`,
			"POST /v1/events " + invalidEvent, "POST /v1/events " + validEvent}, shown{
			"/": {`<span class="says"><bdi>description is required, and 1 more</bdi>`, `<span class="says"><bdi>fault: slow</bdi>`}}},
		"the same request after a refusal is one row": {[]string{`fault {"op":"trigger event","count":2,"fault":{"kind":"rate_limited"}}`,
			"trigger " + skippedBody, "trigger " + skippedBody, "trigger " + skippedBody}, shown{
			"/":              {"1×" + row, `data-number="3" data-attempts="2 1"`, `href="/requests/1"`, ">3 attempts<"},
			"/requests/1":    {`data-number="3" data-attempts="2 1" aria-current="true"`},
			"/?q=status:429": {`<span id="matches">2 requests</span>`, "1×" + row, `data-number="2" data-attempts="1"`, ">2 of 3 attempts<"},
			"/api/requests":  {`3×"number"`}, "/api/requests?q=status:429": {`2×"number"`}}},
		"requests that were not carried out have their event and recipients": {[]string{
			`fault {"count":2,"fault":{"kind":"rate_limited"}}`, "trigger " + skippedBody, "email " + emailBody}, shown{
			"/?q=event:shipped+to:grace":           {`<bdi class="what">order shipped</bdi>`, limited + `grace@example.com</bdi></span>`},
			"/?q=to:new@example.com+subject:Moved": {`<bdi class="what">Moved</bdi>`, limited + `to ada@example.com &#43;1 and 1 segment</bdi>`}}},
		"no note says that a refused request was carried out": {[]string{
			`fault {"count":2,"fault":{"kind":"answer_lost"}}`, "trigger " + refusedBody, "trigger " + skippedBody,
			`fault {"count":2,"fault":{"kind":"malformed","body":"{"}}`, "trigger " + refusedBody, "trigger " + skippedBody,
			`fault {"count":2,"fault":{"kind":"slow","after":"1ms"}}`, "trigger " + refusedBody, "trigger " + skippedBody}, shown{
			"/requests/1": {nothingDone, "!was carried out."}, "/requests/2": {"!" + nothingDone, "The request was carried out."},
			"/requests/3": {nothingDone, "!was carried out."}, "/requests/4": {"!" + nothingDone, "The request was carried out."},
			"/requests/5": {nothingDone, "!was carried out."}, "/requests/6": {"!" + nothingDone, "The request was carried out."}}},
		"what the SDK refuses is accepted with a warning": {[]string{
			"email " + broadcastOf(`"Acme"`, `"Acme\r\nBcc: eve@example.com"`), "fill"}, shown{
			"/requests/1": {"~(?s)<article>.*sender_name must not contain a line break or a NUL", "~(?s)<article>.*" + acceptedTag,
				`~(?s)<article>.*<h2>The Go SDK would not have sent this</h2>`,
				`~(?s)<article>.*Delivery <span class="tag warn">not sent</span> The service carried it out, because it came`},
			"/requests/2": {notSent}, "/requests/4": {notSent}, "/requests/5": {notSent, acceptedTag + "</span>"}, "/requests/6": {notSent},
		}},
		"values of undocumented types are marked": {[]string{
			`post /api/seed {"events":[{"id":"odd","name":"n","description":"d","parameters":[{"name":"a","type":"text"},` +
				`{"name":"b","type":"numeric"},{"name":"c","type":"color"},{"name":"d","type":"numeric"}]}]}`,
			`trigger {"event_id":"odd","payload":{"email":"a@b.test","a":1,"b":"1","c":"red","d":1.5}}`}, shown{
			"/requests/1": {"3×It is not documented what the service makes of this value.", "1×>read</span>"}}},
		"a read is never said to be carried out": {[]string{"GET /v1/events",
			`fault {"op":"list events","count":1,"fault":{"kind":"malformed","body":"{"}}`, "GET /v1/events"}, shown{
			"/requests/1": {acceptedTag + "</span>"},
			"/requests/2": {"A fault replaced the response.<", "!carried out"}}},
		// Whoever queues again what the client has retried sends it twice.
		"what the client retries by itself": {[]string{`fault {"op":"create event","fault":{"kind":"rate_limited","after":"31s"}}`,
			`fault {"op":"trigger event","fault":{"kind":"rate_limited"}}`, `fault {"op":"list events","fault":{"kind":"rate_limited"}}`,
			"trigger " + skippedBody, "GET /v1/events", "GET /v2/unknown", "POST /v1/events " + invalidEvent}, shown{
			"/requests/1": {byItself}, "/requests/2": {byItself},
			"/requests/3": {"404 rejected", "GET /v2/unknown", `Delivery <span class="tag bad">rejected</span>`},
			"/":           {"no operation has this method and path"}}},
		"the query is in the row and in the request": {[]string{
			"GET /v1/customers?email=ada%40example.com&per_page=3&x=%3Cb%3E%E2%80%AE", "GET /v1/events?cursor=zzz&per_page=2"}, shown{
			"/": {`@<bdi>?email=ada@example.com&per_page=3&x=<b>` + "‹U+202E›</bdi>"},
			"/requests/1": {"!<b>\u202e", "<td><code>x</code><td><code>&lt;b&gt;‹U&#43;202E›</code>",
				"email (did you mean emails?) and x were sent, which the operation or the event does not have."},
			"/requests/2": {`<tr id="at-cursor"><td><code>cursor</code><td><code>zzz</code>`,
				`1 problem: <a href="/requests/2?tab=exchange#at-cursor">cursor is not a cursor of this list</a>`},
			"/?q=ada@example.com": {"1×" + row}, "/?q=email": {"1×" + row}, "/?q=bob@example.com": {"0×" + row}}},
		"problems lead to their lines": {[]string{"email " + broadcastOf(`"Acme"`, `7`, `"ada@example.com"`, `"ada"`),
			`POST /v1/events {"name":"n","more":[` + strings.Repeat("1,", 4100) + `1]}`}, shown{
			"/requests/1?q=status:422": {`~2 problems: <a href="/requests/1\?q=status%3A422&amp;tab=exchange` +
				`#at-recipients.1.customers.0.email">recipients.1.customers.0.email [^<]*, and 1 more</a>`,
				`~<span class="line marked" [^\n]*sender_name[^\n]*<em id="at-sender_name">`},
			"/requests/2": {`#at-description">description is required, and 1 more</a>`}}}, // the body is too long for lines
		"a body that is not JSON has a place where it ends": {[]string{
			"POST /v1/events {\n\"é\": 1, \"a\": nope}", "POST /v1/events [1,"}, shown{
			"/requests/1?tab=exchange": {"@Not JSON: line 2, column 15: invalid character 'o' in literal null"},
			"/requests/2?tab=exchange": {"Not JSON: line 1, column 4: unexpected end of JSON input"}}},
		"rules about a refusal ignore the responses of a fault, and those about content do not": {[]string{
			`fault {"count":2,"fault":{"kind":"status","status":401}}`, "as X:y | POST /v1/events/trigger " + skippedBody,
			"as X-Authorization:" + testKey + ", Authorization:Basic eHl6 | GET /v1/events", // the key is right
			`fault {"op":"trigger event","count":1,"fault":{"kind":"answer_lost"}}`, "trigger " + skippedBody}, shown{
			"/api/requests/1": {`"notes":[]`}, "/api/requests/2": {`"notes":[]`}, "/api/requests/3": {`"notes":[{"code":"skipped",`, `1×"code"`}}},
		"credentials are recorded nowhere": {[]string{"as X-Authorization:" + testKey + ", X-Access-Key:secret-2, X-Jwt:secret-3, " +
			"Referer:http://x/" + testKey + ", X-Api-Key:secret-4 | POST /v1/events/" + testKey + "?auth_key=secret-1&x=" + testKey +
			"&" + testKey + `=1 {"name":"` + testKey + `","promo_key":"kept"}`}, shown{
			"/":                        {"!secret-"}, // the page shows the key to people who want to use it
			"/api/requests/1":          {"!" + testKey, "!secret-", `"name":"[API key]"`, `"promo_key":"kept"`, `"foreign_key":true`},
			"/requests/1?tab=exchange": {"!" + testKey, "!secret-"}, "/requests/1?tab=again": {"!" + testKey, "!secret-"},
			"/api/requests/1/body": {"!" + testKey, "!secret-"}}},
		"the source of an email is exactly its message": {[]string{"email " + withMessage("<p>One\n\n&amp;</p>\n<b>"),
			"email " + withMessage("\n"), "email " + withMessage("é")}, shown{
			"/requests/1?tab=source": {source + "<p>One\n\n&amp;</p>\n<b></code>"}, "/requests/2?tab=source": {source + "\n</code>"},
			"/requests/3?tab=source": {source + "é</code>"}}},
		"a refused request says why, and only an operation can be repeated": {[]string{"POST /v1/event/trigger {}", "POST /events/trigger {}",
			"GET /v1/v1/customers", "DELETE /v1/customers", "GET /elsewhere", "trigger ", "trigger \xff\xfe\x00\x01", "trigger [1]",
			"trigger {bad"}, shown{
			"/requests/1":           {noRoute + ": did you mean /v1/events/trigger?</p>"},
			"/requests/2":           {noRoute + ": did you mean /v1/events/trigger?</p>"},
			"/requests/3":           {noRoute + ": did you mean /v1/customers?</p>"},
			"/requests/4":           {noRoute + ": this path needs GET, not DELETE</p>"},
			"/requests/5":           {noRoute + "; /openapi.json lists them.</p>"},
			"/requests/6":           {`<p class="note bad">The request has no body.</p>`},
			"/requests/7":           {`<p class="note bad">The body is not JSON.</p>`},
			"/requests/8":           {`<p class="note bad">The body is JSON, but not an object.</p>`},
			"/requests/9":           {`<p class="note bad">The body is not JSON.</p>`},
			"/requests/5?tab=again": {"!" + repeated}, "/requests/6?tab=again": {repeated},
			"/": {`<span class="says"><bdi>the request has no body</bdi>`}}},
		"a refused key is explained, and replaced by the right one": {[]string{
			"as Authorization:Bearer " + testKey + " | GET /v1/events", `post /api/replay {"number":1}`}, shown{
			"/requests/1": {"the key is in Authorization instead of X-Authorization", "!" + testKey},
			"/requests/1?tab=again": {repeated,
				`@curl -g "$MESSAGING_BASE_URL"/v1/events` + " \\\n  " + `-H "X-Authorization: $MESSAGING_API_KEY"</code>`,
				"!" + testKey},
			"/api/requests/2": {`"status":200`}}},
		"a replay repeats a request within the sandbox": {[]string{"fill", `post /api/replay {"number":3}`, `post /api/replay {"number":1}`,
			`fault {"op":"trigger event","count":1,"fault":{"kind":"answer_lost"}}`, `post /api/replay {"number":3}`,
			`post /api/replay {"number":3,"faults":true}`}, shown{
			"/api/requests/8": {`"replay_of":3`, `"status":200`, `"op":"trigger event"`, `"value":"21.11.2026"`,
				`"X-Authorization":["REDACTED"]`, `"Content-Type":["application/json"]`, "!User-Agent"}, // no other header is repeated
			"/requests/8":      {"This repeats request 3.", `href="/requests/3">Show it`},
			"/api/requests/9":  {`"per_page":["1"]`},
			"/api/requests/10": {`"status":200`}, // faults are for those who ask for them
			"/api/requests/11": {`"fault":"answer_lost"`},
			"/api/wait?q=op:trigger&after=3&timeout=1ms":            {"no request matched in 1ms"}, // no test waits for a replay
			"/api/wait?q=op:trigger+has:replay&after=3&timeout=1ms": {`"number":8,`},
			"/api/requests?q=op:trigger":                            {`"number":8,`}}},
		"control characters are shown, and turn nothing around": {[]string{
			"email " + broadcastOf("Moved", "Invoice \u202egnp.exe \\u0007 \u2066مرحبا بالعالم"),
			`trigger {"event_id":"\u202e","payload":{"email":"\u202ea@b.test"}}`,
			`push {"subject":"\u202e","message":"\u202e","schedule_type":"send-now","recipients":{"type":"customer","customers":[` +
				`{"customer_id":"\u202e","first_name":"\u202e","devices":[{"device_type":"ios","device_token":"\u202e"}]}]}}`,
			`post /api/seed {"events":[{"name":"\u202e","description":"\u202e","parameters":[{"name":"\u202e","type":"\u202e"}]}],` +
				`"messages":[{"channel":"email","subject":"\u202e","message":"\u202e"}]}`}, shown{
			"/":           {turned, "!\x07", `<bdi class="what">Invoice ‹U&#43;202E›gnp.exe ␇ ‹U&#43;2066›مرحبا`},
			"/requests/1": {turned, "!\x07"}, "/requests/1?tab=exchange": {turned, "!\x07"}, "/requests/1?tab=audience": {turned},
			"/requests/2": {turned}, "/requests/3": {turned, "‹U&#43;202E›"}, "/requests/3?tab=audience": {turned, "‹U&#43;202E›"},
			"/customers/26": {turned, "<td><code>‹U&#43;202E›</code>"}, "/events/5": {turned, "7×‹U&#43;202E›"},
			"/messages/7":   {"1×\u202e", "3×‹U&#43;202E›"},                   // the source of a message is exactly that
			"/?q=%E2%80%AE": {"1×\u202e"}, "/?q=op:%E2%80%AE": {"1×\u202e"}}}, // the field of the search has the text as it was typed
		"pages of a large email are small": {[]string{"email " + large, "email " + strings.Replace(large, "news@acme.test", "nobody", 1),
			"email " + large}, shown{"/": {small}, "/requests/1": {small}, "/requests/1?tab=source": {small},
			"/requests/1?tab=text": {small, "Only its first 256 kB are read here"}, "/requests/1?tab=audience": {small},
			"/requests/1?tab=exchange": {small}, "/requests/1?tab=again": {small},
			"/requests/2": {small}, "/requests/2?tab=again": {small}, "/preview/1": {small}}},
		"a customer with many devices": {[]string{`push {"subject":"s","message":"m","schedule_type":"send-now","recipients":` +
			`{"type":"customer","customers":[{"customer_id":"1","devices":[` +
			many(20_000, ",", `{"device_type":"ios","device_token":"token-%d"}`) + `]}]}}`}, shown{
			"/customers/25": {"<100000", "19,500 more devices not shown"}}},
		"many problems": {[]string{`push {"recipients":[` + strings.Repeat("0,", 5000) + `0]}`}, shown{
			"/api/requests": {"<10000", `"…":["`}}},
		"a deep value": {[]string{"POST /v1/events " + invalidEvent, `trigger {"event_id":"nope","payload":{"email":"a@b.test","order":` +
			strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}}`}, shown{
			"/requests/2?tab=exchange": {"<56000"}}},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			f.steps(test.steps)
			for path, texts := range test.shown {
				f.shows(path, texts...)
			}
		})
	}
}

func TestARequestIsSentAgainToTheByteOrRefused(t *testing.T) {
	f := start(t)
	f.fill()
	f.shows("/requests/4?tab=again", "curl -g", repeated, "!"+testKey)
	sent := f.get("/api/requests/4/body")
	assert.Equal(t, emailBody, sent.Body)
	assert.Equal(t, "application/octet-stream", sent.Header.Get("Content-Type"))
	assert.Equal(t, `attachment; filename="4.body"`, sent.Header.Get("Content-Disposition"))
	assert.Equal(t, 404, f.get("/api/requests/99/body").Status)
	assert.Equal(t, 403, f.do("GET", f.ui+"/api/requests/4/body", "", link).Status)

	replayed := f.postForm("/replay", url.Values{"number": {"4"}})
	assert.Equal(t, 303, replayed.Status)
	assert.Equal(t, "/requests/8#detail", replayed.Header.Get("Location"))
	assert.Equal(t, emailBody, f.get("/api/requests/8/body").Body)

	f.trigger(`{"event_id":"` + testKey + `"}`) // is not kept as it was sent
	for body, status := range map[string]int{`{"number":99}`: 404, `{"number":7}`: 422, `{"number":9}`: 409, `{"number":"3"}`: 422,
		`{"number":3,"body":"{}"}`: 422, `{"number":3,"path":"/elsewhere"}`: 422} {
		got := f.post("/api/replay", body)
		assert.Equal(t, status, got.Status, "%.40s: %.200s", body, got.Body)
	}
	assert.Equal(t, 403, f.do("POST", f.ui+"/api/replay", `{"number":3}`, cross).Status)
	assert.Equal(t, 9, f.box.History.State().Requests)
}

// linesOf returns the numbers of the rows of a list and the names of its marks, in order.
func linesOf(page string) (lines []string) {
	line := regexp.MustCompile(`data-number="(\d+)"|data-mark="\d+">mark (?:<span class="tail" title="[^"]*"><bdi>([^<]*)</bdi>)?`)
	for _, found := range line.FindAllStringSubmatch(page, -1) {
		if text := found[1] + found[2]; text != "" {
			lines = append(lines, html.UnescapeString(text))
		} else {
			lines = append(lines, "-")
		}
	}
	return lines
}

func TestAMarkIsBelowItsFirstRow(t *testing.T) {
	f := start(t)
	f.steps([]string{"GET /v1/events", `post /api/mark {"name":"a test"}`, "GET /v1/events", "GET /v1/transactional/statistics",
		"post /api/mark", `post /api/mark {"name":"<b>"}`, "GET /v1/events"})
	for path, want := range map[string]string{
		"/": "4|<b>|3|2|a test|1", "/?before=3": "2|a test|1",
		"/?q=op:events":                  "4|<b>|2|a test|1", // below the first match
		`/?q=op:events+mark:"a+test"`:    "2|a test",
		"/?q=op:events+mark:test":        "",        // a part of the name
		"/rows?section=requests&after=2": "4|<b>|3", // new rows know the older ones
	} {
		assert.Equal(t, want, strings.Join(linesOf(f.get(path).Body), "|"), path)
	}
	assert.Equal(t, "3 requests", f.get("/rows?section=requests&after=3&q=op:events").Header.Get("Rows-Matches"))
	f.steps([]string{"post /api/mark {}", "GET /v1/events"})
	assert.Equal(t, []string{"5", "-"}, linesOf(f.get("/rows?section=requests&after=4").Body))
	f.shows("/api/requests/3", `"mark":"a test"`)
	f.shows("/api/requests/5", `!"mark"`)
}

func TestPagesShowTimesInOneFormAndAnOutage(t *testing.T) {
	f := start(t)
	f.steps([]string{"fill", "outage 1h"})
	e, _ := f.box.History.Get(3)
	event, _ := f.box.Records.All(records.Events).WithNumber(1)
	f.shows("/", ">"+e.At.In(zone).Format("15:04:05")+"<", `~data-outage="[^"]+" .*<span role="status">outage</span>`)
	f.shows("/requests/3", e.At.In(zone).Format("15:04:05.000"))
	f.shows("/faults", "Outage until "+f.box.OutageUntil().In(zone).Format("15:04:05"),
		"None is active: after the outage, every request is served.", "!None is active: every request is served.")
	f.shows("/help", "in the time zone of the sandbox, HST.")
	f.shows("/events/1", "<dd>"+event.Value.(records.Event).CreatedAt.In(zone).Format("2006-01-02 15:04:05")+"</dd>")
}

func TestEachRuleFindsItsMistake(t *testing.T) {
	const valid = `{"event_id":"` + orderShipped + `","payload":{"email":"grace@example.com",` +
		`"order":"A-1001","shipped_at":"2026-12-01T09:00:00Z"}}`
	trigger := func(old, with string) string { return strings.Replace(valid, old, with, 1) }
	f := start(t)
	found := make(map[string]bool)
	for _, test := range []struct{ step, code, text string }{
		{"trigger " + valid, "", ""},
		{"trigger " + valid, "duplicate", "as request 1."},
		{"trigger " + skippedBody, "skipped", "shipped_at was skipped"},
		{"trigger " + trigger(orderShipped, "order shipped"), "name_as_id", "Its id is " + orderShipped},
		{"POST /v1/events/triger " + valid, "wrong_path", "did you mean /v1/events/trigger?"},
		{"POST /elsewhere " + valid, "", ""},
		{"trigger " + trigger(`"order"`, `"parcel":2,"order"`), "unknown_parameter", "payload.parcel (did you mean parcels?) was sent"},
		{"GET /v1/events?per_pages=1", "unknown_parameter", "per_pages (did you mean per_page?) was sent"},
		{"trigger " + trigger(`"order"`, `"parcels":"2","order"`), "wrong_type", "parcels was sent"},
		{"trigger " + trigger("A-1001", " "), "empty_value", "order was empty"},
		{"email " + broadcastOf("{{name}}", "{{nobody}} {{email}}"), "no_variable", "{{nobody}} was"},
		{"email " + broadcastOf("{{name}}", "{{a}} {{b}} {{c}} {{d}} {{e}} {{f}} {{g}}"), "no_variable",
			"{{a}}, {{b}}, {{c}}, {{d}}, {{e}} and 2 more were sent without a variable."},
		{"email " + broadcastOf(`"Acme"`, `"Acme\r\nBcc: eve@example.com"`), "sdk_refuses", "sends nothing"},
		{"as X:y | GET /v1/events", "key_header", "no X-Authorization header"},
		{"as X-Authorization: | GET /v1/events", "key_header", "X-Authorization is empty"},
		{"as X-Api-Key:" + testKey + " | GET /v1/events", "key_header", "the key is in X-Api-Key instead of X-Authorization"},
		{"as X-Authorization:Bearer " + testKey + " | GET /v1/events", "key_header", `"Bearer " before the key in X-Authorization`},
		{"as X-Authorization:live-1 | GET /v1/events", "foreign_key", "The API key is not that of this sandbox: it belongs to another"},
		{"as Authorization:live-1 | GET /v1/events", "foreign_key", "The API key is not that of this sandbox: it belongs to another"},
	} {
		f.steps([]string{test.step})
		f.shows(fmt.Sprint("/requests/", f.box.History.State().Last), "!"+testKey, "!live-1")
		e, _ := f.box.History.Get(f.box.History.State().Last)
		var codes, texts []string
		for _, n := range e.Notes() {
			codes, texts = append(codes, n.Code), append(texts, n.Text)
		}
		assert.Equal(t, test.code, strings.Join(codes, " "), test.step)
		assert.Contains(t, strings.Join(texts, "\n"), test.text, test.step)
		found[test.code] = true
	}
	var ids []string
	for _, rule := range findings.Rules {
		ids = append(ids, rule.ID)
		assert.True(t, found[rule.ID], "%s finds its mistake", rule.ID)
	}
	assert.Equal(t, history.Codes, ids, "a search knows them")
	assert.LessOrEqual(t, len(ids), 12)
}
