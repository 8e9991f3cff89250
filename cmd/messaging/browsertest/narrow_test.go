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

// narrow are the widths at which the page shows the list or the detail.
var narrow = []int64{360, 768, 900}

const (
	listIsShown   = `document.querySelector("#list").offsetHeight > 0 && document.querySelector("#detail").offsetHeight === 0`
	detailIsShown = `document.querySelector("#list").offsetHeight === 0 && document.querySelector("#detail").offsetHeight > 0`
)

// startBoxWithRows starts a sandbox with a list that is longer than a window.
func startBoxWithRows(t *testing.T) *box {
	t.Helper()
	b := startBox(t, "--seed", "demo")
	for i := range 40 {
		b.send("POST", triggerPath, trigger(fmt.Sprintf("c%d@example.com", i), "2026-12-01T09:00:00Z"))
	}
	return b
}

func TestANarrowPageShowsTheListOrTheDetail(t *testing.T) {
	b := startBoxWithRows(t)
	for _, width := range narrow {
		p := openTab(t, b.ui, width, "light")
		p.until(isLive + " && " + listIsShown)
		assert.LessOrEqual(t, eval[int](p, `document.documentElement.scrollWidth`), int(width))
		p.click(`.row[data-number="9"]`)
		p.until(`location.pathname === "/requests/9" && ` + detailIsShown)
		assert.LessOrEqual(t, eval[int](p, `document.documentElement.scrollWidth`), int(width))
		for _, y := range []string{"0", "document.body.scrollHeight"} {
			eval[bool](p, `(scrollTo(0, `+y+`), true)`)
			p.until(`document.querySelector(".back").getBoundingClientRect().bottom <= innerHeight &&
				document.querySelector(".back").getBoundingClientRect().top >= 0`)
		}
		p.close()
	}
	p := openTab(t, b.ui+"/requests/9", 901, "light")
	p.until(isLive + ` && document.querySelector("#list").offsetHeight > 0 && document.querySelector("#detail").offsetHeight > 0`)
	assert.Zero(t, eval[int](p, `document.querySelector(".back").offsetHeight`), "the list is beside the detail")
}

// TestEveryWayBackLeadsToTheRow leaves a detail by its link, by a key and by the button of
// the browser.
func TestEveryWayBackLeadsToTheRow(t *testing.T) {
	b := startBoxWithRows(t)
	ways := map[string]func(*tab){
		"link":    func(p *tab) { p.click(".back") },
		"key":     func(p *tab) { p.press("Escape") },
		"browser": func(p *tab) { p.do(chromedp.NavigateBack()) },
	}
	for _, width := range narrow {
		for name, leave := range ways {
			p := openTab(t, b.ui, width, "light")
			p.until(isLive)
			eval[bool](p, `(document.querySelector(".row[data-number='9']").scrollIntoView({ block: "center" }), true)`)
			top, entries := eval[float64](p, `scrollY`), eval[int](p, `history.length`)
			assert.Positive(t, top)
			p.click(`.row[data-number="9"]`)
			p.until(detailIsShown + ` && document.activeElement.id === "detail"`)
			if name != "browser" { // which shows the views one by one
				p.click(`[data-tab=exchange]`)
				p.until(`location.search === "?tab=exchange"`)
				entries++
			}
			leave(p)
			p.until(listIsShown + ` && location.href === "` + b.ui + `/" && document.activeElement.dataset.number === "9"`)
			assert.InDelta(t, top, eval[float64](p, `scrollY`), 1, "%s at %d px", name, width)
			assert.Equal(t, entries+1, eval[int](p, `history.length`), "%s at %d px adds nothing to the history", name, width)
			p.close()
		}
	}
}

func TestADetailThatIsOpenedByItsAddressLeadsToItsList(t *testing.T) {
	b := startBoxWithRows(t)
	p := openTab(t, b.ui+"/requests/9?q=to:example.com", 360, "light")
	p.until(isLive)
	p.press("j")
	p.until(`location.pathname === "/requests/8" && ` + detailIsShown)
	p.press("Escape")
	p.until(listIsShown + ` && location.pathname + location.search === "/?q=to%3Aexample.com" ` +
		`&& document.activeElement.dataset.number === "8"`)
	p.open(b.ui + "/customers/3")
	p.until(isLive)
	p.click(".back")
	p.until(listIsShown + ` && location.pathname === "/customers" && document.activeElement.pathname === "/customers/3"`)
}

// TestATableOfADetailFitsANarrowPage holds the widest tables against the narrowest pages, of one
// column and of two.
func TestATableOfADetailFitsANarrowPage(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	b.send("POST", triggerPath, trigger("ada@example.com", strings.Repeat("tomorrow", 20)))
	b.send("POST", emailPath, email(t, "Moved",
		"<p>Hi</p>\n<img src='https://acme.test/a.png'><form><a href='http://acme.test'>look</a></form>"))
	const table = `document.querySelector(".scroll:has(.stacked)")`
	for _, width := range []int64{360, 600, 768, 901} {
		for _, path := range []string{"/requests/1?tab=parameters", "/requests/2?tab=check"} {
			p := openTab(t, b.ui+path, width, "light")
			p.until(isLive)
			assert.True(t, eval[bool](p, table+`.scrollWidth <= `+table+`.clientWidth`), "%s at %d px", path, width)
			assert.Positive(t, eval[int](p, `document.querySelectorAll(".stacked td").length`))
			assert.True(t, eval[bool](p, `[...document.querySelectorAll(".stacked td")].every((cell) =>
				cell.offsetWidth >= 40 && cell.getBoundingClientRect().right <= innerWidth)`), "%s at %d px", path, width)
			p.shoot(fmt.Sprintf("table-%d-%s", width, path[strings.IndexByte(path, '=')+1:]))
			p.close()
		}
	}
	p := openTab(t, b.ui+"/requests/1?tab=parameters", 360, "light")
	p.until(isLive)
	tree, err := chromedp.Call(p.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	require.NoError(t, err)
	roles := map[string]int{}
	for _, node := range tree.Nodes {
		if node.Role != nil {
			roles[string(node.Role.Value)]++
		}
	}
	assert.Equal(t, 3, roles[`"columnheader"`], "it is still a table: %v", roles)
}
