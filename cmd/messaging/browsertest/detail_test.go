package browsertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestADetailIsCopiedFoldedAndSearched has what needs the script in a detail.
func TestADetailIsCopiedFoldedAndSearched(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	message := "<div>\n\n" + strings.Repeat("<p>Hi</p><p> there</p>\n", 60) + "<p><a href='http://acme.test'>look</a></p>\n</div>\n"
	b.send("POST", emailPath, email("Moved", message))
	b.send("POST", triggerPath, `{"payload":{"email":"ada","order":{"a":{"b":1}}}}`)
	const odd = "no JSON:\r\n\x00\u202e"
	b.send("POST", triggerPath, odd)
	p := openTab(t, b.ui, 1280, "light")
	const options = `[...document.querySelectorAll("#suggestions option")].map((o) => o.value).filter((v) => v.includes("has:sk")).join("; ")`
	assert.Equal(t, "has:skipped", eval[string](p, options))
	p.edit("[name=q]", "ada op:email has:sk")
	assert.Equal(t, "ada op:email has:skipped", eval[string](p, options), "what can follow the terms before")

	p.show(b.ui + "/requests/2?tab=exchange&q=ADA")
	p.until(`CSS.highlights.get("search").size > 0`)
	assert.Equal(t, "ada", eval[string](p, `[...CSS.highlights.get("search")][0].toString()`))
	const copied = `(navigator.clipboard.writeText = async (text) => { window.copied = text }, true)`
	eval[bool](p, copied)
	p.is(`document.querySelector(".json em")`)
	p.click(".exchange [data-copy]", `window.copied`)
	assert.Equal(t, "ada", eval[string](p, `JSON.parse(window.copied).payload.email`), "without what the page says about it")
	eval[bool](p, `(getSelection().selectAllChildren(document.querySelector(".json")), true)`)
	assert.NotContains(t, eval[string](p, `getSelection().toString()`), "\n\n")

	p.show(b.ui + "/requests/2?tab=exchange")
	const visible = `[...document.querySelectorAll(".exchange > :first-child .line")].filter(line => line.offsetHeight > 0).length`
	all := eval[int](p, visible)
	p.click(`.line[data-depth="2"][data-opens] .fold`, fmt.Sprintf("%s < %d", visible, all))
	p.click(`.line[data-depth="0"][data-opens] .fold`, visible+` === 2`)
	p.click(`.line[data-depth="0"][data-opens] .fold`, `document.querySelector(".line[data-depth='2'] .fold").offsetHeight > 0`)
	assert.Less(t, eval[int](p, visible), all, "what was folded within stays so")
	p.click(`.line[data-depth="2"][data-opens] .fold`)
	assert.Equal(t, all, eval[int](p, visible))

	for page, want := range map[string]string{"1?tab=source": message, "3?tab=exchange": odd} {
		p.show(b.ui + "/requests/" + page)
		eval[bool](p, copied)
		p.click(".code [data-copy]", `window.copied`)
		assert.Equal(t, want, eval[string](p, `window.copied`))
	}
}
