package browsertest

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
)

// fixedEmail is as wide as emails usually are, and does not adapt to a narrower window.
const fixedEmail = `<div style="padding: 26px"><table width="600"><tr><td>Hi</td></tr></table></div>`

const (
	pageOfEmail = `document.querySelector(".mail-page").getBoundingClientRect()`
	frame       = `document.querySelector(".mail iframe").getBoundingClientRect()`
)

func TestThePreviewIsAsWideAsAnEmailAndAsHighAsThePane(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	b.send("POST", emailPath, email(t, "Moved", fixedEmail))
	for width, atLeast := range map[int64]float64{1280: 680, 1440: 680, 1600: 680, 1920: 680, 1024: 600, 768: 680, 360: 320} {
		p := openTab(t, b.ui+"/requests/1", width, "light")
		p.until(isLive)
		assert.GreaterOrEqual(t, eval[float64](p, pageOfEmail+`.width`), atLeast, "at %d px", width)
		assert.GreaterOrEqual(t, eval[float64](p, pageOfEmail+`.height`), 420.0, "at %d px", width)
		assert.True(t, eval[bool](p, `((page, frame) => Math.abs(page.height - frame.height) < 1 && frame.right <= page.right + 1)(`+
			pageOfEmail+`, `+frame+`)`), "the frame fills its place at %d px", width)
		if width > 1024 {
			assert.True(t, eval[bool](p, `(({ scrollHeight, clientHeight }) => scrollHeight <= clientHeight)(
				document.querySelector("#detail"))`), "only the email is scrolled at %d px", width)
		}
		p.close()
	}
}

func TestAnEmailThatIsWiderThanItsPlaceIsDrawnSmaller(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	b.send("POST", emailPath, email(t, "Moved", fixedEmail))
	b.send("POST", emailPath, email(t, "Adapts", "<p>Hi</p>"))
	p := openTab(t, b.ui+"/requests/1", 360, "light")
	const layout, label = `document.querySelector(".mail iframe").offsetWidth`, `getComputedStyle(document.querySelector(
		".mail-bar label:has(:checked)"), "::after").content`
	p.until(isLive)
	assert.Equal(t, 680, eval[int](p, layout), "the email has room")
	assert.InDelta(t, 326, eval[float64](p, frame+`.width`), 1)
	assert.Contains(t, eval[string](p, label), `counter(percent)`)
	for width, laidOut := range map[int]int{375: 680, 768: 768} {
		p.click(fmt.Sprintf(`.mail [value="%d"]`, width))
		assert.Equal(t, laidOut, eval[int](p, layout))
		assert.InDelta(t, 326, eval[float64](p, frame+`.width`), 1)
	}
	p.shoot("scaled-360-light")
	p.open(b.ui + "/requests/2")
	p.until(isLive)
	assert.Equal(t, 326, eval[int](p, layout), "an email that adapts is as wide as the phone")
	p.close()
	p = openTab(t, b.ui+"/requests/1", 1440, "light")
	p.until(isLive)
	p.click(`.mail [value="375"]`)
	assert.InDelta(t, 375, eval[float64](p, frame+`.width`), 1)
	assert.True(t, eval[bool](p, `((page, frame) => Math.abs(frame.left - page.left - (page.right - frame.right)) < 1)(`+
		pageOfEmail+`, `+frame+`)`), "it is in the middle")
	assert.Equal(t, 680, eval[int](p, layout), "as phones show an email that does not adapt")
	assert.Contains(t, eval[string](p, label), `counter(percent)`)
	p.open(b.ui + "/requests/2")
	p.until(isLive)
	p.click(`.mail [value="375"]`)
	assert.Equal(t, 375, eval[int](p, layout))
	assert.Equal(t, "none", eval[string](p, label))
}

func TestTheTabsOfAnEmailTakeOneLineBesideWhatIsDoneWithIt(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	b.send("POST", emailPath, email(t, "Moved", "<p>Hi</p><img src='https://acme.test/a.png'>"))
	for _, width := range []int64{768, 1024, 1280} {
		p := openTab(t, b.ui+"/requests/1", width, "light")
		p.until(isLive)
		name := fmt.Sprintf("%d px", width)
		assert.Equal(t, 1, eval[int](p, `new Set([...document.querySelectorAll(".tabs > a")].map((e) => e.offsetTop)).size`), name)
		assert.Equal(t, 1, eval[int](p, `new Set([...document.querySelectorAll(".actions a")].map((e) => e.offsetTop)).size`), name)
		assert.True(t, eval[bool](p, `(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)(document.querySelector(".tabs"))`), name)
		assert.Empty(t, eval[string](p, overlaps(".title h1, .title .tag, .tabs > a, .actions a")), name)
		assert.LessOrEqual(t, eval[int](p, `document.documentElement.scrollWidth`), int(width), name)
		p.shoot(fmt.Sprintf("tabs-%d", width))
		p.close()
	}
}

func TestKeysWalkThroughTheTabsAndWhatIsDoneWithTheRequest(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	b.send("GET", "/v1/events", "")
	p := openTab(t, b.ui+"/requests/1", 1280, "light")
	p.until(isLive)
	for _, name := range []string{"diff", "copy", "replay"} {
		p.press("]")
		p.until(fmt.Sprintf(`document.querySelector(".actions [aria-current]")?.dataset.tab === %q`, name))
	}
	p.press("[")
	p.until(`location.search === "?tab=copy"`)
}

// overlaps returns an expression for the texts of elements of which one covers another.
func overlaps(selector string) string {
	return fmt.Sprintf(`(() => {
		const all = [...document.querySelectorAll(%q)].filter((e) => e.checkVisibility()), found = [];
		for (const [i, a] of all.entries()) for (const b of all.slice(i + 1)) {
			if (a.contains(b)) continue;
			const p = a.getBoundingClientRect(), q = b.getBoundingClientRect();
			if (p.left < q.right - 1 && q.left < p.right - 1 && p.top < q.bottom - 1 && q.top < p.bottom - 1)
				found.push(a.textContent + " / " + b.textContent);
		}
		return found.join("; ");
	})()`, selector)
}

func TestARowShowsAnOperationInFullOrNotAtAllAndTheEndOfItsPath(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	sendSome(t, b)
	b.send("GET", "/v1/customers/5eed0000-0000-4000-8000-000000000001/devices/last", "")
	p := openTab(t, b.ui+"/help", 1280, "light")
	for _, width := range []int64{360, 901, 1280, 1920} {
		p.do(chromedp.EmulateViewport(width, 800))
		p.open(b.ui)
		p.until(isLive)
		name := fmt.Sprintf("%d px", width)
		assert.Empty(t, eval[string](p, `[...document.querySelectorAll("#rows .op")].filter((e) => e.checkVisibility()).filter((e) => {
			const op = e.getBoundingClientRect(), about = e.parentNode.getBoundingClientRect();
			return op.top < about.bottom - 4 && op.right > about.right + 1;
		}).map((e) => e.closest(".row").textContent).join("; ")`), name)
		assert.True(t, eval[bool](p, `((end) => end.getBoundingClientRect().right <= end.parentNode.getBoundingClientRect().right + 1 &&
			end.scrollWidth <= end.clientWidth + 1)(document.querySelector(".end"))`), name)
	}
}

func TestATagOfARowIsReadableBesideWhomTheRequestIsFor(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	b.send("POST", triggerPath, trigger("a.long.name@subdomain.example.com", "today"))
	b.send("POST", triggerPath, trigger("a.long.name@subdomain.example.com", "today"))
	for width, want := range map[int64]string{1920: "1 skipped, duplicate?", 1280: "1 skipped, +1", 360: "1 skipped, +1"} {
		p := openTab(t, b.ui, width, "light")
		p.until(isLive)
		assert.Equal(t, want, eval[string](p, `[...document.querySelectorAll(".row[data-number='2'] .who .tag")].filter(
			(e) => e.checkVisibility()).map((e) => e.textContent).join(", ")`), width)
		assert.Empty(t, eval[string](p, `[...document.querySelectorAll("#rows .who .tag")].filter((e) => e.scrollWidth > e.clientWidth).map(
			(e) => e.textContent).join()`), width)
		assert.Greater(t, eval[float64](p, `document.querySelector("#rows .about").offsetWidth`), 90.0, width)
	}
}

func TestTheStatusOfARowIsAtItsEdge(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	b.control("POST", "/api/faults", `{"count":1,"fault":{"kind":"slow","after":"60ms"}}`)
	b.send("POST", triggerPath, trigger("ada@example.com", "2026-12-01T09:00:00Z"))
	for _, path := range []string{"/", "/faults", "/customers/1"} {
		for _, width := range []int64{1280, 1920} {
			p := openTab(t, b.ui+path, width, "light")
			p.until(isLive + ` && document.querySelector(".row:not(.record)")`)
			const gap = `((row) => row.getBoundingClientRect().right -
				row.querySelector(".head .tag").getBoundingClientRect().right)(document.querySelector(".row:not(.record)"))`
			assert.InDelta(t, 18, eval[float64](p, gap), 3, "%s at %d px", path, width)
			assert.True(t, eval[bool](p, `document.querySelector(".row .ended").checkVisibility()`), "%s at %d px", path, width)
			p.close()
		}
	}
}

func TestAPhoneShowsTheContentOfARequestEarly(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	b.send("POST", emailPath, email(t, "Moved", "<p>Hi {{nme}}</p>"))
	p := openTab(t, b.ui+"/requests/1", 360, "light")
	p.until(isLive)
	assert.Less(t, eval[float64](p, `document.querySelector(".view").getBoundingClientRect().top`), 470.0)
	assert.Equal(t, "From", eval[string](p, `[...document.querySelectorAll(".facts dt")].filter((e) => e.getBoundingClientRect().top <
		document.querySelector(".view").getBoundingClientRect().top).map((e) => e.textContent).join()`), "above the email")
	assert.True(t, eval[bool](p, `document.querySelector(".title .tag").getBoundingClientRect().bottom >
		document.querySelector("article > .sub").getBoundingClientRect().top`), "the status is in the line about the request")
	assert.True(t, eval[bool](p, `((note) => note.offsetHeight > 50 && note.scrollWidth <= note.clientWidth)
		(document.querySelector(".note"))`),
		"a note has all of its lines")
	p.shoot("note-360-light")
}

func TestTabsAndSectionsStayWhereTheyAre(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	b.send("POST", emailPath, email(t, "Moved", "<p>Hi {{name}}</p>"))
	for _, width := range []int64{768, 1280} {
		p := openTab(t, b.ui+"/requests/1", width, "light")
		p.until(isLive)
		const places = `JSON.stringify([...document.querySelectorAll("header nav a, .tabs a")].map((e) => {
			const { x, y } = e.getBoundingClientRect(); return [x, y]; }))`
		before := eval[string](p, places)
		for _, tab := range []string{"source", "check", "exchange", "copy"} {
			p.click("[data-tab=" + tab + "]")
			p.until(`document.querySelector("[data-tab=` + tab + `][aria-current]")`)
			assert.Equal(t, before, eval[string](p, places), "%s at %d px", tab, width)
		}
		p.press("Escape")
		p.until(`document.querySelector("[data-tab=preview][aria-current]")`) // the request, and not the list
		p.close()
	}
}

func TestNoWordOfAFilterOrARuleIsBroken(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	b.send("POST", triggerPath, "{}")
	b.control("POST", "/api/faults", `{"op":"trigger event","skip":2,"count":3,"fault":{"kind":"rate_limited","after":"7s"}}`)
	p := openTab(t, b.ui+`/?q=op:"trigger+event"+delivery:rejected`, 1280, "light")
	const lines = `((e) => { const r = new Range(); r.selectNodeContents(e); return r.getClientRects().length })(%s)`
	assert.Equal(t, 1, eval[int](p, fmt.Sprintf(lines, `document.querySelector(".list-bar > a")`)))
	p.close()
	for _, width := range []int64{768, 1024} {
		p := openTab(t, b.ui+"/faults", width, "light")
		p.until(isLive)
		assert.LessOrEqual(t, eval[int](p, fmt.Sprintf(lines, `document.querySelector("td[data-label='So far']")`)), 2)
		assert.True(t, eval[bool](p, `((table) => table.scrollWidth <= table.clientWidth)(document.querySelector(".scroll:has(.rules)"))`), width)
		p.close()
	}
}

func TestASeedIsAskedForWithAProbability(t *testing.T) {
	b := startBox(t)
	p := openTab(t, b.ui+"/faults", 1280, "light")
	p.until(isLive)
	const seed = `document.querySelector(".rule [name=seed]").checkVisibility()`
	assert.False(t, eval[bool](p, seed))
	assert.Equal(t, 1, eval[int](p, `new Set([...document.querySelectorAll(".rule label")].filter((e) => e.checkVisibility())
		.map((e) => e.offsetTop)).size`))
	eval[bool](p, `(document.querySelector(".rule [name=percent]").focus(), true)`)
	p.typeText("20")
	p.until(seed)
}
