package inspector_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector/guard"
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
	f := start(t)
	f.fill()
	f.fault(`{"op":"trigger event","match":"event:order","skip":1,"count":2,"probability":0.5,"seed":7,` +
		`"fault":{"kind":"rate_limited","after":"7s"}}`)
	f.fault(`{"fault":{"kind":"status","status":502,"body":"<html>"}}`)
	router, err := gorillamux.NewRouter(f.described())
	require.NoError(t, err)
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
			r, err := http.NewRequest("GET", f.ui+path, nil)
			require.NoError(t, err)
			route, parameters, err := router.FindRoute(r)
			require.NoError(t, err)
			described := &openapi3filter.RequestValidationInput{Request: r, Route: route, PathParams: parameters,
				Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true}}
			assert.NoError(t, openapi3filter.ValidateRequest(t.Context(), described))
			assert.NoError(t, openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{Status: got.Status,
				RequestValidationInput: described, Header: got.Header, Body: io.NopCloser(strings.NewReader(got.Body))}))
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

// described returns the description of the API.
func (f *fixture) described() *openapi3.T {
	document, err := openapi3.NewLoader().LoadFromData([]byte(f.get("/api/openapi.json").Body))
	require.NoError(f.t, err)
	require.NoError(f.t, document.Validate(f.t.Context()))
	assert.Equal(f.t, f.ui, document.Servers[0].URL)
	return document
}

func TestEveryRouteOfTheAPIIsDescribedAndHasNoOtherMethods(t *testing.T) {
	f := start(t)
	paths := f.described().Paths
	source, err := os.ReadFile("routes.go")
	require.NoError(t, err)
	routes := regexp.MustCompile(`"(GET|POST|DELETE) (/api/[^"]*[^/"]|/healthz|/openapi.json)"`).FindAllStringSubmatch(string(source), -1)
	require.Greater(t, len(routes), 20)
	assert.Contains(t, f.described().Components.Schemas["EmailItem"].Value.Required, "schedule", "a field of what it embeds")
	for _, route := range routes {
		require.NotNil(t, paths.Value(route[2]), route[2])
		operation := paths.Value(route[2]).GetOperation(route[1])
		require.NotNil(t, operation, route)
		assert.NotEmpty(t, operation.Summary, route)
	}
	allow := map[string]string{"/help": "GET, HEAD", "/reset": "POST", "/faults": "GET, HEAD, POST", "/faults/1/remove": "POST"}
	for path, item := range paths.Map() {
		var methods []string
		for _, method := range []string{"GET", "POST", "DELETE"} {
			if item.GetOperation(method) != nil {
				methods = append(methods, strings.Replace(method, "GET", "GET, HEAD", 1))
			}
		}
		allow[strings.NewReplacer("{n}", "1", "{id}", "1").Replace(path)] = strings.Join(methods, ", ")
	}
	for path, methods := range allow {
		for _, method := range []string{"GET", "POST", "PUT", "DELETE", "OPTIONS"} {
			if !strings.Contains(methods, method) {
				got := f.ask(method, path, "")
				assert.Equal(t, 405, got.Status, "%s %s", method, path)
				assert.Equal(t, methods, got.Header.Get("Allow"), "%s %s", method, path)
				assert.Contains(t, got.Body, `{"error":"the method must be `)
			}
		}
	}
}

// waits sends a request that waits, and returns its response.
func (f *fixture) waits(query string) <-chan reply {
	response := make(chan reply, 1)
	go func() { response <- f.get("/api/wait?timeout=60s&" + query) }()
	return response
}

func TestWaitRespondsToWhatComesLater(t *testing.T) {
	f := start(t)
	f.read()
	list := f.waits("q=op:list+status:200&after=1")
	f.send("GET", "/v1/customers", "")
	got := <-list
	assert.Equal(t, 200, got.Status)
	assert.Contains(t, got.Body, `"op":"list customers"`)
	f.shows("/api/wait", `"number":1,`) // without after, what came before counts too

	three := f.waits("q=op:list&count=3")
	f.trigger(skippedBody)
	assert.Equal(t, 408, f.get("/api/wait?q=op:list&count=3&timeout=10ms").Status)
	f.read()
	got = <-three
	assert.Equal(t, 200, got.Status)
	assert.Regexp(t, `^\{"items":\[\{"number":1,.*\{"number":2,.*\{"number":4,.*\],"next":null\}\n$`, got.Body, "oldest first")

	late := f.waits("q=op:list&after=6") // which is not there yet
	f.timedOut("q=op:list&after=4")
	require.Equal(t, 204, f.post("/api/reset?what=history", "").Status)
	assert.Equal(t, "no request matched in 1ms; 0 came since request 4", f.timedOut("q=op:list"))
	assert.Contains(t, f.timedOut("q=op:list&after=2"), "and older ones that are no longer kept")
	for range 3 {
		f.read()
	}
	assert.Contains(t, (<-late).Body, `"number":7,`, "no number is used again")
}

func TestWaitForNoneRespondsAtTheEndUnlessOneArrives(t *testing.T) {
	f := start(t)
	began := time.Now()
	none := f.get("/api/wait?q=op:trigger&count=0&timeout=60ms")
	assert.Equal(t, 200, none.Status)
	assert.Equal(t, `{"items":[],"next":null}`+"\n", none.Body)
	assert.GreaterOrEqual(t, time.Since(began), 60*time.Millisecond, "one could still have arrived")
	waiting := f.waits("q=op:trigger&count=0")
	f.trigger(skippedBody)
	early := <-waiting // as soon as one arrives
	assert.Equal(t, 409, early.Status)
	assert.Equal(t, `{"error":"request 1, Trigger event, order shipped, grace@example.com, accepted: it matched, and none was expected"}`+"\n",
		early.Body)
}

func TestAWaitThatFailsNamesTheNearestRequest(t *testing.T) {
	f := start(t)
	f.trigger(skippedBody)
	f.post("/api/mark", `{"name":"checkout"}`)
	f.trigger(strings.Replace(skippedBody, orderShipped, "x", 1))
	f.read()
	f.steps([]string{`post /api/replay {"number":3}`}) // for which no test waits
	assert.Equal(t, "no request matched in 1ms; 0 came since request 4", f.timedOut("q=status:200&after=4"))
	assert.Equal(t, `no request matched in 1ms; 2 came since mark "checkout"; nearest: request 2, Trigger event, grace@example.com, `+
		"422 rejected, which does not match to:bob@example.com", f.timedOut("q=op:trigger+to:bob@example.com"))
	f.email(emailBody)
	assert.Equal(t, `1 of 2 requests matched in 1ms; 3 came since mark "checkout"; nearest: request 3, List events, `+
		"accepted, which does not match op:email or to:ada@example.com", f.timedOut("q=op:email+to:ada@example.com&count=2"))
	assert.Contains(t, f.timedOut(`q=subject:"Moved+out"`), `nearest: request 5, Send email broadcast, Moved, `+
		`to ada@example.com +1 and 1 segment, accepted, which does not match subject:"Moved out"`)
}

// timedOut waits for what does not come, and returns the error.
func (f *fixture) timedOut(query string) string {
	f.t.Helper()
	got := f.get("/api/wait?timeout=1ms&" + query)
	require.Equal(f.t, 408, got.Status, got.Body)
	var body struct{ Error string }
	require.NoError(f.t, json.Unmarshal([]byte(got.Body), &body))
	return body.Error
}

func TestRequestsThatAreNoLongerKeptAreCounted(t *testing.T) {
	f := start(t, func(c *sandbox.Config, _ *guard.Config) { c.Keep = 2 })
	f.read()
	f.shows("/api/requests", `!"dropped"`)
	for range 4 {
		f.read()
	}
	f.shows("/api/requests", `"dropped":3`, `2×"number":`, `"number":5,`, `"number":4,`)
	for _, number := range []string{"3", "6"} {
		assert.Equal(t, 404, f.get("/api/requests/"+number).Status)
	}
	assert.Contains(t, f.timedOut("q=op:trigger&after=start"),
		"no request matched in 1ms; 2 came since the start, and older ones that are no longer kept (--keep); nearest: request 5")
	assert.NotContains(t, f.timedOut("q=op:trigger&after=3"), "no longer kept")
}

func TestDescriptionOfTheServiceIsOfThisSandboxAndIsNotRecorded(t *testing.T) {
	f := start(t)
	assert.Equal(t, "application/json", f.get("/openapi.json").Header.Get("Content-Type"))
	f.shows("/openapi.json", `"url":"`+f.api+`"}]`, "!"+testKey)
	assert.Zero(t, f.box.History.State().Requests)
}

func TestTheLimitsOfTheSandboxAreNotThoseOfTheService(t *testing.T) {
	f := start(t, func(c *sandbox.Config, _ *guard.Config) { c.Identifier, c.MaxRecords = fake.CustomerID, 24 })
	assert.Equal(t, 422, f.trigger(skippedBody))
	f.shows("/api/requests/1", "is required as the customer identifier")
	require.Equal(t, 507, f.push(strings.ReplaceAll(pushTo(1), `"email":"`, `"customer_id":"`)))
	f.shows("/requests/2", "This is a limit of the sandbox, not of the real service")
}

func TestResetSelectsWhatIsReset(t *testing.T) {
	f := start(t)
	customers := func() int { return len(f.box.Records.All(records.Customers)) }
	fill := []string{"fill", `fault {"fault":{"kind":"answer_lost"}}`}
	f.steps(append(fill, "mark a"))
	last := f.box.History.State().Last

	require.Equal(t, 204, f.post("/api/reset?what=history", "").Status)
	f.shows("/api/requests", `{"items":[],"next":null}`)
	assert.Equal(t, 25, customers())
	assert.Len(t, f.box.Rules(), 1)

	require.Equal(t, 204, f.post("/api/reset?what=faults", "").Status)
	assert.Empty(t, f.box.Rules())
	f.steps(fill)
	require.Equal(t, 204, f.post("/api/reset", "").Status)
	assert.Empty(t, f.box.Rules())
	assert.Equal(t, 24, customers(), "the seed is back")
	assert.Equal(t, 25+1, f.box.Records.All(records.Customers)[23].Number, "no number is used again")
	f.shows("/customers", ">24</span>")
	f.read()
	f.shows("/api/requests", fmt.Sprintf(`"number":%d`, 2*last+1))
	f.shows("/", row, "!<span>Mark</span>")
}

func TestDumpIsASeed(t *testing.T) {
	f := start(t)
	f.fill()
	dump := f.get("/api/dump").Body
	seed, err := records.ParseSeed([]byte(dump))
	require.NoError(t, err)
	assert.Len(t, seed[records.Customers], 25)
	again := start(t, func(c *sandbox.Config, _ *guard.Config) { c.Seed = seed })
	assert.Equal(t, dump, again.get("/api/dump").Body)
	assert.NotContains(t, dump, "REDACTED", "a dump has nothing of the history")

	empty := start(t, func(c *sandbox.Config, _ *guard.Config) { c.Seed = nil }).get("/api/dump").Body
	assert.NotContains(t, empty, "null", "a list without records is empty")
	_, err = records.ParseSeed([]byte(empty))
	assert.NoError(t, err)
}

func TestSeedWithAnIDThatExistsAddsNothing(t *testing.T) {
	f := start(t)
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
