package browsertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const draft = `document.querySelector("textarea[name=body]").value`

func TestADraftOfAReplaySurvivesAReload(t *testing.T) {
	b := startBoxWithRows(t)
	p := openTab(t, b.ui+"/requests/9?tab=replay", 1280, "light")
	p.until(isLive)
	eval[bool](p, `((area) => { area.value = "{}"; return area.dispatchEvent(new Event("input")) })(
		document.querySelector("textarea[name=body]"))`)
	p.press("j")
	p.until(`location.pathname === "/requests/8" && ` + draft + ` !== "{}"`)
	p.press("k")
	p.until(`location.pathname === "/requests/9" && ` + draft + ` === "{}"`)
	eval[bool](p, `(window.left = true, location.reload(), true)`)
	p.until(`!window.left && ` + isLive + ` && ` + draft + ` === "{}"`)
	const warning = `document.querySelector("#draft-problem").textContent`
	p.until(warning + ` === ""`)
	eval[bool](p, `((area) => { area.value = "{bad"; return area.dispatchEvent(new Event("input")) })(
		document.querySelector("textarea[name=body]"))`)
	p.until(warning + `.startsWith("This is not JSON: ") && !document.querySelector("#draft-problem").hidden`)
	p.click(`form.replay:has(textarea) button`)
	p.until(`location.pathname !== "/requests/9"`)
	p = openTab(t, b.ui+"/requests/9?tab=replay", 1280, "light")
	p.until(isLive + ` && ` + draft + ` !== "{}"`)
}

// edit types into a field of the page.
func (p *tab) edit(selector, text string) {
	p.t.Helper()
	eval[bool](p, fmt.Sprintf(`((field) => { field.value = %q; return field.dispatchEvent(new Event("input")) })(
		document.querySelector(%q))`, text, selector))
}

func TestAMessageIsEditedWithoutItsJSON(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	b.send("POST", emailPath, email(t, "Moved", "<p>One</p>\n<p>\"Two\"</p>"))
	p := openTab(t, b.ui+"/requests/1?tab=replay", 1280, "light")
	p.until(isLive)
	const message = `document.querySelector("textarea[name=message]")`
	assert.Equal(t, "<p>One</p>\n<p>\"Two\"</p>", eval[string](p, message+`.value`))
	assert.Greater(t, eval[int](p, message+`.offsetHeight`), 290)
	assert.False(t, eval[bool](p, `document.querySelector(".replay textarea[name=body]").checkVisibility()`))
	p.edit("[name=message]", "<p>Three</p>\n")
	p.edit("[name=body]", "{}")
	eval[bool](p, `(window.left = true, location.reload(), true)`)
	p.until(`!window.left && ` + isLive + ` && ` + message + `.value === "<p>Three</p>\n"`)
	assert.True(t, eval[bool](p, `document.querySelector("details:has(textarea)").open`), "what was typed is in sight")
	p.click(".replay:has([name=message]) button")
	p.until(`location.pathname === "/requests/2"`)
	assert.Equal(t, strings.Replace(email(t, "Moved", "X"), `"X"`, `"<p>Three</p>\n"`, 1), b.control("GET", "/api/requests/2/body", ""))
}

const replayButtons = `[...document.querySelectorAll(".replay button")].filter((button) => button.checkVisibility()).map((button) =>
	(button.className === "primary" ? "*" : "") + button.textContent).join("; ")`

func TestOneButtonOfAReplayIsPrimaryAndTheOthersSayThatTheySendNoEdits(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	b.send("POST", emailPath, email(t, "Moved", "<p>Hi</p>"))
	p := openTab(t, b.ui+"/requests/1?tab=replay", 1280, "light")
	p.until(isLive)
	const unedited = `*Resend unchanged; Send the edited message`
	const original = `Send the original again, without your edits; `
	assert.Equal(t, unedited, eval[string](p, replayButtons))
	p.edit("[name=subject]", "Changed")
	assert.Equal(t, original+`*Send the edited message`, eval[string](p, replayButtons))
	p.edit("[name=subject]", "Moved")
	assert.Equal(t, unedited, eval[string](p, replayButtons))
	p.edit("[name=message]", "<p>Ho</p>")
	eval[bool](p, `(document.querySelector("details:has(textarea)").open = true)`)
	p.edit("[name=body]", "{}")
	assert.Equal(t, original+`Send the edited message; *Send the edited body`, eval[string](p, replayButtons), "the last one")
	p.edit("[name=message]", "<p>Hi</p>")
	assert.Equal(t, original+`Send the edited message; *Send the edited body`, eval[string](p, replayButtons))
	eval[bool](p, `(window.left = true, location.reload(), true)`)
	p.until(`!window.left && ` + isLive)
	assert.Equal(t, original+`Send the edited message; *Send the edited body`, eval[string](p, replayButtons), "a draft is an edit")
	p.edit("[name=body]", "[]")
	p.click(".replay button")
	p.until(`location.pathname === "/requests/2"`)
	assert.Contains(t, b.control("GET", "/api/requests/2/body", ""), `"Moved"`)
}

func TestAKeySendsWhatIsEditedAndTheFocusGoesToTheResult(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	b.send("POST", emailPath, email(t, "Moved", "<p>Hi</p>"))
	p := openTab(t, "about:blank", 1280, "light")
	for i, try := range []struct {
		field    string
		modifier int64
	}{{"[name=subject]", 2}, {"[name=message]", 2}, {"[name=message]", 4}} { // Ctrl and Cmd
		p.open(b.ui + "/requests/1?tab=replay")
		p.until(isLive)
		p.edit(try.field, "Edited")
		eval[bool](p, fmt.Sprintf(`(document.querySelector(%q).focus(), true)`, try.field))
		_, err := chromedp.Call(p.ctx, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown,
			Key: "Enter", Text: "\r", WindowsVirtualKeyCode: 13, Modifiers: try.modifier})
		require.NoError(t, err)
		p.until(fmt.Sprintf(`location.pathname === "/requests/%d" && %s`, 2+i, isLive))
		assert.Equal(t, "detail", eval[string](p, `document.activeElement.id`))
		assert.Contains(t, b.control("GET", fmt.Sprintf("/api/requests/%d/body", 2+i), ""), `"Edited"`)
	}
	p.open(b.ui + "/requests/1?tab=replay")
	p.until(isLive)
	p.click(".replay button")
	p.until(`location.pathname === "/requests/5" && document.activeElement.id === "detail"`)
}

func TestABodyIsCopiedAsJSONWithoutWhatThePageSaysAboutIt(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	b.send("POST", triggerPath, trigger("ada@example.com", "today"))
	p := openTab(t, b.ui+"/requests/1?tab=exchange", 1280, "light")
	p.until(isLive + ` && document.querySelector(".json em")`)
	eval[bool](p, `(navigator.clipboard.writeText = async (text) => { window.copied = text }, true)`)
	p.click(".exchange [data-copy]")
	p.until(`window.copied`)
	assert.Equal(t, "today", eval[string](p, `JSON.parse(window.copied).payload.shipped_at`))
	eval[bool](p, `(getSelection().selectAllChildren(document.querySelector(".json")), true)`)
	assert.NotContains(t, eval[string](p, `getSelection().toString()`), "\n\n")
}

func TestTheSourceOfAnEmailIsCopiedAsItWasAndTheCheckLeadsToItsLine(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	message := "<div>\n\n" + strings.Repeat("<p>Hi</p><p> there</p>\n", 60) + "<p><a href='http://acme.test'>look</a></p>\n</div>\n"
	b.send("POST", emailPath, email(t, "Moved", message))
	p := openTab(t, b.ui+"/requests/1?tab=source", 1280, "light")
	p.until(isLive)
	eval[bool](p, `(navigator.clipboard.writeText = async (text) => { window.copied = text }, true)`)
	p.click(".source [data-copy]")
	p.until(`window.copied`)
	assert.Equal(t, message, eval[string](p, `window.copied`))

	p = openTab(t, b.ui+"/requests/1?tab=check", 1280, "light")
	p.until(isLive)
	p.click(`td a[href*="#L"]`)
	p.until(`document.querySelector(":target")?.textContent.includes("http://acme.test")`)
	assert.True(t, eval[bool](p, `(({ top, bottom }) => top > 0 && bottom < innerHeight)(
		document.querySelector(":target").getBoundingClientRect())`))
}

func TestEachKeyMovesExactlyOneRowHoweverFastItIsPressed(t *testing.T) {
	b := startBoxWithRows(t)
	p := openTab(t, b.ui+"/requests/40", 1280, "light")
	p.until(isLive)
	for range 12 {
		p.press("j")
	}
	p.until(`location.pathname === "/requests/28"`)
	b.send("POST", triggerPath, trigger("new@example.com", "2026-12-01T09:00:00Z"))
	p.until(`document.querySelector('.row[data-number="41"]')`)
	for range 3 {
		p.press("k")
	}
	p.until(`location.pathname === "/requests/31" && document.querySelectorAll("#rows > [aria-current]").length === 1`)
	assert.Equal(t, "31", eval[string](p, `document.querySelector("#rows > [aria-current]").dataset.number`))
}

func TestAPhoneShowsTheTabsInOneLineWithTheCurrentOneInSight(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	b.send("POST", emailPath, email(t, "Moved", "<p>Hi</p>"))
	for _, name := range []string{"preview", "replay", "check"} {
		p := openTab(t, b.ui+"/requests/1?tab="+name, 360, "light")
		p.until(`document.querySelector(".tabs a").getBoundingClientRect().top ===
			document.querySelector(".tabs a:last-child").getBoundingClientRect().top`)
		p.until(fmt.Sprintf(`(({ left, right }) => left >= 16 && right <= innerWidth - 16)(
			document.querySelector("[data-tab=%s]").getBoundingClientRect())`, name))
		assert.Equal(t, 360.0, eval[float64](p, `document.documentElement.scrollWidth`))
	}
}

func TestAPhoneHasTheWayToTheNextRequest(t *testing.T) {
	b := startBoxWithRows(t)
	p := openTab(t, b.ui, 360, "light")
	p.until(isLive)
	p.click(`.row[data-number="40"]`)
	p.until(`location.pathname === "/requests/40" && ` + detailIsShown)
	p.click(`[data-step="1"]`)
	p.until(`location.pathname === "/requests/39" && ` + detailIsShown)
	p.click(`[data-step="-1"]`)
	p.until(`location.pathname === "/requests/40"`)
	p.click(".back")
	p.until(`location.pathname === "/" && ` + listIsShown)
}

func TestEscapeClearsASearch(t *testing.T) {
	b := startBoxWithRows(t)
	p := openTab(t, b.ui+"/?q=c7%40example.com", 1280, "light")
	p.until(isLive + ` && document.querySelectorAll("#rows > .row").length === 1`)
	p.click(`.row`)
	p.until(`document.querySelector(".has-detail")`)
	p.press("Escape")
	p.until(`location.search === "?q=c7%40example.com" && !document.querySelector(".has-detail")`)
	p.press("Escape")
	p.until(`location.search === "" && document.querySelectorAll("#rows > .row").length > 1`)
}

func TestWhatIsSearchedForIsHighlightedInTheDetail(t *testing.T) {
	b := startBoxWithRows(t)
	p := openTab(t, b.ui+"/requests/8?tab=exchange&q=C7%40example", 1280, "light")
	p.until(isLive + ` && CSS.highlights.get("search").size > 0`)
	assert.Equal(t, "c7@example", eval[string](p, `[...CSS.highlights.get("search")][0].toString()`))
}

const visibleLines = `[...document.querySelectorAll(".exchange > :first-child .line")].filter(line => line.offsetHeight > 0).length`

func TestTheLinesOfAValueAreFolded(t *testing.T) {
	b := startBoxWithRows(t)
	p := openTab(t, b.ui+"/requests/8?tab=exchange", 1280, "light")
	p.until(isLive)
	all := eval[int](p, visibleLines)
	p.click(`.line[data-depth="1"][data-opens] .fold`)
	p.until(fmt.Sprintf("%s < %d", visibleLines, all))
	p.click(`.line[data-depth="0"][data-opens] .fold`)
	p.until(visibleLines + ` === 2`)
	p.click(`.line[data-depth="0"][data-opens] .fold`)
	p.until(`document.querySelector(".line[data-depth='1'] .fold").offsetHeight > 0`)
	assert.Less(t, eval[int](p, visibleLines), all, "what was folded within stays so")
	p.click(`.line[data-depth="1"][data-opens] .fold`)
	assert.Equal(t, all, eval[int](p, visibleLines))
}

func TestRequestAndResponseStandSideBySideOnAWideScreen(t *testing.T) {
	b := startBoxWithRows(t)
	for width, beside := range map[int64]bool{1280: false, 1920: true} {
		p := openTab(t, b.ui+"/requests/8?tab=exchange", width, "light")
		p.until(isLive)
		assert.Equal(t, beside, eval[bool](p, `((a, b) => a.getBoundingClientRect().top === b.getBoundingClientRect().top)(
			...document.querySelectorAll(".exchange > *"))`), width)
	}
}

func TestTheButtonBelowALongTextCoversNothing(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	b.send("POST", emailPath, email(t, "Moved", strings.Repeat("<p>Hi</p>\n", 200)))
	for _, width := range []int64{360, 1280} {
		p := openTab(t, b.ui+"/requests/1?tab=replay", width, "light")
		p.until(isLive)
		assert.Empty(t, eval[string](p, `(() => {
			const bar = document.querySelector(".replay .bar"), { left, top, right, bottom } = bar.getBoundingClientRect();
			const at = (x, y) => document.elementFromPoint(x, y), opaque = getComputedStyle(bar).backgroundColor !== "rgba(0, 0, 0, 0)";
			const inside = [[left + 2, top + 2], [right - 2, bottom - 2], [(left + right) / 2, top + 2]].every(([x, y]) => bar.contains(at(x, y)));
			return (opaque ? "" : "transparent ") + (inside ? "" : "covered ") + (bottom <= innerHeight ? "" : "out of sight");
		})()`), width)
		assert.Empty(t, eval[string](p, overlaps(".replay .bar button, .replay .bar label")))
		p.close()
	}
}
