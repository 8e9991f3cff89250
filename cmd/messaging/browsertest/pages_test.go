package browsertest

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pages are the pages of a sandbox to which sendSome has sent.
var pages = map[string]string{
	"requests": "/", "broadcast": "/requests/10", "refused": "/requests/8", "skipped": "/requests/9",
	"unknown": "/requests/5?tab=exchange",
	"push":    "/requests/5", "diff": "/requests/10?tab=diff", "variables": "/requests/10?tab=variables",
	"audience": "/requests/10?tab=audience", "check": "/requests/10?tab=check",
	"copy": "/requests/10?tab=copy", "replay": "/requests/10?tab=replay",
	"customer": "/customers/1", "event": "/events/1", "message": "/messages/1", "faults": "/faults", "help": "/help",
	"search": "/?q=has:skipped", "nothing": "/?q=nowhere", "invalid": "/?q=status:many", "notfound": "/requests/4711",
}

// TestEveryPageFitsAndIsAccessible checks what holds for every page: no error in the console,
// nothing that makes the page wider than the window, and nothing that axe-core finds at the
// width of a phone and of a desk. The color scheme moves nothing.
func TestEveryPageFitsAndIsAccessible(t *testing.T) {
	script := axe(t)
	b := startBox(t, "--seed", "demo")
	welcome := openTab(t, b.ui, 1280, "light")
	welcome.until(isLive)
	welcome.shoot("welcome-1280-light")
	welcome.close()
	sendSome(t, b)
	b.control("POST", "/api/faults", `{"op":"trigger event","skip":2,"count":3,"fault":{"kind":"rate_limited","after":"7s"}}`)
	for _, look := range []struct {
		width  int64
		scheme string
		axe    bool
	}{{1280, "light", true}, {1280, "dark", true}, {360, "light", true}, {360, "dark", true}, {768, "light", false}, {1920, "dark", false}} {
		p := openTab(t, "about:blank", look.width, look.scheme)
		for name, path := range pages {
			p.open(b.ui + path)
			p.until(isLive)
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

// TestScreenshotOfTheReadme makes the picture of the documentation. With
// README=write it replaces it.
func TestScreenshotOfTheReadme(t *testing.T) {
	const limit = 200 << 10
	b := startBox(t, "--seed", "demo")
	sendSome(t, b)
	p := openTab(t, b.ui+"/requests/10", 1280, "light")
	p.until(`document.querySelector("#live").dataset.state === "on"`)
	png := p.png()
	require.Less(t, len(png), limit)
	if os.Getenv("README") == "write" {
		require.NoError(t, os.WriteFile("../inspector.png", png, 0o644))
	}
}
