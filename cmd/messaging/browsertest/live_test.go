package browsertest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const isLive = `document.querySelector("#live").dataset.state === "on"`

// countStreams returns the address of a proxy of the inspector, and the number
// of streams that are open.
func countStreams(t *testing.T, b *box) (address string, open *atomic.Int64) {
	t.Helper()
	target, err := url.Parse(b.ui)
	require.NoError(t, err)
	open = new(atomic.Int64)
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval: -1,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/stream" {
			open.Add(1)
			defer open.Add(-1)
			defer func() { _ = recover() }() // the proxy aborts when the tab closes
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.CloseClientConnections)
	return server.URL, open
}

func TestEightTabsShareOneStreamAndItsSuccessorMissesNothing(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	address, streams := countStreams(t, b)
	var tabs []*tab
	for range 8 {
		p := openTab(t, address, 1280, "light")
		p.until(isLive)
		tabs = append(tabs, p)
	}
	assert.EqualValues(t, 1, streams.Load())

	for i := range 20 {
		if i == 10 { // the tab with the stream
			tabs[0].close()
		}
		b.send("POST", triggerPath, trigger(fmt.Sprintf("c%d@example.com", i), "2026-12-01T09:00:00Z"))
	}
	for _, p := range tabs[1:] {
		p.until(`document.querySelectorAll("#rows .row").length >= 20`)
		numbers := eval[[]string](p, `[...document.querySelectorAll("#rows .row")].map(row => row.dataset.number)`)
		for i, number := range numbers {
			require.Equal(t, fmt.Sprint(20-i), number, "no row is missing and none appears twice")
		}
		require.Len(t, numbers, 20)
		p.until(`document.querySelector("[data-count=triggers]").textContent === "20"`) // rows can be loaded before the last message
		assert.Empty(t, p.consoleErrors())
	}
	require.Eventually(t, func() bool { return streams.Load() == 1 }, patience, time.Millisecond)
}

func TestRowsAppearInSearchesTooButOnlyThoseThatMatch(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	p := openTab(t, b.ui+"/?q=has:skipped", 1280, "light")
	p.until(isLive)
	b.send("POST", triggerPath, trigger("ada@example.com", "2026-12-01T09:00:00Z"))
	b.send("POST", triggerPath, trigger("grace@example.com", "today"))
	p.until(`document.querySelectorAll("#rows .row").length === 1`)
	assert.Contains(t, eval[string](p, `document.querySelector("#rows").textContent`), "grace@example.com")
	p.until(`document.querySelector("#announce").textContent === "New requests: order shipped, accepted, 1 skipped"`)
}

func TestAMarkStaysBelowItsFirstRowWhenOthersArrive(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	b.send("GET", "/v1/events", "")
	p := openTab(t, b.ui, 1280, "light")
	p.until(isLive)
	b.control("POST", "/api/mark", `{"name":"checkout"}`)
	b.control("POST", "/api/faults", `{"op":"trigger event","count":2,"fault":{"kind":"rate_limited","after":"1s"}}`)
	for _, sent := range []struct{ order, lines string }{{"a", "2 mark 1"}, {"a", "3 attempts mark 1"}, {"b", "4 3 attempts mark 1"}} {
		b.send("POST", triggerPath, trigger("ada@example.com", sent.order))
		p.until(`[...document.querySelectorAll("#rows > *")].map((line) => line.dataset.number ??
			(line.dataset.mark ? "mark" : line.className)).join(" ") === ` + strconv.Quote(sent.lines))
	}
}

func TestRowsAreCountedInsteadWhenThereAreMany(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	p := openTab(t, b.ui, 1280, "light")
	p.until(isLive)
	b.send("GET", "/v1/events", "")
	p.until(`document.querySelectorAll("#rows .row").length === 1`)
	for i := range 449 {
		b.send("POST", triggerPath, trigger(fmt.Sprintf("c%d@example.com", i), "2026-12-01T09:00:00Z"))
	}
	p.until(`/ new$/.test(document.querySelector("#new").textContent) && document.querySelector("#new").hidden === false`)
	p.until(`Number.parseInt(document.querySelector("#new").textContent) + document.querySelectorAll("#rows .row").length === 450`)
	// The page takes at most 300 rows, as many as that if they come one by one.
	assert.LessOrEqual(t, eval[int](p, `document.querySelectorAll("*").length`), 3500)
	p.shoot("many-1280-light")
	p.do(chromedp.Click(chromedp.CSS("#new")))
	p.until(`document.querySelectorAll("#rows .row").length === 100 && document.querySelector(".row").dataset.number === "450"`)
}

func TestResetAndRestartAreSeen(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	b.send("GET", "/v1/events", "")
	p := openTab(t, b.ui, 1280, "light")
	p.until(isLive + ` && document.querySelectorAll("#rows .row").length === 1`)
	b.control("POST", "/api/reset", "")
	p.until(`document.querySelectorAll("#rows .row").length === 0 && document.querySelector("[data-count=requests]").textContent === "0"`)
	b.send("GET", "/v1/events", "")
	p.until(`document.querySelectorAll("#rows .row").length === 1 && document.querySelector(".row").dataset.number === "2"`)
}

func TestRestartShowsOnlyTheNewSandbox(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	for range 5 {
		b.send("GET", "/v1/events", "")
	}
	p := openTab(t, b.ui, 1280, "light")
	p.until(isLive + ` && document.querySelectorAll("#rows .row").length === 5`)
	require.NoError(t, b.process.Signal(syscall.SIGTERM))
	<-b.ended
	port := func(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }
	p.until(`!document.querySelector("#stopped").hidden`)
	again := startBoxOn(t, port(b.api), port(b.ui), "--seed", "demo")
	for range 8 {
		again.send("POST", triggerPath, trigger("ada@example.com", "2026-12-01T09:00:00Z"))
	}
	p.until(isLive + ` && document.querySelectorAll("#rows .row").length === 8 && document.querySelector("#stopped").hidden`)
	assert.NotContains(t, eval[string](p, `document.querySelector("#rows").textContent`), "List events")
}

func TestOutageIsSeenOnThePageOfRequests(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	p := openTab(t, b.ui, 1280, "light")
	p.until(isLive)
	b.control("POST", "/api/outage", `{"for":"1h"}`)
	p.until(`document.querySelector("#live").textContent === "outage"`)
	p.shoot("outage-1280-light")
	p.open(b.ui)
	p.until(isLive + ` && document.querySelector("#live").textContent === "outage"`)
	b.control("POST", "/api/reset?what=faults", "")
	p.until(`document.querySelector("#live").textContent === "live"`)
}

func TestFaultsPageIsLive(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	p := openTab(t, b.ui+"/faults", 1280, "light")
	p.until(isLive)
	b.control("POST", "/api/faults", `{"op":"trigger event","fault":{"kind":"answer_lost"}}`)
	p.until(`document.querySelectorAll("#live-part tbody tr:not(.used-up)").length === 1`)
	p.until(`document.querySelector("[data-count=faults]").textContent === "1"`)
	b.control("POST", "/api/outage", `{"for":"2s"}`)
	p.until(`document.querySelector("#live-part").textContent.includes("Outage until")`)
	p.until(`!document.querySelector("#live-part").textContent.includes("Outage until")`)
}

func TestFaultsPageFitsTheOperationAndTheKind(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	p := openTab(t, b.ui+"/faults", 1280, "light")
	p.until(isLive)
	choose := func(selector, value string) {
		eval[bool](p, fmt.Sprintf(`(() => { const field = document.querySelector(%q); field.value = %q;
			return field.dispatchEvent(new Event("change", { bubbles: true })) })()`, selector, value))
	}
	hidden := `[...document.querySelectorAll(".rule [data-kinds]")].filter(l => l.hidden).map(l => l.textContent.split(" ")[0]).join()`
	assert.Equal(t, "Status,After,Body", eval[string](p, hidden))
	choose(".rule [name=kind]", "slow")
	assert.Equal(t, "Status,Body", eval[string](p, hidden))
	choose(".rule [name=kind]", "status")
	assert.Equal(t, "After", eval[string](p, hidden))
	assert.True(t, eval[bool](p, `document.querySelector(".rule [name=after]").disabled`))

	cards := `document.querySelector(".presets .cards").textContent`
	for _, op := range []string{"list events", "trigger event"} {
		choose(".presets [name=op]", op)
		want := b.control("GET", "/faults?op="+url.QueryEscape(op), "")
		p.until(fmt.Sprintf(`%s === new DOMParser().parseFromString(%q, "text/html").querySelector(".cards").textContent`, cards, want))
	}
}

func TestRuleIsRemovedOnANarrowScreen(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	b.control("POST", "/api/faults", `{"op":"list transactional messages","skip":2,"count":3,"fault":{"kind":"rate_limited","after":"7s"}}`)
	p := openTab(t, b.ui+"/faults", 360, "light")
	p.until(isLive)
	assert.True(t, eval[bool](p, `document.querySelector(".rules button").getBoundingClientRect().right <= innerWidth`))
	p.click(".rules button")
	p.until(`document.querySelector("#live-part").textContent.includes("every request is served")`)
}

// Under another name than localhost, browsers have no locks and no clipboard.
func TestPageUnderAnotherNameIsLiveAndHasKeys(t *testing.T) {
	b := startBox(t, "--seed", "demo", "--allow-host", otherName)
	p := openTab(t, strings.Replace(b.ui, "127.0.0.1", otherName, 1), 1280, "light")
	p.until(isLive + ` && !window.isSecureContext`)
	b.send("GET", "/v1/events", "")
	p.until(`document.querySelectorAll("#rows .row").length === 1`)
	p.click(".setup summary")
	p.click(".setup [data-copy]")
	p.until(`getSelection().toString().includes("MESSAGING_BASE_URL")`)
	p.press("?")
	p.until(`location.pathname === "/help"`)
	for _, message := range p.consoleErrors() {
		assert.Contains(t, message, "Cross-Origin-Opener-Policy header has been ignored", "without HTTPS, it holds on loopback hosts alone")
	}
}

func TestRowsAreReachedByKeyOnANarrowScreen(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	for range 3 {
		b.send("GET", "/v1/events", "")
	}
	p := openTab(t, b.ui, 360, "light")
	p.until(isLive)
	for _, number := range []string{"3", "2", "1"} {
		p.press("j")
		p.until(fmt.Sprintf(`document.activeElement.dataset.number === "%s"`, number))
	}
}

func TestStoppedSandboxIsReported(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	b.send("GET", "/v1/events", "")
	p := openTab(t, b.ui, 1280, "light")
	p.until(isLive)
	require.NoError(t, b.process.Signal(syscall.SIGTERM))
	<-b.ended
	p.press("j")
	p.until(`document.querySelector("#stopped").textContent.startsWith("The sandbox has stopped.") ` +
		`&& !document.querySelector("#stopped").hidden`)
	p.until(`[...document.querySelectorAll("form button, form.search input, [popovertarget]")].every(control => control.disabled)`)
}

func TestResetClosesADetailThatIsGone(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	b.send("GET", "/v1/events", "")
	p := openTab(t, b.ui+"/requests/1", 1280, "light")
	p.until(isLive)
	b.control("POST", "/api/reset", "")
	p.until(isLive + ` && location.pathname === "/" && document.querySelectorAll("#rows .row").length === 0`)
}

func TestKeyboardAloneIsEnough(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	sendSome(t, b)
	p := openTab(t, b.ui, 1280, "light")
	p.until(isLive)
	at := func(path string) string {
		return isLive + fmt.Sprintf(` && location.pathname + location.search === %q`, path)
	}

	p.press("j")
	p.until(at("/requests/14"))
	for number := 13; number >= 10; number-- {
		p.press("j")
		p.until(at(fmt.Sprintf("/requests/%d", number)) +
			fmt.Sprintf(` && document.querySelector(".row[aria-current]").dataset.number === "%d"`, number))
	}
	p.until(`document.querySelector("#detail h1").textContent === "We have moved"`)
	p.press("k")
	p.until(at("/requests/11"))
	p.press("]")
	p.until(at("/requests/11?tab=exchange"))
	p.press("j")
	p.until(at("/requests/10?tab=exchange") + ` && document.querySelector(".tabs [aria-current]").dataset.tab === "exchange"`)
	for _, tab := range []string{"audience", "check", "links", "variables", "text", "source"} {
		p.press("[")
		p.until(at("/requests/10?tab=" + tab))
	}
	p.press("[")
	p.until(at("/requests/10?tab=preview"))
	p.press("d")
	p.until(at("/requests/10?tab=diff") + ` && document.querySelectorAll(".line.add").length > 0`)

	p.press("/")
	p.until(`document.activeElement.name === "q"`)
	p.typeText("has:skipped")
	p.press("Enter")
	p.until(at("/?q=has%3Askipped") + ` && document.querySelectorAll("#rows .row").length === 1`)
	p.press("j")
	p.until(at("/requests/9?q=has%3Askipped"))
	p.until(`document.querySelector("tr.why").textContent.includes("21.11.2026")`)
	p.press("Escape")
	p.until(at("/?q=has%3Askipped") + ` && document.activeElement.dataset.number === "9"`)

	p.press("f")
	p.until(at("/faults"))
	p.do(chromedp.Focus(chromedp.CSS(`[name=preset]`)))
	p.press("Enter")
	p.until(at("/faults") + ` && document.querySelectorAll("#live-part tbody tr:not(.used-up)").length === 1 &&
		document.activeElement.id === "live-part"`)
	assert.Zero(t, b.send("POST", triggerPath, trigger("ada@example.com", "2026-12-01T09:00:00Z")), "the response is lost")
	p.until(`document.querySelector("#live-part").textContent.includes("every request is served")`)

	p.press("r")
	p.until(`document.querySelector("#reset").open && document.activeElement.textContent === "Cancel"`)
	p.shoot("reset-1280-light")
	for _, cancel := range []string{"Escape", "Enter"} {
		p.press(cancel)
		p.until(`!document.querySelector("#reset").open`)
		p.press("r")
		p.until(`document.activeElement.textContent === "Cancel"`)
	}
	p.do(chromedp.Focus(chromedp.CSS(`#reset [value=history]`)))
	p.press("Enter")
	p.until(at("/") + ` && document.querySelectorAll("#rows .row").length === 0`)
	p.press("?")
	p.until(at("/help"))
	assert.Empty(t, p.consoleErrors(), "such as what the policy of the page blocks")
}

func TestPagesWorkWithoutTheScript(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	sendSome(t, b)
	p := openTab(t, "about:blank", 1280, "light")
	_, err := chromedp.Call(p.ctx, network.SetBlockedURLs, network.SetBlockedURLsParams{
		URLPatterns: []*network.BlockPattern{{URLPattern: "*://*:*/static/inspector.js", Block: true}}})
	require.NoError(t, err)
	p.open(b.ui)
	p.click(`a[href="/requests/10"]`)
	p.click(`a[href="/requests/10?tab=audience"]`)
	p.until(`document.querySelector(".view table").textContent.includes("maria@example.com")`)
	p.click(`a[href="/faults"]`)
	p.click(`[name=preset]`)
	p.until(`document.querySelectorAll("#live-part tbody tr:not(.used-up)").length === 1`)
	assert.Equal(t, "not live", eval[string](p, `document.querySelector("#live").textContent`))
}

// TestQuickstartShowsUpStepByStep runs the example of the repository against the
// sandbox, as the documentation says.
func TestQuickstartShowsUpStepByStep(t *testing.T) {
	b := startBox(t)
	p := openTab(t, b.ui, 1280, "light")
	p.until(isLive)
	cmd := exec.Command("go", "run", "-C", "../../..", "./examples/quickstart", "-send", "-email", "you@example.com")
	cmd.Env = append(cmd.Environ(), "MESSAGING_BASE_URL="+b.api, "MESSAGING_API_KEY="+b.key)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	p.until(`document.querySelectorAll("#rows .row").length >= 6`)
	rows := eval[string](p, `document.querySelector("#rows").textContent`)
	for _, step := range []string{"Create event", "Trigger event", "Send email broadcast", "Send push broadcast", "List customers",
		"List events"} {
		assert.Contains(t, rows, step)
	}
	p.until(`document.querySelector("#overview .sub").textContent.includes(" accepted")`)
	p.shoot("quickstart-1280-light")
}

// TestSandboxEndsAfterSIGTERMWithoutWaiting has a response in flight that would take an hour.
func TestSandboxEndsAfterSIGTERMWithoutWaiting(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	p := openTab(t, b.ui, 1280, "light")
	p.until(isLive)
	b.control("POST", "/api/faults", `{"count":1,"fault":{"kind":"slow","after":"1h"}}`)
	slow := make(chan int, 1)
	go func() { slow <- b.send("GET", "/v1/events", "") }()
	require.Eventually(t, func() bool {
		return strings.Contains(b.control("GET", "/api/faults", ""), `"items":[]`)
	}, patience, time.Millisecond)
	require.NoError(t, b.process.Signal(syscall.SIGTERM))
	p.until(`document.querySelector("#live").dataset.state === "gone"`)
	assert.Zero(t, <-slow, "its response is not waited for")
	<-b.ended
	p.shoot("gone-1280-light")
}

func TestFiltersComeAndGoWithTheRequests(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	p := openTab(t, b.ui, 1280, "light")
	p.until(isLive + ` && !document.querySelector(".chips") && document.querySelector(".welcome h1").textContent === "Send something here"`)
	b.send("GET", "/v1/events", "")
	p.until(`document.querySelector(".chips") && document.querySelector(".welcome h1").textContent === "Nothing stands out"`)
	b.control("POST", "/api/reset", "")
	p.until(`!document.querySelector(".chips") && document.querySelector(".welcome h1").textContent === "Send something here"`)
}

func TestAnOutageCountsTheSecondsThatAreLeft(t *testing.T) {
	t.Setenv("TZ", "Pacific/Honolulu") // the browser has another time zone
	b := startBox(t, "--seed", "demo")
	p := openTab(t, b.ui, 1280, "light")
	p.until(isLive)
	b.control("POST", "/api/outage", `{"for":"1h"}`)
	p.until(`document.querySelector("#live").textContent === "outage"`)
	const left = `Number.parseInt(document.querySelector("#live").dataset.left)`
	first := eval[int](p, left)
	assert.InDelta(t, 3600, first, 60)
	p.until(fmt.Sprintf(`%s < %d`, left, first))
	assert.Greater(t, eval[int](p, `document.querySelector(".search input").offsetWidth`), 150)
}
