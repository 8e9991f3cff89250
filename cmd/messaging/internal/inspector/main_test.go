package inspector_test

import (
	"context"
	"flag"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector"
	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector/guard"
	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// zone is the time zone of the sandbox.
var zone = time.FixedZone("HST", -10*60*60)

func TestMain(m *testing.M) {
	time.Local = zone
	// net/http sleeps for half a second before it closes the connection of a body
	// that is too large.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// fixture is a sandbox with its inspector, on two ports.
type fixture struct {
	t       testing.TB
	box     *sandbox.Sandbox
	ui, api string
	key     string // of the service
	client  *http.Client
}

// testKey is the key of the service.
const testKey = "sandbox-key-of-the-tests"

// start starts a sandbox with the records of the demo, and with a changed configuration.
func start(t testing.TB, change ...func(*sandbox.Config, *guard.Config)) *fixture {
	t.Helper()
	api, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ui, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	config := sandbox.Config{Listener: api, Wrap: guard.Service(api.Addr(), []string{"sandbox.internal"}),
		Keep: 1000, KeepBytes: 1 << 28, Key: testKey, Seed: records.Demo(), SeedName: "test"}
	pages := guard.Config{Address: ui.Addr(), AllowHosts: []string{"sandbox.internal"}}
	for _, c := range change {
		c(&config, &pages)
	}
	box, err := sandbox.Start(config)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	server := inspector.Server(ctx, box, pages)
	go func() { _ = server.Serve(ui) }()
	f := &fixture{t: t, box: box, ui: "http://" + ui.Addr().String(), api: "http://" + api.Addr().String(), key: testKey, client: newClient(t)}
	t.Cleanup(func() {
		cancel()
		f.client.CloseIdleConnections()
		require.NoError(t, server.Close())
		box.Close()
	})
	return f
}

// newClient returns a client that follows no redirect and keeps the connections of a load.
func newClient(t testing.TB) *http.Client {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	t.Cleanup(client.CloseIdleConnections)
	return client
}

// reply is a response that was read completely. Its status is 0 if there was none.
type reply struct {
	Status int
	Header http.Header
	Body   string
}

func (f *fixture) do(method, target, body string, change ...func(*http.Request)) reply {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), 5*time.Minute) // a stream that is not refused does not end
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, target, strings.NewReader(body))
	require.NoError(f.t, err)
	for _, c := range change {
		c(r)
	}
	response, err := f.client.Do(r)
	if err != nil {
		return reply{}
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	require.NoError(f.t, err)
	return reply{response.StatusCode, response.Header, string(content)}
}

func (f *fixture) get(path string) reply { f.t.Helper(); return f.ask("GET", path, "") }

func (f *fixture) post(path, body string) reply { f.t.Helper(); return f.ask("POST", path, body) }

// postForm sends a form of a page, as a browser does.
func (f *fixture) postForm(path string, form url.Values) reply {
	f.t.Helper()
	return f.ask("POST", path, form.Encode(), header("Content-Type", "application/x-www-form-urlencoded", "Origin", f.ui))
}

// ask sends a request to the inspector, which always responds.
func (f *fixture) ask(method, path, body string, change ...func(*http.Request)) reply {
	f.t.Helper()
	got := f.do(method, f.ui+path, body, change...)
	require.NotZero(f.t, got.Status, path)
	return got
}

// fault adds a rule, as the JSON API has it.
func (f *fixture) fault(rule string) {
	f.t.Helper()
	require.Equal(f.t, 200, f.post("/api/faults", rule).Status, rule)
}

// trigger, email and push send a body to the service, and read sends the plainest request.
func (f *fixture) trigger(body string) int { return f.send("POST", "/v1/events/trigger", body) }
func (f *fixture) email(body string) int   { return f.send("POST", "/v1/broadcast/send/email", body) }
func (f *fixture) push(body string) int {
	return f.send("POST", "/v1/broadcast/send/push-notification", body)
}
func (f *fixture) read() int { return f.send("GET", "/v1/events", "") }

// send sends a request with the key to the service, and returns its status.
func (f *fixture) send(method, path, body string) int {
	f.t.Helper()
	return f.sendWith(http.Header{"X-Authorization": {f.key}}, method, path, body)
}

// sendWith sends a request with some headers.
func (f *fixture) sendWith(fields http.Header, method, path, body string) int {
	f.t.Helper()
	return f.do(method, f.api+path, body, func(r *http.Request) { r.Header = fields.Clone() },
		header("Content-Type", "application/json", "User-Agent", "test")).Status
}

const (
	orderShipped = "5eed0000-0000-4000-8000-000000000001"
	skippedBody  = `{"event_id":"` + orderShipped + `","payload":{"email":"grace@example.com","order":"A-1001","shipped_at":"21.11.2026"}}`
	pushBody     = `{"subject":"s","message":"m","all_customers":true,"schedule_type":"send-now"}`
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
	f.trigger(skippedBody)
	f.email(emailBody)
	f.fault(`{"op":"send push broadcast","count":1,"fault":{"kind":"answer_lost"}}`)
	f.push(pushBody)
	f.do("GET", f.api+"/v1/events", "", func(r *http.Request) { r.Header.Set("X-Authorization", "another") })
	f.send("DELETE", "/elsewhere", "")
}

// broadcastOf returns the body of a broadcast with other members.
func broadcastOf(oldAndNew ...string) string {
	return strings.NewReplacer(oldAndNew...).Replace(emailBody)
}

// withMessage returns a broadcast by email with a message.
func withMessage(message string) string {
	return broadcastOf(`"<p>Hi {{name}}, <a href=\"https://acme.test\">look</a></p>"`, strconv.Quote(message))
}

// pushTo returns a broadcast to n customers.
func pushTo(n int) string {
	return `{"subject":"s","message":"m","schedule_type":"send-now","recipients":{"type":"customer","customers":[` +
		many(n, ",", `{"email":"c%d@x.test"}`) + `]}}`
}

// many returns n texts, in which each %d is the number of the text.
func many(n int, separator, text string) string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = strings.ReplaceAll(text, "%d", strconv.Itoa(i))
	}
	return strings.Join(texts, separator)
}

// header sets headers of a request.
func header(pairs ...string) func(*http.Request) {
	return func(r *http.Request) {
		for i := 0; i < len(pairs); i += 2 {
			r.Header.Set(pairs[i], pairs[i+1])
		}
	}
}
