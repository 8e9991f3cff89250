package browsertest

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
)

const (
	listIsShown   = `document.querySelector("#list").offsetHeight > 0 && document.querySelector("#detail").offsetHeight === 0`
	detailIsShown = `document.querySelector("#list").offsetHeight === 0 && document.querySelector("#detail").offsetHeight > 0`
)

// at is the expression for a page that is live.
func at(path string) string {
	return isLive + fmt.Sprintf(` && location.pathname + location.search === %q`, path)
}

func TestKeyboardAloneIsEnough(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	sendSome(t, b)
	p := openTab(t, b.ui, 1280, "light")
	p.press("j", at("/requests/14"))
	for number := 13; number >= 10; number-- {
		p.press("j")
		p.until(at(fmt.Sprintf("/requests/%d", number)) +
			fmt.Sprintf(` && document.querySelector(".row[aria-current]").dataset.number === "%d"`, number))
	}
	p.until(`document.querySelector("#detail h1").textContent === "We have moved"`)
	p.press("Enter", `document.activeElement.id === "detail"`) // into the request: the tab key need not pass a hundred rows
	p.press("k", at("/requests/11"))
	p.press("]", at("/requests/11?tab=exchange"))
	p.press("j", at("/requests/10?tab=exchange")+` && document.querySelector(".tabs [aria-current]").dataset.tab === "exchange"`)
	p.press("]", at("/requests/10?tab=again")+` && document.querySelector(".actions [aria-current]")?.dataset.tab === "again"`)
	p.press("Escape", at("/requests/10?tab=preview")) // leads to the request, and not to the list
	p.press("]", at("/requests/10?tab=source"))
	p.press("[", at("/requests/10?tab=preview"))

	p.press("/", `document.activeElement.name === "q"`)
	p.do(chromedp.KeyEvent("has:skipped"))
	p.press("Enter", at("/?q=has%3Askipped")+` && `+rowCount+` === 1`)
	p.press("j", at("/requests/9?q=has%3Askipped"))
	p.until(`document.querySelector("tr.skipped").textContent.includes("21.11.2026")`)
	p.press("Escape", at("/?q=has%3Askipped")+` && document.activeElement.dataset.number === "9" && !document.querySelector(".has-detail")`)
	p.press("Escape", at("/")+` && `+rowCount+` > 1`)

	p.press("f", at("/faults"))
	p.do(chromedp.Focus(chromedp.CSS(`[name=preset]`)))
	p.press("Enter")
	p.until(at("/faults") + ` && document.querySelectorAll("#live-part tbody tr").length === 1 &&
		document.activeElement.id === "live-part"`)
	assert.Zero(t, b.send("POST", triggerPath, trigger("ada@example.com", "2026-12-01T09:00:00Z")), "the response is lost")
	p.until(`document.querySelector("#live-part").textContent.includes("every request is served")`)

	p.press("r", `document.querySelector("#reset").open && document.activeElement.textContent === "Cancel"`)
	for _, cancel := range []string{"Escape", "Enter"} {
		p.press(cancel, `!document.querySelector("#reset").open`)
		p.press("r", `document.activeElement.textContent === "Cancel"`)
	}
	p.do(chromedp.Focus(chromedp.CSS(`#reset [value=history]`)))
	p.press("Enter", at("/")+` && `+rowCount+` === 0`)
	p.press("?", at("/help"))
	p.requireNoErrors("^$") // such as what the policy of the page blocks
}

// TestTheSettingsOfABrowserStay has the theme and the shortcuts.
func TestTheSettingsOfABrowserStay(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	p := openTab(t, b.ui+"/help", 1280, "light")
	const background = `getComputedStyle(document.body).backgroundColor`
	light := eval[string](p, background)
	eval[bool](p, `((theme) => { theme.value = "dark"; return theme.dispatchEvent(new Event("change", { bubbles: true })) })(
		document.querySelector("[data-setting=theme]"))`)
	p.until(background + ` !== ` + strconv.Quote(light))
	p.click("#shortcuts")
	p.press("f")
	p.show(b.ui)
	p.is(background + ` !== ` + strconv.Quote(light))
	for _, key := range []string{"r", "f", "?"} {
		p.press(key)
	}
	p.is(`location.pathname === "/" && !document.querySelector("#reset").open`)
	p.show(b.ui + "/help")
	p.is(`!document.querySelector("#shortcuts").checked`)
	p.click("#shortcuts")
	p.press("f", `location.pathname === "/faults"`)
}

// TestAListKeepsItsPlace has the keys, new rows, and each way back from a detail: its link, a key and the button of the
// browser.
func TestAListKeepsItsPlace(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	b.sendMany(rows)
	p := openTab(t, b.ui+"/requests/40", 1280, "light")
	for range 12 { // each moves exactly one row, however fast it is pressed
		p.press("j")
	}
	p.until(`location.pathname === "/requests/28"`)
	b.send("POST", triggerPath, trigger("new@example.com", "2026-12-01T09:00:00Z"))
	p.until(`document.querySelector('.row[data-number="41"]')`)
	for range 3 {
		p.press("k")
	}
	p.until(`location.pathname === "/requests/31" && document.querySelectorAll("#rows > [aria-current]").length === 1 &&
		document.querySelector("#rows > [aria-current]").dataset.number === "31"`)

	for _, width := range []int64{390, 1280} {
		p.resize(width)
		p.show(b.ui)
		eval[bool](p, `(document.querySelector("#rows .row:nth-child(30)").scrollIntoView({ block: "center" }), true)`)
		before := eval[string](p, firstRow)
		b.send("POST", triggerPath, trigger("grace@example.com", fmt.Sprint(width)))
		p.until(newCount + `.textContent === "1 new"`)
		p.is(`((new_) => new_.top >= 0 && new_.bottom <= innerHeight)(` + newCount + `.getBoundingClientRect())`)
		assert.Equal(t, before, eval[string](p, firstRow), "it is read further down")
		p.do(chromedp.Click(chromedp.CSS("#new")))
		p.until(firstRow + ` !== "` + before + `" && document.querySelector("#rows .row").getBoundingClientRect().top > 0`)
	}

	ways := map[string]func(){
		"link":    func() { p.click(".back") },
		"key":     func() { p.press("Escape") },
		"browser": func() { eval[bool](p, `(history.back(), true)`) },
	}
	for _, test := range []struct {
		way   string
		width int64
	}{{"link", 390}, {"key", 390}, {"browser", 390}, {"link", 900}} {
		p.resize(test.width)
		p.show(b.ui)
		p.is(listIsShown)
		eval[bool](p, `(document.querySelector(".row[data-number='9']").scrollIntoView({ block: "center" }), true)`)
		top := eval[float64](p, `scrollY`)
		assert.Positive(t, top)
		p.click(`.row[data-number="9"]`, detailIsShown+` && document.activeElement.id === "detail"`)
		p.is(`document.querySelector(".back").getBoundingClientRect().top >= 0`)
		entries := eval[int](p, `history.length`)
		if test.way != "browser" { // which shows the views one by one
			p.click(`[data-tab=exchange]`, `location.search === "?tab=exchange"`)
			entries++
		}
		ways[test.way]()
		p.until(listIsShown + ` && location.href === "` + b.ui + `/" && document.activeElement.dataset.number === "9"`)
		assert.InDelta(t, top, eval[float64](p, `scrollY`), 1, test)
		assert.Equal(t, entries, eval[int](p, `history.length`), "%v adds nothing to the history", test)
	}
	p.resize(390)
	p.show(b.ui + "/requests/9?q=to:example.com")
	p.click(`[data-step="1"]`, `location.pathname === "/requests/8" && `+detailIsShown)
	p.press("Escape")
	p.until(listIsShown + ` && location.pathname + location.search === "/?q=to%3Aexample.com" ` +
		`&& document.activeElement.dataset.number === "8"`)
	p.show(b.ui + "/customers/3")
	p.click(".back", listIsShown+` && location.pathname === "/customers" && document.activeElement.pathname === "/customers/3"`)
}
