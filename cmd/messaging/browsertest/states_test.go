package browsertest

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// everyLook runs a test at each width and in each color scheme.
func everyLook(t *testing.T, look func(width int64, scheme string)) {
	t.Helper()
	for _, width := range []int64{360, 768, 1280} {
		for _, scheme := range []string{"light", "dark"} {
			look(width, scheme)
		}
	}
}

// requireFits requires that nothing makes the page wider than the window.
func (p *tab) requireFits(name string, width int64, scheme string) {
	p.t.Helper()
	assert.LessOrEqual(p.t, eval[int](p, `document.documentElement.scrollWidth`), int(width), "%s at %d px", name, width)
	p.shoot(fmt.Sprintf("%s-%d-%s", name, width, scheme))
}

func TestAStoppedSandboxIsSeenAtEveryWidth(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	sendSome(t, b)
	tabs := map[string]*tab{}
	everyLook(t, func(width int64, scheme string) {
		p := openTab(t, b.ui, width, scheme)
		p.until(isLive)
		tabs[fmt.Sprint(width, scheme)] = p
	})
	require.NoError(t, b.process.Signal(syscall.SIGTERM))
	<-b.ended
	everyLook(t, func(width int64, scheme string) {
		p := tabs[fmt.Sprint(width, scheme)]
		p.click(`.row[data-number="10"]`)
		p.until(`!document.querySelector("#stopped").hidden`)
		p.until(`document.querySelector("#stopped").getBoundingClientRect().bottom === innerHeight`)
		assert.Equal(t, "/", eval[string](p, `location.pathname`), "the page stays")
		p.requireFits("stopped", width, scheme)
	})
}

func TestNewRowsMoveNoRowThatIsReadFurtherDown(t *testing.T) {
	b := startBoxWithRows(t)
	for _, width := range []int64{360, 1280} {
		p := openTab(t, b.ui+"/", width, "light")
		p.until(isLive)
		eval[bool](p, `(document.querySelector("#rows .row:nth-child(30)").scrollIntoView({ block: "center" }), true)`)
		const first = `document.querySelector("#rows .row").dataset.number`
		before := eval[string](p, first)
		b.send("POST", triggerPath, trigger("grace@example.com", fmt.Sprint(width)))
		p.until(`document.querySelector("#new").textContent === "1 new"`)
		assert.Equal(t, before, eval[string](p, first))
		p.do(chromedp.Click(chromedp.CSS("#new")))
		p.until(first + ` !== "` + before + `" && document.querySelector("#rows .row").getBoundingClientRect().top > 0`)
		p.close()
	}
}

func TestNewRowsAreCountedInSightOfAScrolledList(t *testing.T) {
	b := startBoxWithRows(t)
	sent := 40
	send := func() {
		b.send("POST", triggerPath, trigger("grace@example.com", fmt.Sprint(sent)))
		sent++
	}
	everyLook(t, func(width int64, scheme string) {
		p := openTab(t, b.ui+"/?before=40", width, scheme)
		p.until(isLive)
		eval[bool](p, `(document.querySelector(".row[data-number='9']").scrollIntoView({ block: "center" }), true)`)
		send()
		p.until(`document.querySelector("#new").textContent === "1 new"`)
		p.until(`document.elementFromPoint(document.querySelector("#new").getBoundingClientRect().x + 9,
			document.querySelector("#new").getBoundingClientRect().y + 9)?.id === "new"`)
		p.requireFits("new", width, scheme)
		p.do(chromedp.Click(chromedp.CSS("#new")))
		p.until(fmt.Sprintf(`document.querySelector("#rows .row").dataset.number === "%d" &&
			document.querySelector("#rows .row").getBoundingClientRect().top > 0`, sent))
		send()
		p.until(fmt.Sprintf(`document.querySelector("#rows .row").dataset.number === "%d"`, sent))
		p.close()
	})
}

func TestAWrongTokenIsReportedAtEveryWidth(t *testing.T) {
	script := axe(t)
	t.Setenv("MESSAGING_SANDBOX_TOKEN", strings.Repeat("0123456789abcdef", 2))
	b := startBox(t, "--listen", "127.0.0.1")
	everyLook(t, func(width int64, scheme string) {
		p := openTab(t, b.ui+"/requests/1", width, scheme)
		p.until(`location.pathname === "/requests/1" && document.activeElement.name === "token"`)
		p.typeText("wrong")
		p.press("Enter")
		p.until(`document.querySelector("[role=alert]")?.textContent.includes("not the token")`)
		p.until(`document.activeElement.name === "token"`)
		p.requireFits("login", width, scheme)
		p.requireNoFindings(script, fmt.Sprintf("login, %d px, %s", width, scheme))
		p.close()
	})
}

func TestAComparisonFitsEveryWidth(t *testing.T) {
	message, err := os.ReadFile("testdata/moved.html")
	require.NoError(t, err)
	b := startBox(t, "--seed", "demo")
	b.send("POST", emailPath, email(t, "We have moved", string(message)))
	b.send("GET", "/v1/events", "")
	b.send("POST", emailPath, email(t, "We have moved again", strings.Replace(string(message), "nine", "ten", 1)))
	everyLook(t, func(width int64, scheme string) {
		p := openTab(t, b.ui+"/requests/3?tab=diff", width, scheme)
		p.until(isLive)
		p.requireFits("compare", width, scheme)
		assert.Equal(t, []string{"ten", " again"}, eval[[]string](p, `[...document.querySelectorAll(".add mark")].map((e) => e.textContent)`))
		eval[bool](p, `(document.querySelector("[name=with]").focus(), true)`)
		p.typeText("2")
		p.press("Enter")
		p.until(`location.search.includes("with=2") && document.querySelector(".legend").textContent.includes("request 2")`)
		p.close()
	})
}
