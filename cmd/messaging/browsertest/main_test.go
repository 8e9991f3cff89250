package browsertest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/cli"
)

const isLive = `document.querySelector("#live").dataset.state === "on"`

// browser is the context of a running Chromium.
var browser context.Context

// otherName is a name of this machine in the browser.
const otherName = "devbox"

// asCommand is the environment variable with which the program of the tests is
// the messaging command.
const asCommand = "BROWSERTEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(cli.Main())
	}
	status, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

func run(m *testing.M) (status int, err error) {
	folder, err := os.MkdirTemp("", "browsertest")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(folder)
	log := filepath.Join(folder, "net.json")
	// The browser of all tests makes no requests by itself. All names that it looks up lead to this
	// machine, and are in the log when it has stopped.
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.WindowSize(1280, 800),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("hide-scrollbars", true),
		chromedp.Flag("log-net-log", log), chromedp.Flag("no-sandbox", os.Geteuid() == 0),
		chromedp.Flag("host-resolver-rules", "MAP "+otherName+" 127.0.0.1, MAP *."+hostileName+" 127.0.0.1, MAP *."+naiveName+" 127.0.0.1"))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	browser, _ = chromedp.NewContext(allocator)
	err = chromedp.Do(browser, chromedp.Navigate("about:blank"))
	if errors.Is(err, exec.ErrNotFound) && os.Getenv("CI") != "true" {
		fmt.Println("SKIPPED: no Chromium is installed; on Debian: apt-get install chromium fonts-dejavu")
		return 0, nil
	}
	if err != nil {
		return 1, fmt.Errorf("cannot start a browser: %w", err)
	}
	status = m.Run()
	_ = chromedp.Cancel(browser) // its end is seen in the log
	stop()
	return status, checkLookups(log)
}

// box is a running sandbox.
type box struct {
	t            testing.TB
	api, key, ui string
	stop         func() // ends it, unless it has ended
}

// startBox starts a sandbox on free ports, unless args have others, and ends it with the test. The browser has no
// cookies then: those of other tests are for the same host.
func startBox(t testing.TB, args ...string) *box {
	t.Helper()
	_, err := chromedp.Call(browser, network.ClearBrowserCookies, cdp.Empty{})
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0], append([]string{"sandbox", "--api-port", "0", "--ui-port", "0"}, args...)...)
	cmd.Env = append(cmd.Environ(), asCommand+"=true")
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	b := &box{t: t, stop: sync.OnceFunc(func() {
		assert.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		assert.NoError(t, cmd.Wait(), "it ends with exit code 0")
	})}
	t.Cleanup(b.stop)
	lines := bufio.NewScanner(stdout)
	for _, into := range []*string{&b.api, &b.key, &b.ui} {
		require.True(t, lines.Scan(), "the sandbox prints three lines")
		_, value, _ := strings.Cut(lines.Text(), "=")
		*into = strings.Trim(value, "'")
	}
	return b
}

// send sends a request to the service, and returns the status: 0 if there is no response.
func (b *box) send(method, path, body string) int {
	b.t.Helper()
	status, _ := b.request(method, b.api+path, body)
	return status
}

// control calls the API of the inspector.
func (b *box) control(method, path, body string) string {
	b.t.Helper()
	status, content := b.request(method, b.ui+path, body)
	require.Equal(b.t, 2, status/100, content)
	return content
}

func (b *box) request(method, url, body string) (status int, content string) {
	b.t.Helper()
	r, _ := http.NewRequestWithContext(b.t.Context(), method, url, strings.NewReader(body))
	r.Header = http.Header{"X-Authorization": {b.key}, "Content-Type": {"application/json"}}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(text)
}

// tab is a tab of the browser.
type tab struct {
	t       testing.TB
	ctx     context.Context
	close   context.CancelFunc
	console iter.Seq2[chromedp.ConsoleMessage, error]
}

// openTab shows a page of a sandbox in a new tab, with the width and the color scheme. The page may be "".
func openTab(t testing.TB, url string, width int64, scheme string) *tab {
	t.Helper()
	p := &tab{t: t}
	p.ctx, p.close = chromedp.NewContext(browser, chromedp.WithNewWindow(false))
	t.Cleanup(p.close)
	p.console = chromedp.Console(p.ctx)
	p.resize(width)
	p.emulate("prefers-color-scheme", scheme)
	if url != "" {
		p.show(url)
	}
	return p
}

// resize sets the width of the window.
func (p *tab) resize(width int64) {
	p.t.Helper()
	p.do(chromedp.EmulateViewport(width, 800))
	p.until(fmt.Sprintf(`innerWidth === %d`, width))
}

// emulate sets a feature of the media, such as the color scheme.
func (p *tab) emulate(feature, value string) {
	p.t.Helper()
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: feature, Value: value}}})
	require.NoError(p.t, err)
}

// show opens a page of a sandbox, and waits until it is live.
func (p *tab) show(url string) {
	p.t.Helper()
	p.do(chromedp.Navigate(url))
	p.until(isLive)
}

// edit types into a field of the page.
func (p *tab) edit(selector, text string) {
	p.t.Helper()
	eval[bool](p, fmt.Sprintf(`((field) => { field.value = %q; return field.dispatchEvent(new Event("input")) })(
		document.querySelector(%q))`, text, selector))
}

// is requires that an expression is true in the page.
func (p *tab) is(expression string) {
	p.t.Helper()
	assert.True(p.t, eval[bool](p, "Boolean("+expression+")"), expression)
}

// patience only ends a test that hangs.
const patience = 5 * time.Minute

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	require.NoError(p.t, chromedp.Do(ctx, steps...))
}

// eval evaluates an expression in the page.
func eval[T any](p *tab, expression string) T {
	p.t.Helper()
	value, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression))
	require.NoError(p.t, err, expression)
	return value
}

// until waits until expressions are true in the page, one after the other, also across pages.
func (p *tab) until(expressions ...string) {
	p.t.Helper()
	for _, expression := range expressions {
		require.Eventually(p.t, func() bool {
			value, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool]("Boolean("+expression+")"))
			return err == nil && value // the page may be about to change
		}, patience, 5*time.Millisecond, expression)
	}
}

// press presses a key that is a command, and types nothing. It waits until expressions are true.
func (p *tab) press(key string, until ...string) {
	p.t.Helper()
	code := map[string]int64{"Enter": 13, "Escape": 27}[key]
	event := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeRawKeyDown, Key: key, WindowsVirtualKeyCode: code}
	if key == "Enter" {
		event.Type, event.Text = input.DispatchKeyEventTypeKeyDown, "\r"
	}
	for _, event.Type = range []input.DispatchKeyEventType{event.Type, input.DispatchKeyEventTypeKeyUp} {
		_, err := chromedp.Call(p.ctx, input.DispatchKeyEvent, event)
		require.NoError(p.t, err)
	}
	p.until(until...)
}

// click clicks on an element, and waits until expressions are true.
func (p *tab) click(selector string, until ...string) {
	p.t.Helper()
	p.until(fmt.Sprintf(`document.readyState === "complete" && document.querySelector(%q)`, selector))
	eval[bool](p, fmt.Sprintf(`(document.querySelector(%q).click(), true)`, selector))
	p.until(until...)
}

// requireNoErrors requires that the page wrote no other errors to the console than those that match.
func (p *tab) requireNoErrors(but string) {
	p.t.Helper()
	const end = "the console is read until here"
	eval[bool](p, fmt.Sprintf(`(console.log(%q), true)`, end))
	for message, err := range p.console {
		require.NoError(p.t, err)
		if strings.Contains(message.String(), end) {
			return
		}
		if message.IsException() || message.Type == "error" {
			assert.Regexp(p.t, but, message.String())
		}
	}
}

const (
	orderShipped = "5eed0000-0000-4000-8000-000000000001" // of the demo seed
	triggerPath  = "/v1/events/trigger"
	emailPath    = "/v1/broadcast/send/email"
)

// email returns the body of a broadcast.
func email(subject, message string) string {
	quote := func(text string) []byte { quoted, _ := json.Marshal(text); return quoted }
	return fmt.Sprintf(`{"cc":["team@acme.test"],"email":"news@acme.test","message":%s,"message_type":"announcement","recipients":{`+
		`"customers":[{"email":"ada@example.com","first_name":"Ada"},{"email":"maria@example.com","first_name":"Maria"}],"type":"customer"},`+
		`"schedule_type":"send-now","sender_email":"news@acme.test","sender_name":"Acme","subject":%s,`+
		`"variables":{"first_name":"Ada","season":"autumn"}}`, quote(message), quote(subject))
}

func trigger(email, shippedAt string) string {
	return `{"event_id":"` + orderShipped + `","payload":{"email":"` + email + `","order":"A-1001","shipped_at":"` + shippedAt +
		`","parcels":2}}`
}

// sendSome sends what shows every kind of outcome.
func sendSome(t testing.TB, b *box) {
	t.Helper()
	message, err := os.ReadFile("testdata/moved.html")
	require.NoError(t, err)
	b.send("GET", "/v1/events", "")
	b.send("GET", "/v1/customers?per_page=10", "")
	b.send("POST", "/v1/events", `{"name":"cart abandoned","description":"A cart was left.",`+
		`"parameters":[{"name":"items","type":"numeric","required":true}]}`)
	b.send("POST", triggerPath, `{"event_id":"`+orderShipped+`","payload":{"email":"alan@example.com","shipped_at":"2026-12-01T09:00:00Z"}}`)
	b.control("POST", "/api/faults", `{"op":"send push broadcast","count":1,"fault":{"kind":"answer_lost"}}`)
	b.send("POST", "/v1/broadcast/send/push-notification", `{"subject":"Come and see us","message":"The doors of our new shop open at nine.`+
		` Coffee is on us.","all_customers":true,"schedule_type":"send-now"}`)
	b.send("POST", triggerPath, trigger("alan@example.com", "2026-12-01T09:00:00Z"))
	b.control("POST", "/api/faults", `{"op":"create event","count":1,"fault":{"kind":"status","status":502,`+
		`"body":"<html><body><h1>502 Bad Gateway</h1></body></html>"}}`)
	b.send("POST", "/v1/events", `{"name":"invoice paid","description":"An invoice was paid.","parameters":[]}`)
	b.send("POST", emailPath, `{"sender_email":"news@acme.test","sender_name":"Acme","email":"not an address","subject":"Sale","message":"m",`+
		`"message_type":"x","schedule_type":"send-now","recipients":{"type":"customer","customers":[{"email":"ada@"},{"phone_no":"030"}]}}`)
	b.send("POST", triggerPath, trigger("grace@example.com", "21.11.2026"))
	b.send("POST", emailPath, email("We have moved", string(message)))
	for range 4 {
		b.send("POST", triggerPath, trigger("ada@example.com", "2026-12-01T09:00:00Z"))
	}
}

// rows is the number of requests that make a list longer than a window.
const rows = 40

// sendMany sends triggers for different customers, two at a time.
func (b *box) sendMany(n int) {
	b.t.Helper()
	var all sync.WaitGroup
	for first := range 2 {
		all.Go(func() {
			for i := first; i < n; i += 2 {
				body := trigger(fmt.Sprintf("c%d@example.com", i), "2026-12-01T09:00:00Z")
				assert.Equal(b.t, 200, b.send("POST", triggerPath, body))
			}
		})
	}
	all.Wait()
}
