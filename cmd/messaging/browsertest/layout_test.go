package browsertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fixedEmail is as wide as emails usually are, and does not adapt to a narrower window.
const fixedEmail = `<div style="padding: 26px"><table width="600"><tr><td>Hi {{nme}}</td></tr></table></div>` +
	`<img src='https://acme.test/a.png'><form><a href='http://acme.test'>look</a></form>`

// helpers are functions for the expressions of the layout.
const helpers = `
	const $ = (s) => document.querySelector(s), $$ = (s) => [...document.querySelectorAll(s)], box = (s) => $(s).getBoundingClientRect();
	const shown = (s) => $$(s).filter((e) => e.checkVisibility());
	const lines = (s) => new Set($$(s).map((e) => e.offsetTop)).size;
	const overlap = (s) => shown(s).some((a, i, all) => all.slice(i + 1).some((b) => {
		const p = a.getBoundingClientRect(), q = b.getBoundingClientRect();
		return !a.contains(b) && p.left < q.right - 1 && q.left < p.right - 1 && p.top < q.bottom - 1 && q.top < p.bottom - 1;
	}));`

// layout are expressions that hold for a page at some widths.
var layout = []struct {
	what, path string
	widths     []int64
	holds      string
}{
	{"an email has the width of emails", "/requests/1", []int64{1280, 1440, 1920, 768}, `box(".mail-page").width >= 680`},
	{"an email has the width of a phone", "/requests/1", []int64{375, 390}, `box(".mail-page").width >= 320`},
	{"an email is as high as its pane, and its frame fills it", "/requests/1", []int64{375, 768, 1280, 1920},
		`box(".mail-page").height >= 420 && Math.abs(box(".mail-page").height - box(".mail iframe").height) < 1 &&
		box(".mail iframe").right <= box(".mail-page").right + 1`},
	{"only the email is scrolled", "/requests/1", []int64{1280, 1920}, `$("#detail").scrollHeight <= $("#detail").clientHeight`},
	{"an email that is wider than a phone is drawn smaller", "/requests/1", []int64{375},
		`$(".mail iframe").offsetWidth === 680 && box(".mail iframe").right <= innerWidth &&
		getComputedStyle($(".mail-bar label:has(:checked)"), "::after").content.includes("counter(percent)")`},
	{"an email that adapts is as wide as the phone", "/requests/7", []int64{375}, `$(".mail iframe").offsetWidth < 375`},
	{"the schedule and the recipients are above the email of a phone", "/requests/1", []int64{375, 390}, `box(".view").top < 520 &&
		$$(".facts dt").some((e) => e.textContent === "Schedule" && e.checkVisibility() && e.getBoundingClientRect().top < box(".view").top) &&
		$("article > .sub").textContent.startsWith("To ada@example.com")`},
	{"the title of a phone is near the top, with the status below it", "/requests/7", []int64{375, 390},
		`box("article h1").top < 130 && box(".title .tag").bottom > box("article > .sub").top`},
	{"a note of a phone has all of its lines", "/requests/1", []int64{390},
		`$(".note").offsetHeight > 50 && $(".note").scrollWidth <= $(".note").clientWidth`},
	{"the tabs take one line", "/requests/1", []int64{390, 768, 1200, 1280, 1920}, `lines(".tabs > a") === 1 && !overlap(".tabs a")`},
	{"the current tab of a phone is in sight", "/requests/1?tab=replay", []int64{375, 390},
		`box("[data-tab=replay]").left >= 16 && box("[data-tab=replay]").right <= innerWidth - 16`},
	{"the sections of a phone are one row that scrolls", "/help", []int64{375, 390},
		`$("header").offsetHeight < 130 && lines("header nav a") === 1 && box("header nav [aria-current]").left >= 0 &&
		box("header nav [aria-current]").right <= innerWidth && box("header nav [aria-current]").height >= 36`},
	{"the header takes one line", "/requests/1", []int64{1200, 1280, 1920},
		`$("header").offsetHeight < 60 && $(".search input").offsetWidth > 90`},
	{"a row shows an operation in full or not at all", "/", []int64{390, 901, 1280, 1920}, `shown("#rows .op").every((e) => {
		const op = e.getBoundingClientRect(), about = e.parentNode.getBoundingClientRect();
		return op.top >= about.bottom - 4 || op.right <= about.right + 1; })`},
	{"a row has room for its tags", "/", []int64{390, 1280, 1920}, `$$("#rows .who .tag").every((e) => e.scrollWidth <= e.clientWidth) &&
		$(".row[data-number='4'] .about").offsetWidth > 90`},
	{"a narrow row counts its tags", "/", []int64{390, 1280},
		`shown(".row[data-number='4'] .who .tag").map((e) => e.textContent).join() === "1 skipped,+1"`},
	{"a wide row shows its tags", "/", []int64{1920},
		`shown(".row[data-number='4'] .who .tag").map((e) => e.textContent).join() === "1 skipped,duplicate?"`},
	{"the status of a row is at its edge", "/?q=fault:slow", []int64{1280, 1920},
		`Math.abs(box(".row").right - box(".row .head .tag").right - 18) < 3 && $(".row .ended").checkVisibility()`},
	{"the status of a row of the faults is at its edge", "/faults", []int64{1280, 1920},
		`Math.abs(box(".row").right - box(".row .head .tag").right - 18) < 3`},
	{"titles have at most two lines", "/", []int64{390, 768, 1280, 1920},
		`$$(".row .what").every((e) => e.getBoundingClientRect().height <= 45)`},
	{"a long subject fits", "/requests/8", []int64{390, 768, 1280, 1920},
		`document.documentElement.scrollWidth <= innerWidth`},
	{"no word of a filter is broken", "/?q=op:%22trigger+event%22+delivery:accepted", []int64{1280}, `((e) => {
		const r = new Range(); r.selectNodeContents(e); return r.getClientRects().length === 1 })($(".list-bar > a"))`},
	{"results are in sight below a search", "/?q=has:skipped+op:trigger", []int64{390, 1280},
		`box("#rows .row").top - box("#list").top < 160`},
	{"a rule fits", "/faults", []int64{390, 768, 1024}, `$(".scroll:has(.rules)").scrollWidth <= $(".scroll:has(.rules)").clientWidth &&
		box(".rules button").right <= innerWidth`},
	{"the table of parameters fits", "/requests/3?tab=parameters", []int64{390, 600, 768, 901},
		`$(".scroll").scrollWidth <= $(".scroll").clientWidth &&
		$$(".stacked td").every((e) => e.offsetWidth >= 40 && e.getBoundingClientRect().right <= innerWidth)`},
	{"the table of the check fits", "/requests/1?tab=check", []int64{390, 600, 768, 901},
		`$(".scroll").scrollWidth <= $(".scroll").clientWidth &&
		$$(".stacked td").every((e) => e.offsetWidth >= 40 && e.getBoundingClientRect().right <= innerWidth)`},
	{"request and response stand one below the other", "/requests/3?tab=exchange", []int64{1280},
		`box(".exchange > :first-child").top < box(".exchange > :last-child").top`},
	{"request and response stand side by side", "/requests/3?tab=exchange", []int64{1920},
		`box(".exchange > :first-child").top === box(".exchange > :last-child").top`},
	{"the button below a long text covers nothing", "/requests/2?tab=replay", []int64{390, 1280}, `((bar) => {
		const { left, top, right, bottom } = bar.getBoundingClientRect();
		return getComputedStyle(bar).backgroundColor !== "rgba(0, 0, 0, 0)" && bottom <= innerHeight &&
			[[left + 2, top + 2], [right - 2, bottom - 2]].every(([x, y]) => bar.contains(document.elementFromPoint(x, y)));
		})($(".replay .bar")) && !overlap(".replay .bar button, .replay .bar label")`},
	{"what is worth a look is above the list of a phone", "/", []int64{390}, `$("#glance summary").checkVisibility()`},
	{"what is worth a look is beside the list", "/", []int64{1280}, `!$("#glance").checkVisibility() && $("#overview").checkVisibility()`},
	{"the list begins at the request that is open", "/requests/2", []int64{1280},
		`box(".row[aria-current]").bottom <= innerHeight && scrollY === 0`},
}

func TestTheLayoutAtEachWidth(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	b.send("POST", emailPath, email(t, "Moved", fixedEmail))
	b.send("POST", emailPath, email(t, "Long", strings.Repeat("<p>Hi</p>\n", 200)))
	b.send("POST", triggerPath, trigger("a.long.name@subdomain.example.com", strings.Repeat("tomorrow", 20)))
	b.send("POST", triggerPath, trigger("a.long.name@subdomain.example.com", strings.Repeat("tomorrow", 20)))
	b.control("POST", "/api/faults", `{"count":1,"fault":{"kind":"slow","after":"60ms"}}`)
	b.send("POST", triggerPath, trigger("ada@example.com", "2026-12-01T09:00:00Z"))
	b.send("GET", "/v1/customers/5eed0000-0000-4000-8000-000000000001/devices/last", "")
	b.send("POST", emailPath, email(t, "Adapts", "<p>Hi</p>"))
	for _, subject := range []string{strings.Repeat("A long subject without an end ", 20), strings.Repeat("Donaudampfschifffahrt", 20),
		"مرحبا بالعالم 123 (ABC)", "Invoice \u202egnp.exe", "שלום 100%", "<b>bold</b>"} {
		require.Equal(t, 200, b.send("POST", emailPath, email(t, subject, "<p>Hi</p>")))
	}
	b.control("POST", "/api/faults", `{"op":"trigger event","skip":2,"count":3,"fault":{"kind":"rate_limited","after":"7s"}}`)
	p := openTab(t, b.ui+"/help", 1280, "light")
	for _, width := range []int64{375, 390, 600, 768, 901, 1024, 1200, 1280, 1440, 1920} {
		p.do(chromedp.EmulateViewport(width, 800))
		for _, check := range layout {
			for _, at := range check.widths {
				if at == width {
					p.show(b.ui + check.path)
					assert.True(t, eval[bool](p, "(() => {"+helpers+" return Boolean("+check.holds+") })()"), "%s, at %d px", check.what, width)
				}
			}
		}
	}
}

func TestForcedColorsKeepTheSelectionReadable(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	b.send("POST", triggerPath, trigger("grace@example.com", "21.11.2026"))
	b.send("GET", "/v1/events", "")
	p := openTab(t, b.ui+"/requests/1", 1280, "light")
	p.emulate("forced-colors", "active")
	const color = `getComputedStyle(document.querySelector(%q)).%s`
	for selected, mark := range map[string]string{".row[aria-current]": ".tag.warn", ".tabs a[aria-current]": ".count"} {
		inside := selected + " " + mark
		assert.Equal(t, eval[string](p, fmt.Sprintf(color, selected, "color")), eval[string](p, fmt.Sprintf(color, inside, "color")), inside)
		assert.Equal(t, "rgba(0, 0, 0, 0)", eval[string](p, fmt.Sprintf(color, inside, "backgroundColor")), inside)
	}
	assert.NotEqual(t, eval[string](p, fmt.Sprintf(color, ".row[aria-current]", "backgroundColor")),
		eval[string](p, fmt.Sprintf(color, ".row:not([aria-current])", "backgroundColor")), "the selection is marked")
	p = openTab(t, b.ui+"/requests/1?tab=parameters", 390, "light")
	tree, err := chromedp.Call(p.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	require.NoError(t, err)
	headers := 0
	for _, node := range tree.Nodes {
		if node.Role != nil && string(node.Role.Value) == `"columnheader"` {
			headers++
		}
	}
	assert.Equal(t, 3, headers, "on a phone, it is still a table")
}

func TestTabsAndSectionsStayWhereTheyAre(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	b.send("POST", emailPath, email(t, "Moved", "<p>Hi {{name}}</p>"))
	for _, width := range []int64{768, 1280} {
		p := openTab(t, b.ui+"/requests/1", width, "light")
		const places = `JSON.stringify([...document.querySelectorAll("header nav a, .tabs a")].map((e) => {
			const { x, y } = e.getBoundingClientRect(); return [x, y]; }))`
		before := eval[string](p, places)
		for _, tab := range []string{"source", "check", "exchange", "copy"} {
			p.click("[data-tab=" + tab + "]")
			p.until(`document.querySelector("[data-tab=` + tab + `][aria-current]")`)
			assert.Equal(t, before, eval[string](p, places), "%s at %d px", tab, width)
		}
		p.close()
	}
}
