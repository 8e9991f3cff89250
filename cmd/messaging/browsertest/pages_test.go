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
var pages = map[string]string{
	"requests": "/", "broadcast": "/requests/10", "refused": "/requests/8", "skipped": "/requests/9",
	"unknown": "/requests/5?tab=exchange",
	"push":    "/requests/5", "diff": "/requests/10?tab=diff&with=8",
	"audience": "/requests/10?tab=audience", "check": "/requests/10?tab=check", "source": "/requests/10?tab=source",
	"copy": "/requests/10?tab=copy", "replay": "/requests/10?tab=replay",
	"customer": "/customers/1", "event": "/events/1", "message": "/messages/1", "faults": "/faults", "help": "/help",
	"search": "/?q=has:skipped", "nothing": "/?q=nowhere", "invalid": "/?q=status:many", "notfound": "/requests/4711",
}

// TestEveryPageFitsAndIsAccessible checks what holds for every page: no error in the console,
// nothing that makes the page wider than the window, and nothing that axe-core finds, on a
// phone and in the light, and on a desk and in the dark.
func TestEveryPageFitsAndIsAccessible(t *testing.T) {
	script := axe(t)
	b := startBox(t, "--seed", "demo")
	sendSome(t, b)
	b.control("POST", "/api/faults", `{"op":"trigger event","skip":2,"count":3,"fault":{"kind":"rate_limited","after":"7s"}}`)
	for _, look := range []struct {
		width, wider int64
		scheme       string
	}{{390, 768, "light"}, {1280, 1920, "dark"}} {
		p := openTab(t, "about:blank", look.width, look.scheme)
		for name, path := range pages {
			p.do(chromedp.EmulateViewport(look.width, 800))
			p.show(b.ui + path)
			p.requireFits(name, look.width)
			assert.LessOrEqual(t, eval[int](p, `document.querySelectorAll("*").length`), 2500, name)
			p.requireNoFindings(script, fmt.Sprintf("%s, %d px, %s", name, look.width, look.scheme))
			p.do(chromedp.EmulateViewport(look.wider, 800))
			p.until(fmt.Sprintf(`innerWidth === %d`, look.wider))
			p.requireFits(name, look.wider)
		}
		p.requireNoErrors("404|400") // of the page that does not exist and the invalid search
		p.close()
	}
	png, err := chromedp.Run(openTab(t, b.ui+"/requests/10", 1280, "light").ctx, chromedp.CaptureScreenshot())
	require.NoError(t, err)
	require.Less(t, len(png), 200<<10)
	if os.Getenv("README") == "write" { // replaces the picture of the documentation
		require.NoError(t, os.WriteFile("../inspector.png", png, 0o644))
	}
}

// requireFits requires that nothing makes the page wider than the window.
func (p *tab) requireFits(name string, width int64) {
	p.t.Helper()
	assert.LessOrEqual(p.t, eval[int](p, `document.documentElement.scrollWidth`), int(width), "%s at %d px", name, width)
}

// TestTheFirstPaintDoesNotWaitForAllRequests compares the median of the times from the start of the
// navigation to the first content.
func TestTheFirstPaintDoesNotWaitForAllRequests(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: it sends 10,000 requests")
	}
	b := startBox(t, "--seed", "demo")
	paint := func() float64 {
		p := openTab(t, b.ui, 1280, "light")
		defer p.close()
		took := make([]float64, 15)
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
	if script, err := os.ReadFile(file); err == nil {
		return string(script)
	}
	require.NoError(t, os.MkdirAll(folder, 0o755))
	out, err := exec.Command("npm", "install", "--silent", "--no-save", "--prefix", folder, "axe-core@"+axeVersion).CombinedOutput()
	if err != nil && os.Getenv("CI") != "true" {
		t.Skipf("cannot fetch axe-core: %v\n%s", err, out)
	}
	require.NoError(t, err, "cannot fetch axe-core: %s", out)
	script, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(script)
}

const runAxe = `(window.findings = null, axe.run(document, { resultTypes: ["violations"], iframes: false }).then((r) => {
	window.findings = JSON.stringify(r.violations.map(({ id, impact, help, nodes }) => ({ id, impact, help,
		nodes: nodes.map((n) => n.html.slice(0, 160)) })), null, 2);
}), true)`

// requireNoFindings requires that axe-core finds nothing on the page.
func (p *tab) requireNoFindings(script, name string) {
	p.t.Helper()
	eval[bool](p, script+";true")
	eval[bool](p, runAxe)
	p.until(`window.findings`)
	assert.Equal(p.t, "[]", eval[string](p, `window.findings`), name)
}
