package browsertest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEightTabsShareOneStreamAndItsSuccessorMissesNothing(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	target, err := url.Parse(b.ui)
	require.NoError(t, err)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	var streams atomic.Int64 // that are open
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/stream" {
			streams.Add(1)
			defer streams.Add(-1)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.CloseClientConnections)
	var tabs []*tab
	for range 8 {
		tabs = append(tabs, openTab(t, server.URL, 1280, "light"))
	}
	assert.EqualValues(t, 1, streams.Load())
	b.sendMany(10)
	tabs[0].close() // the tab with the stream
	b.sendMany(10)
	for _, p := range tabs[1:] {
		p.until(rowCount + ` >= 20`)
		numbers := eval[[]string](p, `[...document.querySelectorAll("#rows .row")].map(row => row.dataset.number)`)
		for i, number := range numbers {
			require.Equal(t, fmt.Sprint(20-i), number, "no row is missing and none appears twice")
		}
		require.Len(t, numbers, 20)
		p.until(`document.querySelector("[data-count=requests]").textContent === "20"`) // rows can be loaded before the last message
		p.requireNoErrors("^$")
	}
	require.Eventually(t, func() bool { return streams.Load() == 1 }, patience, time.Millisecond)
}

const (
	rowCount = `document.querySelectorAll("#rows .row").length`
	firstRow = `document.querySelector("#rows .row")?.dataset.number`
	newCount = `document.querySelector("#new")`
)

// TestRowsAppear follows a list from nothing to many rows, a mark below its first row, and attempts that become one row.
func TestRowsAppear(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	p := openTab(t, b.ui, 1280, "light")
	search := openTab(t, b.ui+"/?q=has:skipped", 1280, "light")
	phone := openTab(t, b.ui, 390, "light")
	const heading = `document.querySelector(".welcome h1").textContent`
	p.until(`!document.querySelector(".chips") && ` + heading + ` === "Send something here"`)
	b.send("GET", "/v1/events", "")
	p.until(`document.querySelector(".chips") && ` + heading + ` === "Nothing stands out"`)
	phone.until(`document.querySelector("#glance")?.hidden`)
	b.send("POST", triggerPath, trigger("grace@example.com", "today"))
	search.until(rowCount + ` === 1 && document.querySelector("#rows").textContent.includes("grace@example.com")`)
	search.until(`document.querySelector("#announce").textContent === "New requests: order shipped, accepted, skipped"`)
	p.until(`document.querySelector("#overview li:has(a)")?.textContent.includes("A value was skipped")`)
	phone.until(`document.querySelector("#glance summary").textContent === "1 worth a look"`)
	phone.click("#glance summary")
	phone.click("#glance li a", `location.search === "?q=has%3Askipped" && `+firstRow+` === "2"`)
	p.do(chromedp.Click(chromedp.CSS("#overview li a")))
	p.until(`location.href === "` + b.ui + `/?q=has%3Askipped" && ` + firstRow + ` === "2"`)

	p.show(b.ui + "/requests/1")
	b.sendMany(449)
	p.until(`!` + newCount + `.hidden && Number.parseInt(` + newCount + `.textContent) + ` + rowCount + ` === 451`)
	// The page takes at most 300 rows, as many as that if they come one by one.
	assert.LessOrEqual(t, eval[int](p, `document.querySelectorAll("*").length`), 3500)
	p.do(chromedp.Click(chromedp.CSS("#new")))
	p.until(firstRow + ` === "451" && ` + rowCount + ` === 100`)
	p.is(`location.pathname === "/requests/1" && document.querySelector("#detail h1").textContent === "List events"`)
	b.send("GET", "/v1/events", "")
	p.until(firstRow + ` === "452"`)

	b.control("POST", "/api/mark", `{"name":"checkout"}`)
	b.control("POST", "/api/faults", `{"op":"trigger event","count":2,"fault":{"kind":"rate_limited","after":"1s"}}`)
	for _, sent := range []struct{ order, lines string }{
		{"a", "453 mark 452 451"}, {"a", "454 attempts mark 452"}, {"b", "455 454 attempts mark"}} {
		b.send("POST", triggerPath, trigger("ada@example.com", sent.order))
		p.until(`[...document.querySelectorAll("#rows > *")].slice(0, 4).map((line) => line.dataset.number ??
			(line.dataset.mark ? "mark" : line.className)).join(" ") === ` + strconv.Quote(sent.lines))
	}
	for _, p := range []*tab{p, search, phone} {
		p.requireNoErrors("^$")
	}
}

// TestResetsOutagesAndRestartsAreSeen ends with a sandbox that stops at once, although a
// response is in flight that would take an hour.
func TestResetsOutagesAndRestartsAreSeen(t *testing.T) {
	t.Setenv("TZ", "Pacific/Honolulu") // the browser has another time zone
	b := startBox(t, "--seed", "demo")
	b.send("GET", "/v1/events", "")
	p := openTab(t, b.ui, 1280, "light")
	detail := openTab(t, b.ui+"/requests/1", 1280, "light")
	phone := openTab(t, b.ui, 390, "light")
	p.until(rowCount + ` === 1`)
	b.control("POST", "/api/reset", "")
	p.until(rowCount + ` === 0 && document.querySelector("[data-count=requests]").textContent === "0"`)
	detail.until(isLive + ` && location.pathname === "/" && ` + rowCount + ` === 0`)
	b.send("GET", "/v1/events", "")
	p.until(rowCount + ` === 1 && ` + firstRow + ` === "2"`)

	b.control("POST", "/api/outage", `{"for":"1h"}`)
	const live = `document.querySelector("#live").textContent`
	const left = `Number.parseInt(document.querySelector("#live").dataset.left)`
	p.until(live + ` === "outage" && ` + left + ` > 3000`)
	first := eval[int](p, left)
	assert.InDelta(t, 3600, first, 60)
	p.until(fmt.Sprintf(`%s < %d`, left, first))
	p.show(b.ui)
	p.until(live + ` === "outage"`)
	phone.until(live + ` === "outage"`)
	phone.is(`document.querySelector(".search input").offsetWidth > 110 && document.querySelector("header").offsetHeight < 130`)
	b.control("POST", "/api/reset?what=faults", "")
	p.until(live + ` === "live"`)

	b.control("POST", "/api/faults", `{"count":1,"fault":{"kind":"slow","after":"1h"}}`)
	slow := make(chan int, 1)
	go func() { slow <- b.send("GET", "/v1/events", "") }()
	require.Eventually(t, func() bool {
		return strings.Contains(b.control("GET", "/api/faults", ""), `"items":[]`)
	}, patience, time.Millisecond)
	b.stop()
	assert.Zero(t, <-slow, "its response is not waited for")
	for _, p := range []*tab{p, phone} {
		p.press("j")
		p.until(`!document.querySelector("#stopped").hidden && document.querySelector("#stopped").getBoundingClientRect().bottom === innerHeight`)
		p.until(`[...document.querySelectorAll("form button, form.search input, [popovertarget]")].every(control => control.disabled)`)
		p.is(`location.pathname === "/" && document.documentElement.scrollWidth <= innerWidth`)
	}
	port := func(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }
	again := startBox(t, "--seed", "demo", "--api-port", port(b.api), "--ui-port", port(b.ui))
	again.sendMany(8)
	p.until(isLive + ` && ` + rowCount + ` === 8 && document.querySelector("#stopped").hidden`)
	assert.NotContains(t, eval[string](p, `document.querySelector("#rows").textContent`), "List events")
}

func TestTheFaultsPageIsLiveAndFitsTheKind(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	openTab(t, b.ui+"/help", 1280, "light") // has the stream, and tells the next tab
	p := openTab(t, b.ui+"/faults", 1280, "light")
	b.control("POST", "/api/faults", `{"op":"trigger event","fault":{"kind":"answer_lost"}}`)
	p.until(`document.querySelectorAll("#live-part tbody tr").length === 1`)
	p.until(`document.querySelector("[data-count=faults]").textContent === "1"`)
	p.click(".rules button")
	p.until(isLive + ` && location.hash && document.querySelector("#live-part").textContent.includes("every request is served")`)
	const hidden = `[...document.querySelectorAll(".rule [data-kinds]")].filter(l => l.hidden).map(l => l.textContent.split(" ")[0]).join()`
	assert.Equal(t, "Status,After,Body", eval[string](p, hidden))
	for _, choice := range []struct{ kind, hidden string }{{"slow", "Status,Body"}, {"status", "After"}} {
		eval[bool](p, fmt.Sprintf(`((field) => { field.value = %q; return field.dispatchEvent(new Event("change", { bubbles: true })) })(
			document.querySelector(".rule [name=kind]"))`, choice.kind))
		assert.Equal(t, choice.hidden, eval[string](p, hidden))
	}
	p.is(`document.querySelector(".rule [name=after]").disabled`)
}

// Under another name than localhost, browsers have no locks and no clipboard.
func TestPageUnderAnotherNameIsLiveAndHasKeys(t *testing.T) {
	b := startBox(t, "--seed", "demo", "--allow-host", otherName)
	p := openTab(t, strings.Replace(b.ui, "127.0.0.1", otherName, 1), 1280, "light")
	p.is(`!window.isSecureContext`)
	b.send("GET", "/v1/events", "")
	p.until(rowCount + ` === 1`)
	p.click(".setup summary")
	p.click(".setup [data-copy]", `getSelection().toString().includes("MESSAGING_BASE_URL")`)
	p.press("?", `location.pathname === "/help"`)
	p.requireNoErrors("Cross-Origin-Opener-Policy header has been ignored") // without HTTPS, it holds on loopback hosts alone
}

func TestAWrongTokenIsReported(t *testing.T) {
	script, token := axe(t), strings.Repeat("0123456789abcdef", 2)
	t.Setenv("MESSAGING_SANDBOX_TOKEN", token)
	b := startBox(t, "--listen", "127.0.0.1")
	p := openTab(t, "", 390, "light")
	p.do(chromedp.Navigate(b.ui + "/help"))
	p.until(`document.activeElement.name === "token"`)
	p.do(chromedp.KeyEvent("wrong"))
	p.press("Enter")
	p.until(`document.querySelector("[role=alert]")?.textContent.includes("not the token") && document.activeElement.name === "token"`)
	p.requireFitsAndIsAccessible(script)
	p.do(chromedp.KeyEvent(token))
	p.press("Enter", isLive+` && location.pathname === "/help"`)
}
