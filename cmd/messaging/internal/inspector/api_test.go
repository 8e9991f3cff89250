package inspector_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
	"github.com/messaging-go/messaging/internal/fake"
)

var (
	changing = regexp.MustCompile(`"(at|took_ms|updated_at|last_interaction|customer_created_at|created_at|outage_until|` +
		`port|start_id|pid|started|uptime_ms)":("[^"]*"|[0-9.]+)`)
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
		"messages": "/api/messages?limit=2", "message": "/api/messages/3", "wait": "/api/wait?q=has:skipped",
		"wait_count": "/api/wait?q=has:skipped&count=1", "faults": "/api/faults",
		"health": "/healthz", "access": "/api/access", "none": "/api/requests?q=nowhere",
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

func TestUnknownPathsOfTheAPIAreAnsweredInJSON(t *testing.T) {
	f := start(t, records.Seed{})
	for path, kind := range map[string]string{"/api": "application/json", "/api/": "application/json", "/api/nothing": "application/json",
		"/apis": "text/html; charset=utf-8"} {
		got := f.get(path)
		assert.Equal(t, 404, got.Status, path)
		assert.Equal(t, kind, got.Header.Get("Content-Type"), path)
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

func TestWaitRespondsToARequestThatComesLater(t *testing.T) {
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

func TestWaitRespondsWhenAsManyHaveArrived(t *testing.T) {
	f := start(t, records.Demo())
	f.send("GET", "/v1/events", "")
	waiting := make(chan reply, 1)
	go func() { waiting <- f.get("/api/wait?q=op:list&count=3&timeout=10s") }()
	f.send("GET", "/v1/customers", "")
	f.send("POST", "/v1/events/trigger", skippedBody)
	assert.Equal(t, 408, f.get("/api/wait?q=op:list&count=3&timeout=10ms").Status)
	f.send("GET", "/v1/events", "")
	got := <-waiting
	assert.Equal(t, 200, got.Status)
	assert.Regexp(t, `^\{"items":\[\{"number":1,.*\{"number":2,.*\{"number":4,.*\],"next":null\}\n$`, got.Body, "oldest first")
}

func TestWaitForNoneRespondsAtTheEndUnlessOneArrives(t *testing.T) {
	f := start(t, records.Demo())
	f.send("GET", "/v1/events", "")
	none := reply{200, nil, `{"items":[],"next":null}` + "\n"}
	assert.Equal(t, none, f.get("/api/wait?q=op:trigger&count=0&timeout=0s").withoutHeader())
	began := time.Now()
	assert.Equal(t, none, f.get("/api/wait?q=op:trigger&count=0&timeout=60ms").withoutHeader())
	assert.GreaterOrEqual(t, time.Since(began), 60*time.Millisecond, "one could still have arrived")
	one := reply{409, nil, `{"error":"request 1, list events, accepted: it matched, and none was expected"}` + "\n"}
	assert.Equal(t, one, f.get("/api/wait?q=op:list&count=0&timeout=60s").withoutHeader())
	waiting := make(chan reply, 1)
	go func() { waiting <- f.get("/api/wait?q=op:trigger&count=0&timeout=60s") }()
	f.send("POST", "/v1/events/trigger", skippedBody)
	assert.Equal(t, 409, (<-waiting).Status, "as soon as one arrives")
}

func TestRecordsAreFoundByWords(t *testing.T) {
	f := start(t, records.Demo())
	for path, found := range map[string]string{
		`/api/customers?q=%22Ada+Lovelace%22`: "c-1001", `/api/customers?q=ada+lovelace`: "c-1001",
		`/api/events?q=shipped+-cart`: "order shipped",
		`/api/messages?q=invoice`:     "Your invoice",
	} {
		assert.Equal(t, 1, strings.Count(f.get(path).Body, `"number"`), path)
		assert.Contains(t, f.get(path).Body, found)
	}
	assert.Equal(t, 200, f.get("/api/customers?q=status:x").Status)
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

func TestItemsHaveOnlyTheFirstProblems(t *testing.T) {
	f := start(t, records.Demo())
	f.send("POST", "/v1/broadcast/send/push-notification", `{"recipients":[`+strings.Repeat("0,", 5000)+`0]}`)
	list := f.get("/api/requests").Body
	assert.Less(t, len(list), 10_000)
	assert.Contains(t, list, `"…":["`)
}

func TestDescriptionOfTheServiceIsOfThisSandboxAndIsNotRecorded(t *testing.T) {
	f := start(t, records.Demo())
	got := f.get("/openapi.json")
	assert.Equal(t, "application/json", got.Header.Get("Content-Type"))
	assert.Contains(t, got.Body, `"servers":[{"url":"`+f.api+`"`)
	assert.NotContains(t, got.Body, testKey)
	assert.Zero(t, f.box.History.State().Requests)
}

func TestCustomersAreIdentifiedByTheConfiguredField(t *testing.T) {
	f := startWith(t, records.Demo(), "", func(c *sandbox.Config) { c.Identifier = fake.CustomerID })
	assert.Equal(t, 422, f.send("POST", "/v1/events/trigger", skippedBody))
	assert.Contains(t, f.get("/api/requests/1").Body, "is required as the customer identifier")
}

func TestWaitBeginsAtTheLastMark(t *testing.T) {
	f := start(t, records.Demo())
	f.send("GET", "/v1/events", "")
	assert.Equal(t, 200, f.get("/api/wait?timeout=1ms").Status, "it came after the start")
	assert.JSONEq(t, `{"number":1}`, f.post("/api/mark", "").Body)
	assert.Equal(t, 408, f.get("/api/wait?timeout=1ms").Status)
	assert.Equal(t, 200, f.get("/api/wait?timeout=1ms&after=start").Status)
	assert.Equal(t, 200, f.get("/api/wait?timeout=1ms&after=0").Status)
	f.send("GET", "/v1/customers", "")
	assert.Contains(t, f.get("/api/wait?timeout=1ms").Body, `"number":2,`)
	f.post("/api/reset", "")
	assert.Equal(t, 408, f.get("/api/wait?timeout=1ms").Status, "it came before the reset")
}

func TestSummariesSayWhatWasSentAndToWhom(t *testing.T) {
	f := start(t, records.Demo())
	const push = "/v1/broadcast/send/push-notification"
	customers := `"recipients":[{"type":"segment","segments":["vip"]},{"type":"customer","customers":[{"email":"c1@x.test"},` +
		`{"customer_id":"c-2"},{"email":"c3@x.test"},{"phone_no":"+15550100"}]},{"type":"customer","customers":[{"email":"c5@x.test"},` +
		`{"email":"c6@x.test"}]}]`
	for _, test := range []struct{ path, body, want string }{
		{"/v1/broadcast/send/email", emailBody, `{"subject":"Moved","to":["ada@example.com","new@example.com"],"to_count":2}`},
		{push, `{"subject":"Hi","schedule_type":"send-now",` + customers + `}`,
			`{"subject":"Hi","to":["c1@x.test","c-2","c3@x.test","+15550100","c5@x.test"],"to_count":6}`},
		{push, `{"subject":"Hi","recipients":{"customers":[7,{"email":"a@x.test"}]}}`, `{"subject":"Hi","to":["a@x.test"],"to_count":2}`},
		{push, `{"subject":"s","message":"m","all_customers":true,"schedule_type":"send-now"}`, `{"subject":"s"}`},
		{"/v1/events/trigger", skippedBody, `{"event":"order shipped","to":["grace@example.com"],"to_count":1}`},
		{"/v1/events/trigger", `{"event_id":"` + orderShipped + `","payload":{"customer":{"customer_id":"c-9"}}}`,
			`{"event":"order shipped","to":["c-9"],"to_count":1}`},
		{"/v1/events", `{"name":"n"}`, `{"event":"n"}`},
	} {
		f.send("POST", test.path, test.body)
		var list struct{ Items []json.RawMessage }
		require.NoError(t, json.Unmarshal([]byte(f.get("/api/requests?limit=1").Body), &list))
		var got struct {
			Subject string   `json:"subject,omitempty"`
			Event   string   `json:"event,omitempty"`
			To      []string `json:"to,omitempty"`
			Count   int      `json:"to_count,omitempty"`
		}
		require.NoError(t, json.Unmarshal(list.Items[0], &got))
		assert.JSONEq(t, test.want, string(must(json.Marshal(got))), test.body)
	}
	assert.NotContains(t, f.get("/api/requests?q=op:create").Body, `"to"`, "what does not apply is left out")
}

func TestAWaitThatFailsNamesTheNearestRequest(t *testing.T) {
	f := start(t, records.Demo())
	f.send("POST", "/v1/events/trigger", skippedBody)
	none := f.timedOut("q=status:200&after=1")
	assert.Equal(t, "no request matched in 1ms; none came since request 1", none.Error)
	assert.Equal(t, "null", string(none.Nearest))
	assert.Empty(t, none.Differs)
	none = f.timedOut("q=status:404")
	assert.Contains(t, none.Error, "no request matched in 1ms; 1 came since the start; nearest: request 1, ")

	f.do("POST", f.ui+"/api/mark", `{"name":"checkout"}`, header("Content-Type", "application/json"))
	f.send("POST", "/v1/events/trigger", strings.Replace(skippedBody, orderShipped, "x", 1))
	f.send("GET", "/v1/events", "")
	f.post("/replay?number=2", "")
	got := f.timedOut("q=op:trigger+to:bob@example.com+-status:4xx")
	assert.Equal(t, `no request matched in 1ms; 2 came since mark "checkout"; nearest: request 2, trigger event to grace@example.com, `+
		"422 rejected, which does not match to:bob@example.com or -status:4xx", got.Error)
	assert.Equal(t, 2, got.Seen)
	assert.Zero(t, got.Matched)
	assert.Equal(t, []string{"to:bob@example.com", "-status:4xx"}, got.Differs)
	assert.Contains(t, string(got.Nearest), `"number":2,`)

	f.send("POST", "/v1/broadcast/send/email", emailBody)
	got = f.timedOut("q=op:email+to:ada@example.com&count=2")
	assert.Equal(t, `1 of 2 requests matched in 1ms; 3 came since mark "checkout"; nearest of the others: request 3, list events, `+
		"accepted, which does not match op:email or to:ada@example.com", got.Error)
	assert.Equal(t, 1, got.Matched)
	got = f.timedOut(`q=subject:"Moved+out"`)
	assert.Contains(t, got.Error, `nearest: request 4, send email broadcast "Moved" to ada@example.com and 1 more, accepted, `+
		`which does not match subject:"Moved out"`)
	f.post("/api/reset", "")
	assert.Equal(t, "no request matched in 1ms; none came since the last reset", f.timedOut("").Error)
}

// timedOut waits for what does not come.
func (f *fixture) timedOut(query string) (body struct {
	Error         string
	Seen, Matched int
	Nearest       json.RawMessage
	Differs       []string
}) {
	f.t.Helper()
	got := f.get("/api/wait?timeout=1ms&" + query)
	require.Equal(f.t, 408, got.Status, got.Body)
	require.NoError(f.t, json.Unmarshal([]byte(got.Body), &body))
	return body
}

func TestABroadcastToAllCustomersIsToEachOfThem(t *testing.T) {
	f := start(t, records.Demo())
	f.send("POST", "/v1/broadcast/send/push-notification", `{"subject":"s","message":"m","all_customers":true,"schedule_type":"send-now"}`)
	f.send("POST", "/v1/broadcast/send/push-notification",
		`{"subject":"s","message":"m","recipients":{"type":"segment","segments":["s-1"]},"schedule_type":"send-now"}`)
	assert.Equal(t, 409, f.get("/api/wait?q=to:ada@example.com&count=0&timeout=0s").Status)
	assert.Contains(t, f.get("/api/requests/1").Body, `"subject":"s","all_customers":true,`)
	assert.Contains(t, f.get("/api/requests/2").Body, `"subject":"s","segments":["s-1"],`)
}

func TestRequestsThatAreNoLongerKeptAreCounted(t *testing.T) {
	f := startWith(t, records.Demo(), "", func(c *sandbox.Config) { c.Keep = 2 })
	dropped := func(body string) (list struct{ Dropped any }) {
		require.NoError(t, json.Unmarshal([]byte(body), &list))
		return list
	}
	f.send("GET", "/v1/events", "")
	assert.Nil(t, dropped(f.get("/api/requests").Body).Dropped)
	for range 4 {
		f.send("GET", "/v1/events", "")
	}
	assert.Equal(t, 3.0, dropped(f.get("/api/requests").Body).Dropped)
	missed := f.timedOut("q=op:trigger&after=start")
	assert.Equal(t, "no request matched in 1ms; 2 came since the start, and older ones that are no longer kept (--keep); nearest: ",
		missed.Error[:strings.Index(missed.Error, "request 5")])
	assert.NotContains(t, f.timedOut("q=op:trigger&after=3").Error, "no longer kept")
}

func TestTheCustomersOfABroadcastEndAfter500(t *testing.T) {
	f := start(t, records.Demo())
	f.send("POST", "/v1/broadcast/send/push-notification", pushTo(0, 503))
	var item struct {
		Customers []struct{ Number int }
		More      int `json:"more_customers"`
	}
	require.NoError(t, json.Unmarshal([]byte(f.get("/api/broadcasts/1").Body), &item))
	assert.Len(t, item.Customers, 500)
	assert.Equal(t, 3, item.More)
	assert.Contains(t, f.get("/requests/1?tab=audience").Body, "3 more customers not shown")
}
