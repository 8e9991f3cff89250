package browsertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pages are the pages of a sandbox to which sendSome has sent.
var pages = []string{
	"/", "/requests/10", "/requests/8", "/requests/9", "/requests/5", "/requests/5?tab=exchange",
	"/requests/10?tab=audience", "/requests/10?tab=source", "/requests/10?tab=again",
	"/customers/1", "/events/1", "/messages/1", "/faults", "/help", "/?q=has:skipped", "/?q=nowhere", "/?q=status:many", "/requests/4711",
}

// TestEveryPageFitsAndIsAccessible also checks that no page writes an error to the console, or is large.
func TestEveryPageFitsAndIsAccessible(t *testing.T) {
	script := axe(t)
	b := startBox(t, "--seed", "demo")
	sendSome(t, b)
	b.control("POST", "/api/faults", `{"op":"trigger event","skip":2,"count":3,"fault":{"kind":"rate_limited","after":"7s"}}`)
	t.Run("pages", func(t *testing.T) {
		for half := range slices.Chunk(pages, len(pages)/2+1) { // axe-core keeps one processor busy
			t.Run(half[0], func(t *testing.T) {
				t.Parallel()
				p := openTab(t, b.ui, 390, "light")
				for _, path := range half {
					p.show(b.ui + path)
					assert.LessOrEqual(t, eval[int](p, `document.querySelectorAll("*").length`), 2500, path)
					p.requireFitsAndIsAccessible(script)
				}
				p.requireNoErrors("404|400") // of the page that does not exist and the invalid search
			})
		}
	})
	p := openTab(t, b.ui+"/requests/10", 1280, "light")
	png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	require.NoError(t, err)
	require.Less(t, len(png), 200<<10)
	if os.Getenv("README") == "write" { // replaces the picture of the documentation
		require.NoError(t, os.WriteFile("../inspector.png", png, 0o644))
	}
	p.show(b.ui + "/requests/9")
	p.emulate("forced-colors", "active") // keep the selection readable
	const style = `((selector) => getComputedStyle(document.querySelector(selector)))`
	for selected, mark := range map[string]string{".row[aria-current]": ".tag.warn", ".tabs a[aria-current]": ".count"} {
		inside := fmt.Sprintf("%s(%q)", style, selected+" "+mark)
		p.is(fmt.Sprintf(`%s.color === %s(%q).color && %s.backgroundColor === "rgba(0, 0, 0, 0)"`, inside, style, selected, inside))
	}
	p.is(style + `(".row[aria-current]").backgroundColor !== ` + style + `(".row:not([aria-current])").backgroundColor`) // it is marked
}

// TestTheFirstPaintDoesNotWaitForAllRequests compares the median of the times from the start of the
// navigation to the first content.
func TestTheFirstPaintDoesNotWaitForAllRequests(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: it sends 10,000 requests")
	}
	b := startBox(t, "--seed", "demo")
	p := openTab(t, b.ui, 1280, "light")
	paint := func() float64 {
		took := make([]float64, 7)
		for i := range took {
			p.do(chromedp.Navigate(b.ui))
			p.until(`performance.getEntriesByName("first-contentful-paint").length > 0`)
			took[i] = eval[float64](p, `performance.getEntriesByName("first-contentful-paint")[0].startTime`)
		}
		slices.Sort(took)
		return took[len(took)/2]
	}
	b.sendMany(100)
	few := paint()
	b.sendMany(9_900)
	many := paint()
	t.Logf("first paint after %.0f ms with 100 requests, %.0f ms with 10,000", few, many)
	assert.LessOrEqual(t, many, 2*few)
}

// axeVersion is the version of axe-core, the engine that finds what is not accessible.
const axeVersion = "4.10.3"

// axe returns the script of axe-core. It is fetched with npm once, and kept in the cache of
// the user.
func axe(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	folder := filepath.Join(cache, "messaging-browsertest", "axe-core-"+axeVersion)
	file := filepath.Join(folder, "node_modules", "axe-core", "axe.min.js")
	if _, err := os.Stat(file); err != nil {
		require.NoError(t, os.MkdirAll(folder, 0o755))
		out, err := exec.Command("npm", "install", "--silent", "--no-save", "--prefix", folder, "axe-core@"+axeVersion).CombinedOutput()
		if err != nil && os.Getenv("CI") != "true" {
			t.Skipf("cannot fetch axe-core: %v\n%s", err, out)
		}
		require.NoError(t, err, "cannot fetch axe-core: %s", out)
	}
	script, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(script)
}

const runAxe = `axe.run(document, { resultTypes: ["violations"], iframes: false }).then((r) =>
	JSON.stringify(r.violations.map(({ id, impact, help, nodes }) => ({ id, impact, help, nodes: nodes.map((n) => n.html.slice(0, 160)) }))))`

// requireFitsAndIsAccessible requires that nothing makes the page wider than the window, and that axe-core finds
// nothing, on a phone and in the light, and on a desk and in the dark.
func (p *tab) requireFitsAndIsAccessible(script string) {
	p.t.Helper()
	url := eval[string](p, script+";location.href")
	for _, look := range []struct {
		wider, width int64
		scheme       string
	}{{1920, 1280, "dark"}, {768, 390, "light"}} {
		p.emulate("prefers-color-scheme", look.scheme)
		for _, width := range []int64{look.wider, look.width} {
			p.resize(width)
			assert.LessOrEqual(p.t, eval[int64](p, `document.documentElement.scrollWidth`), width, url)
		}
		findings, err := chromedp.Run(p.ctx, chromedp.Evaluate[string](runAxe, chromedp.EvalAwaitPromise))
		require.NoError(p.t, err)
		assert.Equal(p.t, "[]", findings, "%s, %d px, %s", url, look.width, look.scheme)
	}
}
