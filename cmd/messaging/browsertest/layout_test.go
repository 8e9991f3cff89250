package browsertest

import (
	"strings"
	"testing"

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
var layout = map[string][]struct {
	what   string
	widths []int64
	holds  string
}{
	"/requests/1": {
		{"an email has the width of emails, or that of a phone", []int64{375, 768, 1280, 1920},
			`box(".mail-page").width >= (innerWidth < 400 ? 320 : 680)`},
		{"an email is as high as its pane, and its frame fills it", []int64{375, 768, 1280, 1920},
			`box(".mail-page").height >= 420 && Math.abs(box(".mail-page").height - box(".mail iframe").height) < 1 &&
			box(".mail iframe").right <= box(".mail-page").right + 1`},
		{"an email that is wider than a phone is drawn smaller", []int64{375},
			`$(".mail iframe").offsetWidth === 680 && box(".mail iframe").right <= innerWidth &&
			getComputedStyle($(".mail-bar label:has(:checked)"), "::after").content.includes("counter(percent)")`},
		{"the schedule and the recipients are above the email of a phone", []int64{375}, `box(".view").top < 520 &&
			$$(".facts dt").some((e) => e.textContent === "Schedule" && e.checkVisibility() && e.getBoundingClientRect().top < box(".view").top) &&
			$("article > .sub").textContent.startsWith("to ada@example.com")`},
		{"the tabs take one line", []int64{375, 768, 1200, 1280, 1920}, `lines(".tabs > a") === 1 && !overlap(".tabs a")`},
		{"the header takes one line", []int64{1200, 1280, 1920}, `$("header").offsetHeight < 60 && $(".search input").offsetWidth > 90`},
	},
	"/requests/1?tab=again": {{"the current tab of a phone is in sight", []int64{375},
		`box("[data-tab=again]").left >= 16 && box("[data-tab=again]").right <= innerWidth - 16`}},
	"/requests/3?tab=parameters": {{"the table of parameters fits", []int64{375, 600, 768, 901}, tableFits}},
	"/requests/2": {{"the list begins at the request that is open", []int64{1280},
		`box(".row[aria-current]").bottom <= innerHeight && scrollY === 0`}},
	"/requests/3?tab=exchange": {{"request and response stand side by side where there is room", []int64{1280, 1920},
		`innerWidth < 1900 ? box(".exchange > :first-child").top < box(".exchange > :last-child").top
			: box(".exchange > :first-child").top === box(".exchange > :last-child").top`}},
	"/requests/7": {
		{"an email that adapts is as wide as the phone", []int64{375}, `$(".mail iframe").offsetWidth < 375`},
		{"the title of a phone is near the top, with the status below it", []int64{375},
			`box("article h1").top < 130 && box(".title .tag").bottom > box("article > .sub").top`},
	},
	"/requests/8": {{"a long subject fits", []int64{375, 768, 1280, 1920}, `document.documentElement.scrollWidth <= innerWidth`}},
	"/help": {{"the sections of a phone are one row", []int64{320, 375},
		`$("header").offsetHeight < 130 && lines("header nav a") === 1 && box("header nav [aria-current]").left >= 0 &&
		box("header nav [aria-current]").right <= innerWidth && box("header nav [aria-current]").height >= 36`}},
	"/": {
		{"the sections of a phone fit, with a count of faults", []int64{390, 430}, `$("[data-count=faults]").textContent &&
			lines("header nav a") === 1 && $("header nav").scrollWidth <= $("header nav").clientWidth &&
			box("header nav a:last-child").right <= innerWidth`},
		{"the sections fade where they go on", []int64{320, 375}, `$("header nav").scrollWidth > $("header nav").clientWidth &&
			getComputedStyle($("header nav")).maskImage !== "none"`},
		{"a row has room for its tags", []int64{375, 1280, 1920}, `$$("#rows .who .tag").every((e) => e.scrollWidth <= e.clientWidth) &&
			$(".row[data-number='4'] .about").offsetWidth > 90`},
		{"a row shows its tags, or counts them where it is narrow", []int64{375, 1280, 1920},
			`shown(".row[data-number='4'] .who .tag").map((e) => e.textContent).join() ===
			"skipped," + (innerWidth < 1900 ? "+1" : "duplicate?")`},
		{"titles have at most two lines", []int64{375, 768, 1280, 1920},
			`$$(".row .what").every((e) => e.getBoundingClientRect().height <= 45)`},
		{"what is worth a look is above the list of a phone, or else beside it", []int64{375, 1280}, `innerWidth < 400 ?
			$("#glance summary").checkVisibility() : !$("#glance").checkVisibility() && $("#overview").checkVisibility()`},
	},
	"/?q=has:skipped+op:trigger": {{"results are in sight below a search", []int64{375, 1280},
		`box("#rows .row").top - box("#list").top < 160`}},
	"/faults": {{"a rule fits", []int64{375, 768, 1024}, `$(".scroll:has(.rules)").scrollWidth <= $(".scroll:has(.rules)").clientWidth &&
		box(".rules button").right <= innerWidth`}},
}

const tableFits = `$(".scroll").scrollWidth <= $(".scroll").clientWidth &&
	$$(".stacked td").every((e) => e.offsetWidth >= 40 && e.getBoundingClientRect().right <= innerWidth)`

func TestTheLayoutAtEachWidth(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	b.send("POST", emailPath, email("Moved", fixedEmail))
	b.send("POST", emailPath, email("Long", strings.Repeat("<p>Hi</p>\n", 200)))
	for range 2 {
		b.send("POST", triggerPath, trigger("a.long.name@subdomain.example.com", strings.Repeat("tomorrow", 20)))
	}
	b.send("POST", triggerPath, trigger("ada@example.com", "2026-12-01T09:00:00Z"))
	b.send("GET", "/v1/customers/5eed0000-0000-4000-8000-000000000001/devices/last", "")
	b.send("POST", emailPath, email("Adapts", "<p>Hi</p>"))
	for _, subject := range []string{strings.Repeat("A long subject without an end ", 20), strings.Repeat("Donaudampfschifffahrt", 20),
		"مرحبا بالعالم 123 (ABC)", "Invoice \u202egnp.exe", "שלום 100%", "<b>bold</b>"} {
		require.Equal(t, 200, b.send("POST", emailPath, email(subject, "<p>Hi</p>")))
	}
	b.control("POST", "/api/faults", `{"op":"trigger event","skip":2,"count":3,"fault":{"kind":"rate_limited","after":"7s"}}`)
	p := openTab(t, b.ui, 1280, "light")
	for path, checks := range layout {
		p.resize(checks[0].widths[0])
		p.show(b.ui + path)
		for _, check := range checks {
			for _, width := range check.widths {
				p.resize(width)
				holds := eval[bool](p, "(() => {"+helpers+" return Boolean("+check.holds+") })()")
				assert.True(t, holds, "%s, at %d px", check.what, width)
			}
		}
	}
	const places = `JSON.stringify([...document.querySelectorAll("header nav a, .tabs a")].map((e) => {
		const { x, y } = e.getBoundingClientRect(); return [x, y]; }))`
	for _, width := range []int64{768, 1280} {
		p.resize(width)
		p.show(b.ui + "/requests/1")
		before := eval[string](p, places)
		for _, tab := range []string{"source", "exchange", "again"} {
			p.click("[data-tab="+tab+"]", `document.querySelector("[data-tab=`+tab+`][aria-current]")`)
			assert.Equal(t, before, eval[string](p, places), "tabs and sections stay where they are: %s at %d px", tab, width)
		}
	}
}
