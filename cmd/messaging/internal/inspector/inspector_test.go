package inspector_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector"
	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) {
	// net/http sleeps for half a second before it closes the connection of a body
	// that is too large.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// fixture is a sandbox with its inspector, on two ports.
type fixture struct {
	t       *testing.T
	box     *sandbox.Sandbox
	ui, api string
	client  *http.Client
}

func start(t *testing.T, seed records.Seed) *fixture {
	t.Helper()
	api, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ui, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	box, err := sandbox.Start(sandbox.Config{Listener: api, Wrap: inspector.ProtectService(api.Addr(), []string{"sandbox.internal"}),
		Keep: 1000, KeepBytes: 1 << 28, Seed: seed})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	server := inspector.Server(ctx, box, ui.Addr(), []string{"sandbox.internal"})
	served := make(chan error, 1)
	go func() { served <- server.Serve(ui) }()
	transport := &http.Transport{}
	f := &fixture{t: t, box: box, ui: "http://" + ui.Addr().String(), api: "http://" + api.Addr().String(),
		client: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}}}
	t.Cleanup(func() {
		cancel()
		transport.CloseIdleConnections()
		require.NoError(t, server.Close())
		require.ErrorIs(t, <-served, http.ErrServerClosed)
		box.Close()
	})
	return f
}

// reply is a response that was read completely.
type reply struct {
	Status int
	Header http.Header
	Body   string
}

func (f *fixture) do(method, target, body string, change ...func(*http.Request)) reply {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), 20*time.Second) // a stream that is not refused does not end
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, target, strings.NewReader(body))
	require.NoError(f.t, err)
	for _, c := range change {
		c(r)
	}
	response, err := f.client.Do(r)
	require.NoError(f.t, err)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	require.NoError(f.t, err)
	return reply{response.StatusCode, response.Header, string(content)}
}

func (f *fixture) get(path string) reply { f.t.Helper(); return f.do("GET", f.ui+path, "") }

func (f *fixture) post(path, body string) reply { f.t.Helper(); return f.do("POST", f.ui+path, body) }

// send sends a request to the service. It returns 0 if there is no response.
func (f *fixture) send(method, path, body string) int {
	f.t.Helper()
	r, err := http.NewRequestWithContext(f.t.Context(), method, f.api+path, strings.NewReader(body))
	require.NoError(f.t, err)
	r.Header.Set("X-Authorization", f.box.APIKey())
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "test")
	response, err := f.client.Do(r)
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, response.Body)
	require.NoError(f.t, response.Body.Close())
	return response.StatusCode
}

const (
	orderShipped = "5eed0000-0000-4000-8000-000000000001"
	skippedBody  = `{"event_id":"` + orderShipped + `","payload":{"email":"grace@example.com","order":"A-1001","shipped_at":"21.11.2026"}}`
	emailBody    = `{"sender_email":"news@acme.test","sender_name":"Acme","email":"news@acme.test","subject":"Moved",` +
		`"message":"<p>Hi {{name}}, <a href=\"https://acme.test\">look</a></p>","message_type":"announcement","schedule_type":"send-later",` +
		`"schedule_date":{"schedule_date":"2030-01-01 09:00:00","timezone":"Europe/Berlin"},"variables":{"name":"Ada"},` +
		`"recipients":[{"type":"segment","segments":["vip"]},{"type":"customer","customers":[` +
		`{"email":"ada@example.com"},{"email":"new@example.com"}]}]}`
)

// fill sends one request of each kind.
func (f *fixture) fill() {
	f.send("GET", "/v1/events?per_page=1", "")
	f.send("POST", "/v1/events", `{"name":"n"}`)
	f.send("POST", "/v1/events/trigger", skippedBody)
	f.send("POST", "/v1/broadcast/send/email", emailBody)
	f.post("/api/faults", `{"op":"send push broadcast","count":1,"fault":{"kind":"answer_lost"}}`)
	f.send("POST", "/v1/broadcast/send/push-notification", `{"subject":"s","message":"m","all_customers":true,"schedule_type":"send-now"}`)
	f.do("GET", f.api+"/v1/events", "", func(r *http.Request) { r.Header.Set("X-Authorization", "another") })
	f.send("DELETE", "/elsewhere", "")
}

// TestRequestsOfOthersAreRefused is the table of what is refused, with the
// status of each.
func TestRequestsOfOthersAreRefused(t *testing.T) {
	f := start(t, records.Demo())
	f.fill()
	ui, err := url.Parse(f.ui)
	require.NoError(t, err)
	header := func(pairs ...string) func(*http.Request) {
		return func(r *http.Request) {
			for i := 0; i < len(pairs); i += 2 {
				r.Header.Set(pairs[i], pairs[i+1])
			}
		}
	}
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	large := strings.Repeat(" ", 1<<20+1)
	same, cross := header("Sec-Fetch-Site", "same-origin"), header("Sec-Fetch-Site", "cross-site")
	frame := header("Sec-Fetch-Dest", "iframe", "Sec-Fetch-Site", "same-origin")
	tests := []struct {
		name, method, target, body string
		change                     func(*http.Request)
		status                     int
	}{
		{"a page", "GET", f.ui + "/", "", host(ui.Host), 200},
		{"a page as localhost", "GET", f.ui + "/", "", host("localhost:" + ui.Port()), 200},
		{"a page as ::1", "GET", f.ui + "/", "", host("[::1]:" + ui.Port()), 200},
		{"a page under a name that is allowed", "GET", f.ui + "/", "", host("sandbox.internal:1"), 200},
		{"a page that another site links to", "GET", f.ui + "/requests/4", "", cross, 200},
		{"an evil host", "GET", f.ui + "/", "", host("evil.example:" + ui.Port()), 421},
		{"an evil host without a port", "GET", f.ui + "/", "", host("evil.example"), 421},
		{"our host with another port", "GET", f.ui + "/", "", host("127.0.0.1:1"), 421},
		{"our host without a port", "GET", f.ui + "/", "", host("localhost"), 421},
		{"a rebound read", "GET", f.ui + "/api/requests", "", host("evil.example:" + ui.Port()), 421},
		{"a rebound stream", "GET", f.ui + "/api/stream", "", host("evil.example:" + ui.Port()), 421},
		{"a rebound style sheet", "GET", f.ui + "/static/style.css", "", host("evil.example:" + ui.Port()), 421},
		{"a rebound send to the service", "POST", f.api + "/v1/events", "{}", host("evil.example"), 421},
		{"a read of the service under another host", "GET", f.api + "/v1/events", "", host("evil.example:8077"), 421},
		{"a cross-site send to the service", "POST", f.api + "/v1/events/trigger", "{}", cross, 403},
		{"a cross-site read of the service", "GET", f.api + "/v1/events", "", cross, 403},
		{"a send of the origin null to the service", "POST", f.api + "/v1/events", "{}", header("Origin", "null"), 403},
		{"a send of another origin to the service", "POST", f.api + "/v1/events", "{}", header("Origin", "https://evil.example"), 403},
		{"a forged post", "POST", f.ui + "/api/reset", "", cross, 403},
		{"a forged form", "POST", f.ui + "/reset", "what=all", cross, 403},
		{"a post of an older browser from another site", "POST", f.ui + "/api/reset", "", header("Origin", "https://evil.example"), 403},
		{"a post of the origin null", "POST", f.ui + "/api/reset", "", header("Origin", "null"), 403},
		{"a forged delete", "DELETE", f.ui + "/api/faults/1", "", cross, 403},
		{"a cross-site read", "GET", f.ui + "/api/requests", "", cross, 403},
		{"a read from the same site on another port", "GET", f.ui + "/api/dump", "", header("Sec-Fetch-Site", "same-site"), 403},
		{"a cross-site stream", "GET", f.ui + "/api/stream", "", cross, 403},
		{"a cross-site read of rows", "GET", f.ui + "/rows?section=requests", "", cross, 403},
		{"a cross-site read of the key", "GET", f.ui + "/healthz", "", cross, 403},
		{"a preview in its frame", "GET", f.ui + "/preview/4", "", frame, 200},
		{"a preview opened directly", "GET", f.ui + "/preview/4", "", header("Sec-Fetch-Dest", "document", "Sec-Fetch-Site", "none"), 403},
		{"a preview without a browser", "GET", f.ui + "/preview/4", "", nil, 403},
		{"a preview in a frame of another site", "GET", f.ui + "/preview/4", "",
			header("Sec-Fetch-Dest", "iframe", "Sec-Fetch-Site", "cross-site"), 403},
		{"a preview of what is no e-mail", "GET", f.ui + "/preview/1", "", frame, 404},
		{"a request that does not exist", "GET", f.ui + "/api/requests/999", "", same, 404},
		{"a trigger that is a broadcast", "GET", f.ui + "/api/triggers/4", "", same, 404},
		{"a page that does not exist", "GET", f.ui + "/requests/999", "", nil, 404},
		{"a number with a sign", "GET", f.ui + "/api/requests/+1", "", same, 404},
		{"a number with a zero before it", "GET", f.ui + "/api/requests/01", "", same, 404},
		{"a negative number", "GET", f.ui + "/api/customers/-1", "", same, 404},
		{"an id that climbs", "GET", f.ui + "/api/requests/../../../etc/passwd", "", same, 404},
		{"an id that climbs, escaped", "GET", f.ui + "/api/requests/..%2f..%2fetc%2fpasswd", "", same, 404},
		{"a file that climbs", "GET", f.ui + "/static/../server.go", "", same, 404},
		{"a file that climbs, escaped", "GET", f.ui + "/static/..%2fserver.go", "", same, 404},
		{"an unknown route of the API", "GET", f.ui + "/api/nothing", "", same, 404},
		{"a control body over the limit", "POST", f.ui + "/api/faults", large, same, 413},
		{"an outage over the limit", "POST", f.ui + "/api/outage", large, same, 413},
		{"a form over the limit", "POST", f.ui + "/reset", "what=" + large, func(r *http.Request) {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}, 413},
		{"a form that does not say what to reset", "POST", f.ui + "/reset", "", same, 422},
		{"a reset with a body", "POST", f.ui + "/api/reset", `{"what":"faults"}`, same, 400},
		{"more text after a fault", "POST", f.ui + "/api/faults", `{"fault":{"kind":"answer_lost"}} x`, same, 422},
		{"an empty fault", "POST", f.ui + "/api/faults", ``, same, 422},
		{"a fault that never happens", "POST", f.ui + "/api/faults", `{"probability":0,"fault":{"kind":"answer_lost"}}`, same, 422},
		{"an unknown kind of fault", "POST", f.ui + "/api/faults", `{"fault":{"kind":"fire"}}`, same, 422},
		{"an unknown operation", "POST", f.ui + "/api/faults", `{"op":"trigger","fault":{"kind":"answer_lost"}}`, same, 422},
		{"an unknown key", "POST", f.ui + "/api/faults", `{"operation":"","fault":{"kind":"answer_lost"}}`, same, 422},
		{"a fault that is not JSON", "POST", f.ui + "/api/faults", `kind=answer_lost`, same, 422},
		{"a status out of range", "POST", f.ui + "/api/faults", `{"fault":{"kind":"status","status":99}}`, same, 422},
		{"a probability out of range", "POST", f.ui + "/api/faults", `{"probability":2,"fault":{"kind":"answer_lost"}}`, same, 422},
		{"a status that has no effect", "POST", f.ui + "/api/faults", `{"fault":{"kind":"answer_lost","status":500}}`, same, 422},
		{"a body that has no effect", "POST", f.ui + "/api/faults", `{"fault":{"kind":"slow","after":"1s","body":"x"}}`, same, 422},
		{"a delay that has no effect", "POST", f.ui + "/api/faults", `{"fault":{"kind":"malformed","after":"1s"}}`, same, 422},
		{"a seed that has no effect", "POST", f.ui + "/api/faults", `{"seed":7,"fault":{"kind":"answer_lost"}}`, same, 422},
		{"an outage without end", "POST", f.ui + "/api/outage", `{"for":"0s"}`, same, 422},
		{"an outage of no duration", "POST", f.ui + "/api/outage", `{"for":"soon"}`, same, 422},
		{"a broken seed", "POST", f.ui + "/api/seed", `{"customers":[{"emial":"a@b.test"}]}`, same, 422},
		{"a reset of what does not exist", "POST", f.ui + "/api/reset?what=world", "", same, 422},
		{"a rule that does not exist", "DELETE", f.ui + "/api/faults/99", "", same, 404},
		{"a wait longer than 60 s", "GET", f.ui + "/api/wait?timeout=61s", "", same, 400},
		{"a wait for no duration", "GET", f.ui + "/api/wait?timeout=long", "", same, 400},
		{"a wait without a match", "GET", f.ui + "/api/wait?q=nowhere&timeout=1ms", "", same, 408},
		{"a query that can't be read", "GET", f.ui + "/api/requests?q=status:many", "", same, 400},
		{"a query with a control character", "GET", f.ui + "/api/requests?q=status:%01", "", same, 400},
		{"a query with an unknown key", "GET", f.ui + "/api/wait?q=evnet:order&timeout=60s", "", same, 400},
		{"a limit over 200", "GET", f.ui + "/api/requests?limit=201", "", same, 400},
		{"a page before nothing", "GET", f.ui + "/api/requests?before=0", "", same, 400},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := f.do(test.method, test.target, test.body, func(r *http.Request) {
				if test.change != nil {
					test.change(r)
				}
			})
			assert.Equal(t, test.status, got.Status, got.Body)
			assert.Empty(t, got.Header.Get("Access-Control-Allow-Origin"))
			if got.Status >= 400 && got.Header.Get("Content-Type") == "application/json" {
				assert.True(t, json.Valid([]byte(got.Body)), got.Body)
			}
			if strings.HasPrefix(test.target, f.ui) {
				assert.NotEmpty(t, got.Header.Get("Content-Security-Policy"))
			}
		})
	}
	assert.Len(t, f.box.Rules(), 0, "none of them added a rule")
	assert.Equal(t, 7, f.box.History.State().Requests, "and none reset the history or reached the service")
}

func TestSeedBodiesAreLimited(t *testing.T) {
	f := start(t, records.Seed{})
	got := f.do("POST", f.ui+"/api/seed", strings.Repeat(" ", 64<<20+1))
	assert.Equal(t, http.StatusRequestEntityTooLarge, got.Status)
}

func TestPagesAndPreviewsHaveTheirPolicies(t *testing.T) {
	f := start(t, records.Demo())
	f.fill()
	page := f.get("/requests/4").Header.Get("Content-Security-Policy")
	for _, directive := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-src 'self'",
		"frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"} {
		assert.Contains(t, page, directive)
	}
	assert.NotContains(t, page, "unsafe")
	preview := f.do("GET", f.ui+"/preview/4", "", func(r *http.Request) { r.Header.Set("Sec-Fetch-Dest", "iframe") })
	assert.Equal(t, "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; font-src data:; base-uri 'none'; "+
		"form-action 'none'; frame-ancestors 'self'", preview.Header.Get("Content-Security-Policy"))
	assert.Equal(t, "off", preview.Header.Get("X-DNS-Prefetch-Control"))
	assert.Equal(t, "no-referrer", preview.Header.Get("Referrer-Policy"))
	assert.Equal(t, "nosniff", preview.Header.Get("X-Content-Type-Options"))
	assert.Equal(t, "same-origin", preview.Header.Get("Cross-Origin-Resource-Policy"))
	assert.Contains(t, preview.Body, "Hi {{name}}")
}

var (
	changing  = regexp.MustCompile(`"(at|took_ms|updated_at|last_interaction|customer_created_at|created_at|outage_until)":("[^"]*"|[0-9.]+)`)
	localPort = regexp.MustCompile(`127\.0\.0\.1:\d+`)
)

// TestAPIGolden holds the responses of the API against the golden files.
func TestAPIGolden(t *testing.T) {
	f := start(t, records.Demo())
	f.fill()
	f.post("/api/faults", `{"op":"trigger event","skip":1,"count":2,"probability":0.5,"seed":7,"fault":{"kind":"rate_limited","after":"7s"}}`)
	f.post("/api/faults", `{"fault":{"kind":"status","status":502,"body":"<html>"}}`)
	for name, path := range map[string]string{
		"requests": "/api/requests?limit=3", "requests_last_page": "/api/requests?before=3", "request": "/api/requests/4",
		"request_lost": "/api/requests/5", "request_refused": "/api/requests/2", "request_without_route": "/api/requests/7",
		"broadcasts": "/api/broadcasts", "broadcast": "/api/broadcasts/5", "triggers": "/api/triggers", "trigger": "/api/triggers/3",
		"customers": "/api/customers?limit=2", "customer": "/api/customers/1", "events": "/api/events?q=order", "event": "/api/events/1",
		"messages": "/api/messages?limit=2", "message": "/api/messages/3", "wait": "/api/wait?q=has:skipped", "faults": "/api/faults",
		"health": "/healthz", "none": "/api/requests?q=nowhere",
	} {
		t.Run(name, func(t *testing.T) {
			got := f.get(path)
			require.Equal(t, http.StatusOK, got.Status, got.Body)
			require.Equal(t, "application/json", got.Header.Get("Content-Type"))
			var compact bytes.Buffer
			require.NoError(t, json.Compact(&compact, []byte(got.Body)))
			require.Equal(t, compact.String()+"\n", got.Body, "JSON is compact")
			body := changing.ReplaceAllString(got.Body, `"$1":"…"`)
			body = localPort.ReplaceAllString(body, "127.0.0.1:0")
			file := filepath.Join("testdata", "api", name+".json")
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(body), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.Equal(t, string(want), body)
		})
	}
}

func TestListsArePagedToTheEnd(t *testing.T) {
	f := start(t, records.Demo())
	f.fill()
	for path, total := range map[string]int{"requests": 7, "customers": 25, "events": 4, "messages": 6} {
		var numbers []int
		for before := ""; ; {
			var page struct {
				Items []struct{ Number int }
				Next  *int
			}
			require.NoError(t, json.Unmarshal([]byte(f.get("/api/"+path+"?limit=3"+before).Body), &page))
			for _, item := range page.Items {
				numbers = append(numbers, item.Number)
			}
			if page.Next == nil {
				break
			}
			before = "&before=" + string(must(json.Marshal(*page.Next)))
		}
		require.Len(t, numbers, total, path)
		for i, number := range numbers {
			assert.Equal(t, total-i, number, path)
		}
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func TestWaitAnswersForARequestThatComesLater(t *testing.T) {
	f := start(t, records.Demo())
	f.send("GET", "/v1/events", "")
	waiting := make(chan reply, 1)
	go func() { waiting <- f.get("/api/wait?q=op:list+status:200&after=1&timeout=10s") }()
	for f.send("GET", "/v1/customers", "") == 200 {
		select {
		case got := <-waiting:
			assert.Equal(t, 200, got.Status)
			assert.Contains(t, got.Body, `"op":"list customers"`)
			assert.Contains(t, f.get("/api/wait").Body, `"number":1,`, "without after, what came before counts too")
			return
		default:
		}
	}
}

func TestResetSelectsWhatIsReset(t *testing.T) {
	f := start(t, records.Demo())
	fill := func() {
		f.fill()
		require.Equal(t, 200, f.post("/api/faults", `{"fault":{"kind":"answer_lost"}}`).Status)
	}
	customers := func() int { return len(f.box.Records.All(records.Customers)) }
	fill()
	last := f.box.History.State().Last

	require.Equal(t, 204, f.post("/api/reset?what=history", "").Status)
	assert.Contains(t, f.get("/api/requests").Body, `{"items":[],"next":null}`)
	assert.Equal(t, 25, customers())
	assert.Len(t, f.box.Rules(), 1)

	require.Equal(t, 204, f.post("/api/reset?what=faults", "").Status)
	assert.Empty(t, f.box.Rules())

	fill()
	require.Equal(t, 204, f.post("/api/reset", "").Status)
	assert.Empty(t, f.box.Rules())
	assert.Equal(t, 24, customers(), "the seed is back")
	assert.Equal(t, 25+1, f.box.Records.All(records.Customers)[23].Number, "no number is used again")
	assert.Contains(t, f.get("/customers").Body, ">24</span>")
	f.send("GET", "/v1/events", "")
	assert.Contains(t, f.get("/api/requests").Body, `"number":`+string(must(json.Marshal(2*last+1))))
}

func TestDumpIsASeed(t *testing.T) {
	f := start(t, records.Demo())
	f.fill()
	dump := f.get("/api/dump").Body
	seed, err := records.ParseSeed([]byte(dump))
	require.NoError(t, err)
	assert.Len(t, seed[records.Customers], 25)
	again := start(t, seed)
	assert.Equal(t, dump, again.get("/api/dump").Body)
	assert.NotContains(t, dump, "REDACTED", "a dump has nothing of the history")
}

func TestOutageClosesThePortAndOpensItAgain(t *testing.T) {
	f := start(t, records.Demo())
	require.Equal(t, 200, f.send("GET", "/v1/events", ""))
	require.Equal(t, 204, f.post("/api/outage", `{"for":"300ms"}`).Status)
	_, err := net.Dial("tcp", strings.TrimPrefix(f.api, "http://"))
	require.Error(t, err, "the port is closed")
	assert.Contains(t, f.get("/api/faults").Body, `"outage_until":"`)
	assert.Contains(t, f.get("/faults").Body, "Outage until")
	require.Eventually(t, func() bool { return f.send("GET", "/v1/events", "") == 200 }, 10*time.Second, 5*time.Millisecond)
	assert.Contains(t, f.get("/api/faults").Body, `"outage_until":null`)
}

func TestOutageWhosePortIsTakenFailsTheSandbox(t *testing.T) {
	f := start(t, records.Demo())
	require.Equal(t, 204, f.post("/api/outage", `{"for":"200ms"}`).Status)
	other, err := net.Listen("tcp", strings.TrimPrefix(f.api, "http://"))
	require.NoError(t, err)
	defer other.Close()
	select {
	case err := <-f.box.Failed():
		assert.ErrorContains(t, err, "after the outage")
	case <-time.After(10 * time.Second):
		t.Fatal("the sandbox goes on without its port")
	}
}

func TestFaultsOfTheFormAndThePresets(t *testing.T) {
	f := start(t, records.Demo())
	form := func(values url.Values) reply {
		return f.do("POST", f.ui+"/faults", values.Encode(), func(r *http.Request) {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		})
	}
	require.Equal(t, 303, form(url.Values{"preset": {"0"}, "op": {"create event"}}).Status)
	require.Equal(t, 303, form(url.Values{"op": {"list events"}, "kind": {"slow"}, "after": {"2s"}, "skip": {"1"}, "count": {""},
		"percent": {"50"}, "seed": {"4"}}).Status)
	rules := f.box.Rules()
	require.Len(t, rules, 2)
	assert.Equal(t, "create event", rules[0].Op)
	assert.Equal(t, "unknown", rules[0].Delivery)
	assert.Equal(t, sandbox.Rule{Op: "list events", Skip: 1, Probability: 0.5, Seed: 4,
		Fault: sandbox.Fault{Kind: "slow", After: sandbox.Duration(2 * time.Second)}}, rules[1].Rule)
	assert.Equal(t, 0, f.send("POST", "/v1/events", `{"name":"n","description":"d","parameters":[]}`))
	assert.Equal(t, 200, f.send("POST", "/v1/events", `{"name":"n","description":"d","parameters":[]}`))

	refused := form(url.Values{"op": {"list events"}, "kind": {"status"}, "status": {"one"}})
	assert.Equal(t, 422, refused.Status)
	assert.Contains(t, refused.Body, "status must be a number")
	assert.Contains(t, refused.Body, `<option selected>list events</option>`)
	assert.Contains(t, refused.Body, `name="status" value="one"`, "what was typed is still there")
	require.Equal(t, 303, form(url.Values{"kind": {"status"}}).Status)
	assert.Equal(t, 502, f.box.Rules()[1].Fault.Status)
}

func TestPagesShowWhatWasSkippedRefusedAndLost(t *testing.T) {
	f := start(t, records.Demo())
	f.fill()
	for path, texts := range map[string][]string{
		"/": {"export MESSAGING_SANDBOX_URL=" + f.ui, "1 skipped", "fault: response lost",
			"another service&#39;s API key was sent here",
			"422 refused", "DELETE /elsewhere"},
		"/requests/2": {"What the SDK returns", "rejected", "description is required", "Fix the request"},
		"/requests/3": {"It came as <code>&#34;21.11.2026&#34;</code>", "2006-01-02T15:04:05Z",
			"the event was triggered without it."},
		"/requests/5?tab=diff":       {"no earlier request"},
		"/requests/5":                {"unknown", "Set it aside", "<dt>Fault</dt><dd>response lost</dd>"},
		"/requests/6":                {"Another service&#39;s API key was sent here", "REDACTED"},
		"/broadcasts/4":              {"2030-01-01 09:00:00", "Europe/Berlin", "1 created, 1 updated", `sandbox=""`},
		"/broadcasts/4?tab=text":     {"Hi {{name}}, look"},
		"/broadcasts/4?tab=links":    {"https://acme.test", "never followed"},
		"/broadcasts/4?tab=audience": {"1 segment", "does not tell the size", "new@example.com", "created"},
		"/customers/1":               {"Ada Lovelace", "/requests/4"},
		"/events/1":                  {"messaging.ParameterTimestamp", "time.Now()"},
		"/?q=status:many":            {"can&#39;t be read"},
		"/help":                      {"has:skipped", "What the sandbox assumes"},
		"/faults":                    {"Truncated JSON", "35 s delay", `<option value="answer_lost">response lost</option>`},
	} {
		body := f.get(path).Body
		for _, text := range texts {
			assert.Contains(t, body, text, path)
		}
		assert.NotContains(t, body, "another&#34;", "no key is shown")
		assert.NotContains(t, body, "ZgotmplZ", path)
	}
}

// Whoever queues again what the client has retried sends it twice.
func TestPagesSayWhatTheClientRetriesByItself(t *testing.T) {
	f := start(t, records.Demo())
	require.Equal(t, 200, f.post("/api/faults", `{"op":"create event","fault":{"kind":"rate_limited","after":"31s"}}`).Status)
	for _, op := range []string{"trigger event", "list events"} {
		require.Equal(t, 200, f.post("/api/faults", `{"op":"`+op+`","fault":{"kind":"rate_limited"}}`).Status)
	}
	f.send("POST", "/v1/events/trigger", skippedBody)
	f.send("GET", "/v1/events", "")
	f.send("GET", "/v2/unknown", "")
	for _, path := range []string{"/requests/1", "/requests/2"} {
		body := f.get(path).Body
		assert.Contains(t, body, "by itself; the caller sees this error only if the last attempt fails.", path)
		assert.NotContains(t, body, "Queue it again", path)
	}
	f.send("POST", "/v1/events", `{"name":"n"}`)
	assert.Contains(t, f.get("/requests/4").Body, "does not wait as long as the service asks for")
	unknown := f.get("/requests/3").Body
	for _, text := range []string{"404 refused", "GET /v2/unknown", `Delivery <span class="tag bad">rejected</span>`} {
		assert.Contains(t, unknown, text)
	}
}

func TestRequestsThatWereNotCarriedOutHaveTheirEventAndRecipients(t *testing.T) {
	f := start(t, records.Demo())
	for _, request := range []struct{ path, body, query, row string }{
		{"/v1/events/trigger", skippedBody, "event:shipped+to:grace", "order shipped · grace@example.com"},
		{"/v1/events/trigger", `{"event_id":"` + orderShipped + `","payload":{"customer":{"customer_id":"c-9"}}}`, "event:order+to:c-9",
			"order shipped · c-9"},
		{"/v1/broadcast/send/email", emailBody, "to:new@example.com", "“Moved” to 2 customers and 1 segment"},
		{"/v1/broadcast/send/push-notification", `{"subject":"s","message":"m","all_customers":true}`, "subject:s", "“s” to all customers"},
	} {
		require.Equal(t, 200, f.post("/api/faults", `{"fault":{"kind":"rate_limited"}}`).Status)
		require.Equal(t, 429, f.send("POST", request.path, request.body))
		assert.Contains(t, f.get("/?q="+request.query).Body, `<span class="who">fault: rate limited · `+request.row+"</span>")
	}
}

func TestPresetsAreForTheOperationThatIsSelected(t *testing.T) {
	f := start(t, records.Demo())
	for op, retried := range map[string]int{"": 2, "trigger event": 2, "list events": 5} { // not a 200 that can't be read
		page := f.get("/faults?op=" + url.QueryEscape(op)).Body
		assert.Equal(t, retried, strings.Count(page, ">retried<"), op)
		if op != "" {
			assert.Contains(t, page, `<option selected>`+op+`</option>`)
		}
	}
}

func TestDurationsHaveOneFormat(t *testing.T) {
	f := start(t, records.Demo())
	f.send("GET", "/v1/events", "")
	page := f.get("/requests/1?tab=exchange").Body
	assert.Regexp(t, `<h2>Response <small>200 · \d+ (µs|ms)</small>`, page)
	assert.Regexp(t, ` · \d+ (µs|ms)</p>`, page)
}

func TestRulesAreDescribedInWords(t *testing.T) {
	f := start(t, records.Demo())
	for rule, words := range map[string]string{
		`"count":1`:          "one<",
		`"count":0`:          "all<",
		`"count":3,"skip":2`: "3 after the first 2<",
		`"count":0,"skip":1,"probability":0.5,"seed":7`: "all after the first, each with probability 0.5 (seed 7)<",
	} {
		require.Equal(t, 200, f.post("/api/faults", `{`+rule+`,"fault":{"kind":"slow","after":"2s"}}`).Status)
		assert.Contains(t, f.get("/faults").Body, "<td>delayed by 2s<td>"+words)
	}
}

func TestRecordsAreFoundByWords(t *testing.T) {
	f := start(t, records.Demo())
	for path, found := range map[string]string{
		`/api/customers?q=%22Ada+Lovelace%22`: "c-1001", `/api/customers?q=ada+lovelace`: "c-1001", `/api/events?q=shipped`: "order shipped",
		`/api/messages?q=invoice`: "Your invoice",
	} {
		assert.Equal(t, 1, strings.Count(f.get(path).Body, `"number"`), path)
		assert.Contains(t, f.get(path).Body, found)
	}
	assert.Equal(t, 200, f.get("/api/customers?q=status:x").Status)
}

func TestSeedWithAnIDThatExistsIsRefused(t *testing.T) {
	f := start(t, records.Demo())
	before := f.get("/api/dump").Body
	for seed, want := range map[string]string{
		`{"events":[{"name":"new"},{"id":"` + orderShipped + `","name":"n"}]}`:                       "events.1.id: already exists",
		`{"customers":[{"email":"new@example.com"},{"customer_id":"c-1001"}]}`:                       "customers.1.customer_id: already exists",
		`{"messages":[{"id":"` + records.Demo()[records.Messages][0].ID() + `","channel":"email"}]}`: "messages.0.id: already exists",
	} {
		got := f.post("/api/seed", seed)
		assert.Equal(t, 422, got.Status)
		assert.Contains(t, got.Body, want)
	}
	assert.Equal(t, before, f.get("/api/dump").Body, "nothing of them was added")
	assert.Equal(t, 200, f.post("/api/seed", `{"events":[{"id":"new","name":"n"}],"customers":[{"email":"new@example.com"}]}`).Status)
	assert.Equal(t, 422, f.post("/api/seed", `{"events":[{"id":"new","name":"n"}]}`).Status)
}

func TestAnEmptyDumpIsASeed(t *testing.T) {
	f := start(t, records.Seed{})
	assert.Equal(t, `{"customers":[],"events":[],"messages":[]}`+"\n", f.get("/api/dump").Body)
	for _, seed := range []string{f.get("/api/dump").Body, `{"customers":null,"events":null,"messages":null}`, `{}`,
		`{"customers":[{"email":"ada@example.com"}],"events":null}`} {
		_, err := records.ParseSeed([]byte(seed))
		assert.NoError(t, err, seed)
	}
}

func TestDeepAndLongBodiesMakeSmallPages(t *testing.T) {
	for name, value := range map[string]string{
		"deep":  strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
		"long":  "[" + strings.Repeat("1,", 60_000) + "1]",
		"steep": strings.Repeat("[", 450) + strings.Repeat("]", 450),
	} {
		f := start(t, records.Demo())
		f.send("GET", "/v1/events", "")
		f.send("POST", "/v1/events/trigger", `{}`)
		f.send("POST", "/v1/events/trigger", `{"event_id":"nope","payload":{"email":"a@b.test","order":`+value+`}}`)
		for _, tab := range []string{"exchange", "diff"} {
			page := f.get("/requests/3?tab=" + tab)
			assert.Equal(t, 200, page.Status)
			assert.Less(t, len(page.Body), 20_000+2*len(value), "%s, %s", name, tab)
		}
	}
}

func TestNotesDoNotSayThatARefusedRequestWasCarriedOut(t *testing.T) {
	f := start(t, records.Demo())
	for _, fault := range []string{`{"kind":"answer_lost"}`, `{"kind":"malformed","body":"{"}`, `{"kind":"slow","after":"1ms"}`} {
		for body, carriedOut := range map[string]bool{`{"event_id":"nope","payload":{"email":"a@b.test"}}`: false, skippedBody: true} {
			require.Equal(t, 200, f.post("/api/faults", `{"fault":`+fault+`}`).Status)
			f.send("POST", "/v1/events/trigger", body)
			page := f.get(fmt.Sprintf("/requests/%d", f.box.History.State().Last)).Body
			assert.Equal(t, !carriedOut, strings.Contains(page, "The request was refused, and nothing was done."), fault)
			if !carriedOut {
				assert.NotContains(t, page, "was carried out", fault)
			}
		}
	}
}

func TestBodiesThatAreNotUTF8AreValidJSONInTheAPI(t *testing.T) {
	f := start(t, records.Demo())
	f.send("POST", "/v1/events/trigger", strings.Replace(skippedBody, "21.11.2026", "21\xff", 1))
	for _, path := range []string{"/api/requests/1", "/api/triggers/1", "/api/triggers"} {
		body := f.get(path).Body
		assert.True(t, utf8.ValidString(body), path)
		assert.True(t, json.Valid([]byte(body)), path)
	}
}

func TestOutagesThatFollowEachOtherClosely(t *testing.T) {
	f := start(t, records.Demo())
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 30 {
				assert.NoError(t, f.box.Outage(1))
			}
		})
	}
	all.Wait()
	require.Eventually(t, func() bool { return f.send("GET", "/v1/events", "") == 200 }, 10*time.Second, 5*time.Millisecond)
	select {
	case err := <-f.box.Failed():
		t.Fatal(err)
	default:
	}
}

func TestResetEndsAnOutage(t *testing.T) {
	f := start(t, records.Demo())
	for _, what := range []string{"all", "faults"} {
		require.Equal(t, 204, f.post("/api/outage", `{"for":"1h"}`).Status)
		require.Equal(t, 204, f.post("/api/reset?what="+what, "").Status)
		assert.Equal(t, 200, f.send("GET", "/v1/events", ""))
	}
}

func TestOutageReplacesTheOneBefore(t *testing.T) {
	f := start(t, records.Demo())
	require.Equal(t, 204, f.post("/api/outage", `{"for":"1h"}`).Status)
	require.Equal(t, 204, f.post("/api/outage", `{"for":"1ms"}`).Status)
	require.Eventually(t, func() bool { return f.send("GET", "/v1/events", "") == 200 }, 10*time.Second, 5*time.Millisecond)
}

func TestPagesSayThatThereIsAnOutage(t *testing.T) {
	f := start(t, records.Demo())
	assert.NotContains(t, f.get("/").Body, "outage until")
	require.Equal(t, 204, f.post("/api/outage", `{"for":"1h"}`).Status)
	assert.Contains(t, f.get("/").Body, "outage until")
	faults := f.get("/faults").Body
	assert.Contains(t, faults, "None: after the outage, every request is served.")
	assert.NotContains(t, faults, "None: every request is served.")
}

func TestItemsHaveTheFirstProblemsAlone(t *testing.T) {
	f := start(t, records.Demo())
	f.send("POST", "/v1/broadcast/send/push-notification", `{"recipients":[`+strings.Repeat("0,", 5000)+`0]}`)
	list := f.get("/api/requests").Body
	assert.Less(t, len(list), 10_000)
	assert.Contains(t, list, `"…":["`)
}
