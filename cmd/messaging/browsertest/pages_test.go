package browsertest

import (
	"fmt"
	"os"
	"slices"
	"testing"

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
		width  int64
		scheme string
		axe    bool
	}{{390, "light", true}, {1280, "dark", true}, {768, "light", false}, {1920, "dark", false}} {
		p := openTab(t, "about:blank", look.width, look.scheme)
		for name, path := range pages {
			p.show(b.ui + path)
			p.requireFits(name, look.width, look.scheme)
			assert.LessOrEqual(t, eval[int](p, `document.querySelectorAll("*").length`), 2500, name)
			if look.axe {
				p.requireNoFindings(script, fmt.Sprintf("%s, %d px, %s", name, look.width, look.scheme))
			}
		}
		for _, message := range p.consoleErrors() {
			assert.Regexp(t, "404|400", message, "the page that does not exist and the invalid search are the only errors")
		}
		p.close()
	}
}

// requireFits requires that nothing makes the page wider than the window.
func (p *tab) requireFits(name string, width int64, scheme string) {
	p.t.Helper()
	assert.LessOrEqual(p.t, eval[int](p, `document.documentElement.scrollWidth`), int(width), "%s at %d px", name, width)
	p.shoot(fmt.Sprintf("%s-%d-%s", name, width, scheme))
}

// TestScreenshotOfTheReadme makes the picture of the documentation. With
// README=write it replaces it.
func TestScreenshotOfTheReadme(t *testing.T) {
	const limit = 200 << 10
	b := startBox(t, "--seed", "demo")
	sendSome(t, b)
	png := openTab(t, b.ui+"/requests/10", 1280, "light").png()
	require.Less(t, len(png), limit)
	if os.Getenv("README") == "write" {
		require.NoError(t, os.WriteFile("../inspector.png", png, 0o644))
	}
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
			p.open(b.ui)
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
