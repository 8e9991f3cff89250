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

const replayButtons = `[...document.querySelectorAll(".replay button")].filter((button) => button.checkVisibility()).map((button) =>
	(button.className === "primary" ? "*" : "") + button.textContent).join("; ")`

// TestAMessageIsEditedWithoutItsJSON holds that a draft survives a reload, and that one
// button is primary while the others say that they send no edits.
func TestAMessageIsEditedWithoutItsJSON(t *testing.T) {
	b := startBox(t, "--seed", "demo")
	b.send("POST", emailPath, email("Moved", "<p>One</p>\n<p>\"Two\"</p>"))
	b.send("POST", triggerPath, trigger("ada@example.com", "today"))
	p := openTab(t, b.ui+"/requests/1?tab=replay", 1280, "light")
	const message = `document.querySelector("textarea[name=message]")`
	const unedited = `*Resend unchanged; Send the edited message`
	const original = `Send the original again, without your edits; `
	assert.Equal(t, "<p>One</p>\n<p>\"Two\"</p>", eval[string](p, message+`.value`))
	p.is(message + `.offsetHeight > 290 && !document.querySelector(".replay textarea[name=body]").checkVisibility()`)
	assert.Equal(t, unedited, eval[string](p, replayButtons))
	p.edit("[name=subject]", "Changed")
	assert.Equal(t, original+`*Send the edited message`, eval[string](p, replayButtons))
	p.edit("[name=subject]", "Moved")
	assert.Equal(t, unedited, eval[string](p, replayButtons))
	p.edit("[name=message]", "<p>Three</p>\n")
	eval[bool](p, `(document.querySelector("details:has(textarea)").open = true)`)
	const warning = `document.querySelector("#draft-problem")`
	p.edit("[name=body]", "{bad")
	p.is(warning + `.textContent.startsWith("This is not JSON: ") && !` + warning + `.hidden`)
	p.edit("[name=body]", "{}")
	p.is(warning + `.hidden`)
	assert.Equal(t, original+`Send the edited message; *Send the edited body`, eval[string](p, replayButtons), "the last one")
	p.press("k", at("/requests/2?tab=replay"))
	p.press("j", at("/requests/1?tab=replay")+` && `+message+`.value === "<p>Three</p>\n"`)
	p.show(b.ui + "/requests/1?tab=replay")
	p.is(message + `.value === "<p>Three</p>\n"`)
	p.is(`document.querySelector("details:has(textarea)").open`)
	assert.Equal(t, original+`*Send the edited message; Send the edited body`, eval[string](p, replayButtons), "a draft is an edit")
	p.click(".replay:has([name=message]) button", `location.pathname === "/requests/3"`)
	assert.Equal(t, strings.Replace(email("Moved", "X"), `"X"`, `"<p>Three</p>\n"`, 1), b.control("GET", "/api/requests/3/body", ""))
	p.show(b.ui + "/requests/1?tab=replay")
	p.until(message + `.value !== "<p>Three</p>\n"`)
	p.click(".replay button")
	p.until(`location.pathname === "/requests/4" && document.querySelector("#detail").textContent.includes("This repeats request 1.")`)
	assert.Equal(t, email("Moved", "<p>One</p>\n<p>\"Two\"</p>"), b.control("GET", "/api/requests/4/body", ""))

	p.show(b.ui + "/requests/1?tab=replay") // Ctrl and Enter send what is edited, and the focus goes to the result
	p.edit("[name=subject]", "Edited")
	eval[bool](p, `(document.querySelector("[name=subject]").focus(), true)`)
	_, err := chromedp.Call(p.ctx, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown,
		Key: "Enter", Text: "\r", WindowsVirtualKeyCode: 13, Modifiers: 2})
	require.NoError(t, err)
	p.until(`location.pathname === "/requests/5" && document.activeElement.id === "detail" && ` + isLive)
	assert.Contains(t, b.control("GET", "/api/requests/5/body", ""), `"Edited"`)
}

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
