package browsertest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNewRowsKeepTheOpenDetail(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	b.send("GET", "/v1/events", "")
	p := openTab(t, b.ui+"/requests/1", 1280, "light")
	p.until(isLive)
	for i := range 449 {
		b.send("POST", triggerPath, trigger(fmt.Sprintf("c%d@example.com", i), "2026-12-01T09:00:00Z"))
	}
	p.until(`!document.querySelector("#new").hidden`)
	p.until(`Number.parseInt(document.querySelector("#new").textContent) + document.querySelectorAll("#rows .row").length === 450`)
	p.do(chromedp.Click(chromedp.CSS("#new")))
	p.until(`document.querySelector("#rows .row").dataset.number === "450" && document.querySelectorAll("#rows .row").length === 100`)
	assert.Equal(t, b.ui+"/requests/1", eval[string](p, `location.href`))
	assert.Equal(t, "List events", eval[string](p, `document.querySelector("#detail h1").textContent`))
	b.send("GET", "/v1/events", "")
	p.until(`document.querySelector("#rows .row").dataset.number === "451"`)
}

func TestTheOverviewFollowsNewRequestsAndLeadsToThem(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	b.send("GET", "/v1/events", "")
	p := openTab(t, b.ui, 1280, "light")
	p.until(isLive)
	p.until(`document.querySelector("#overview h1").textContent === "Nothing stands out"`)
	b.send("POST", triggerPath, trigger("ada@example.com", "1 December"))
	p.until(`document.querySelector("#overview li:has(a)")?.textContent.includes("A value was skipped")`)
	p.shoot("overview-1280-light")
	p.do(chromedp.Click(chromedp.CSS("#overview li a")))
	p.until(`location.href === "` + b.ui + `/?q=has%3Askipped" && document.querySelector("#rows .row").dataset.number === "2"`)
}

func TestAttemptsOfACallBecomeOneRow(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	p := openTab(t, b.ui, 1280, "light")
	p.until(isLive)
	b.control("POST", "/api/faults", `{"op":"trigger","count":2,"fault":{"kind":"rate_limited"}}`)
	for i := range 3 {
		b.send("POST", triggerPath, trigger("ada@example.com", "2026-12-01T09:00:00Z"))
		p.until(fmt.Sprintf(`document.querySelector("#rows > .row")?.dataset.number === "%d"`, i+1))
	}
	p.until(`document.querySelectorAll("#rows > .row").length === 1 && document.querySelectorAll("#rows .attempts a").length === 2`)
	p.shoot("attempts-1280-light")
}

func TestSingleKeysCanBeSwitchedOff(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	p := openTab(t, b.ui+"/help", 1280, "light")
	p.until(isLive)
	p.click("#shortcuts")
	p.press("f")
	p.open(b.ui)
	p.until(isLive)
	p.press("r")
	p.press("f")
	p.press("?")
	assert.Equal(t, "/", eval[string](p, `location.pathname`))
	assert.False(t, eval[bool](p, `document.querySelector("#reset").open`))
	p.open(b.ui + "/help")
	p.until(isLive + ` && !document.querySelector("#shortcuts").checked`)
	p.click("#shortcuts")
	p.press("f")
	p.until(`location.pathname === "/faults"`)
}

func TestTheThemeOfABrowserIsThatOfItsNextPage(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	p := openTab(t, b.ui+"/help", 1280, "light")
	p.until(isLive)
	const background = `getComputedStyle(document.body).backgroundColor`
	light := eval[string](p, background)
	eval[bool](p, `((theme) => { theme.value = "dark"; return theme.dispatchEvent(new Event("change", { bubbles: true })) })(
		document.querySelector("[data-setting=theme]"))`)
	p.until(background + ` !== ` + strconv.Quote(light))
	p.open(b.ui)
	p.until(isLive + ` && ` + background + ` !== ` + strconv.Quote(light))
}

func TestARequestIsReplayedFromItsPage(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	b.send("POST", triggerPath, trigger("ada@example.com", "today"))
	p := openTab(t, b.ui+"/requests/1?tab=replay", 1280, "light")
	p.until(isLive)
	p.click(".replay button")
	p.until(`location.pathname === "/requests/2" && document.querySelector("#detail").textContent.includes("This repeats request 1.")`)
	p.open(b.ui + "/requests/1?tab=replay")
	p.until(isLive)
	eval[bool](p, `(document.querySelector("textarea").value =
		document.querySelector("textarea").value.replace("today", "2026-12-01T09:00:00Z"), true)`)
	p.click("textarea")
	p.click(".replay:nth-of-type(2) button")
	p.until(`location.pathname === "/requests/3" && !document.querySelector("#detail").textContent.includes("1 skipped")`)
}

// TestHardSubjectsBreakNoRow looks at long and right-to-left subjects at every width, and at
// what is left in forced colors.
func TestHardSubjectsBreakNoRow(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	for _, subject := range []string{strings.Repeat("A long subject without an end ", 20), strings.Repeat("Donaudampfschifffahrt", 20),
		"مرحبا بالعالم 123 (ABC)", "Invoice \u202egnp.exe", "שלום 100%", "<b>bold</b>"} {
		require.Equal(t, 200, b.send("POST", emailPath, email(t, subject, "<p>Hi</p>")))
	}
	for _, width := range []int64{360, 768, 1280, 1920} {
		p := openTab(t, b.ui, width, "light")
		p.until(isLive)
		assert.LessOrEqual(t, eval[int](p, `document.documentElement.scrollWidth`), int(width))
		assert.LessOrEqual(t, eval[float64](p, `Math.max(...[...document.querySelectorAll(".row .what")].
			map((e) => e.getBoundingClientRect().height))`),
			float64(2*1.6*14), "a title has at most two lines")
		assert.True(t, eval[bool](p, `document.querySelector("header nav a").getBoundingClientRect().left >= 0`), "the first entry is in sight")
		p.shoot(fmt.Sprintf("subjects-%d-light", width))
		p.open(b.ui + "/requests/2")
		p.until(isLive)
		assert.LessOrEqual(t, eval[int](p, `document.documentElement.scrollWidth`), int(width))
		_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "forced-colors", Value: "active"}}})
		require.NoError(t, err)
		if width > 900 { // otherwise the list is not shown beside the detail
			assert.NotEqual(t, eval[string](p, `getComputedStyle(document.querySelector(".row[aria-current]")).backgroundColor`),
				eval[string](p, `getComputedStyle(document.querySelector(".row:not([aria-current])")).backgroundColor`), "the selection is marked")
		}
		p.shoot(fmt.Sprintf("subjects-%d-forced", width))
		p.close()
	}
}

func TestForcedColorsKeepTheSelectionReadable(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	b.send("POST", triggerPath, trigger("grace@example.com", "21.11.2026"))
	p := openTab(t, b.ui+"/requests/1", 1280, "light")
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "forced-colors", Value: "active"}}})
	require.NoError(t, err)
	p.until(isLive)
	const color = `getComputedStyle(document.querySelector(%q)).%s`
	for selected, mark := range map[string]string{".row[aria-current]": ".tag.warn", ".tabs a[aria-current]": ".count"} {
		inside := selected + " " + mark
		assert.Equal(t, eval[string](p, fmt.Sprintf(color, selected, "color")), eval[string](p, fmt.Sprintf(color, inside, "color")), inside)
		assert.Equal(t, "rgba(0, 0, 0, 0)", eval[string](p, fmt.Sprintf(color, inside, "backgroundColor")), inside)
	}
}

func TestAPhoneHasItsSectionsInOneRowThatScrolls(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	p := openTab(t, b.ui+"/help", 360, "light")
	p.until(isLive)
	assert.Less(t, eval[int](p, `document.querySelector("header").offsetHeight`), 130)
	assert.True(t, eval[bool](p, `(({ left, right, height }) => left >= 0 && right <= innerWidth && height >= 36)(
		document.querySelector("header nav [aria-current]").getBoundingClientRect())`), "the current one is in sight")
	assert.Equal(t, 1, eval[int](p, `new Set([...document.querySelectorAll("header nav a")].map((a) => a.offsetTop)).size`), "in one row")
	b.control("POST", "/api/faults", `{"fault":{"kind":"answer_lost"},"count":1}`)
	p.until(`document.querySelector("[data-count=faults]").checkVisibility()`)
}

func TestAPhoneHasWhatIsWorthALookAboveTheList(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	p := openTab(t, b.ui+"/", 360, "light")
	p.until(isLive)
	const shown = `getComputedStyle(document.querySelector("#glance")).display`
	b.send("GET", "/v1/events", "")
	p.until(`document.querySelector("#glance")?.hidden`)
	assert.Equal(t, "none", eval[string](p, shown), "nothing stands out")
	b.send("POST", "/v1/triggers", "{}")
	b.send("GET", "/v1/event", "")
	p.until(`document.querySelector("#glance summary").textContent === "1 worth a look"`)
	p.click("#glance summary")
	b.send("POST", triggerPath, trigger("grace@example.com", "21.11.2026"))
	p.until(`document.querySelectorAll("#glance[open] li:has(a)").length === 2`)
	p.click("#glance li a")
	p.until(`location.search === "?q=has%3Askipped"`)
	wide := openTab(t, b.ui, 1280, "light")
	wide.until(isLive)
	assert.Equal(t, "none", eval[string](wide, shown), "the overview is beside the list")
}

func TestTheHeaderAndTheTabsTakeOneLineEach(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	for range 12 {
		b.send("POST", emailPath, email(t, "Moved", "<p>Hi</p><img src='https://acme.test/a.png'>"))
	}
	for _, width := range []int64{768, 1181, 1200, 1280} {
		p := openTab(t, b.ui+"/requests/1", width, "light")
		p.until(isLive)
		assert.Equal(t, 1, eval[int](p, `new Set([...document.querySelectorAll(".tabs > a")].map((e) => e.offsetTop)).size`), width)
		if width > 1180 {
			assert.Less(t, eval[int](p, `document.querySelector("header").offsetHeight`), 60, width)
			assert.Greater(t, eval[int](p, `document.querySelector(".search input").offsetWidth`), 90, width)
		}
		p.close()
	}
}

// Without it, the tab key would pass a hundred rows before it reaches the request.
func TestEnterGoesIntoTheRequest(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	b.send("GET", "/v1/events", "")
	b.send("GET", "/v1/events", "")
	for _, width := range []int64{360, 1280} {
		p := openTab(t, b.ui, width, "light")
		p.until(isLive)
		eval[bool](p, `(document.querySelector("#rows .row").focus(), true)`)
		p.press("Enter")
		p.until(`location.pathname === "/requests/2" && document.activeElement.id === "detail"`)
		p.press("Escape")
		p.until(`location.pathname === "/" && document.activeElement.dataset.number === "2"`)
		p.close()
	}
}

func TestAnOutageLeavesRoomForTheSearchOnAPhone(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	b.control("POST", "/api/outage", `{"for":"30s"}`)
	p := openTab(t, b.ui, 360, "light")
	p.until(isLive)
	assert.Greater(t, eval[int](p, `document.querySelector(".search input").offsetWidth`), 110)
	assert.Less(t, eval[int](p, `document.querySelector("header").offsetHeight`), 130)
}

func TestTheListBeginsAtTheRequestThatIsOpen(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	for i := range 30 {
		b.send("POST", triggerPath, trigger(fmt.Sprintf("c%d@example.com", i), "2026-12-01T09:00:00Z"))
	}
	p := openTab(t, b.ui+"/requests/2", 1280, "light")
	p.until(isLive)
	p.until(`document.querySelector(".row[aria-current]").getBoundingClientRect().bottom <= innerHeight`)
	p.open(b.ui + "/requests/15")
	p.until(isLive)
	assert.InDelta(t, 400, eval[float64](p, `document.querySelector(".row[aria-current]").getBoundingClientRect().top`), 100, "in the middle")
	assert.Zero(t, eval[int](p, `scrollY`), "only the list is scrolled")
}

func TestTheSearchOffersWhatCanFollowTheTermsBefore(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	p := openTab(t, b.ui, 1280, "light")
	p.until(isLive)
	const options = `[...document.querySelectorAll("#suggestions option")].map((o) => o.value).filter((v) => v.includes("has:sk")).join("; ")`
	assert.Equal(t, "has:skipped", eval[string](p, options))
	p.edit("[name=q]", "ada op:email has:sk")
	assert.Equal(t, "ada op:email has:skipped", eval[string](p, options))
}

func TestResultsAreInSightBelowASearch(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	b.send("POST", triggerPath, trigger("ada@example.com", "today"))
	for _, width := range []int64{360, 1280} {
		p := openTab(t, b.ui+"/?q=has:skipped+op:trigger", width, "light")
		p.until(isLive)
		const top = `document.querySelector(%q).getBoundingClientRect().top`
		assert.Less(t, eval[float64](p, fmt.Sprintf(top+" - "+top, "#rows .row", "#list")), 160.0)
		p.click("#list .list-bar .chip")
		p.until(`location.search === "?q=op%3Atrigger"`)
		p.close()
	}
}

func TestADetailOnAPhoneBeginsNearTheTop(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	b.send("POST", emailPath, email(t, "Moved", "<p>Hi</p>"))
	p := openTab(t, b.ui+"/requests/1", 360, "light")
	p.until(isLive)
	assert.Less(t, eval[float64](p, `document.querySelector("article h1").getBoundingClientRect().top`), 130.0)
	p.click(".back")
	p.until(`document.querySelector("header nav").checkVisibility()`)
}

func TestARequestWithManyNotesBeginsAtItsTitleOnAPhone(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	b.control("POST", "/api/faults", `{"op":"trigger event","count":4,"fault":{"kind":"status","status":502}}`)
	for range 6 {
		b.send("POST", triggerPath, trigger("ada@example.com", "today"))
	}
	p := openTab(t, b.ui, 360, "light")
	p.do(chromedp.EmulateViewport(360, 380))
	p.open(b.ui + "/requests/6?tab=replay")
	p.until(isLive)
	assert.Greater(t, eval[float64](p, `document.querySelector(".tabs").getBoundingClientRect().bottom`), 380.0, "they are below the page")
	assert.Zero(t, eval[float64](p, `scrollY`))
	assert.Less(t, eval[float64](p, `document.querySelector(".actions [aria-current]").getBoundingClientRect().right`), 361.0)
}
