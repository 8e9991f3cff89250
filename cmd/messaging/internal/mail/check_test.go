package mail_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/mail"
)

func TestCheckFindsWhatGoesWrongInEmailPrograms(t *testing.T) {
	for message, want := range map[string][]string{
		`<p>Hi<br><img src="https://acme.test/a.gif" alt=""><a href="https://acme.test">look</a>`: nil,
		"Hi, no tags here": nil,
		`<p>Hi <img src="/a.gif"><img src="/b.gif"></p>`: {
			`medium, readers who block images: 2 images without alt text. The first: /a.gif <img src="/a.gif">`},
		`<p>Hi <a href=" HTTP://acme.test">look</a></p>`: {
			`low, browsers: Insecure link (http): HTTP://acme.test <a href=" HTTP://acme.test">`},
		`<p>Hi<a href="javascript:x()">a</a><a href="">b</a><a name="c">c</a><img src="cid:1" alt="">`: {
			`high, all programs: Image with cid: in its address, but nothing is attached: cid:1 <img src="cid:1" alt="">`,
			`high, all programs: Link with javascript: in its address, which is removed: javascript:x() <a href="javascript:x()">`,
			`high, all programs: Link without a destination (href=""): "b" <a href="">`},
		`<p>Hi<a href="#">a</a><a href="https://shop.test/x">https://SHOP.test</a><a href="https://evil.test">https://acme.test/login</a>`: {
			`high, all programs: Link without a destination (href="#"): "a" <a href="#">`,
			"medium, spam filters: Link whose text is the address of another host, as in phishing: https://acme.test/login " +
				`<a href="https://evil.test">`},
		`<p>Hi<a href="/offer">a</a><a href="https:///offer">b</a><a href="//acme.test/c">c</a>` +
			`<a href="{{url}}">d</a><a href="mailto:a@acme.test">e</a>`: {
			`high, all programs: 2 links without a host. The first: /offer <a href="/offer">`},
		`<p>Hi<a href="file:///C:/a.pdf">a</a><a href="C:\a.pdf">b</a><a href="ttps://acme.test">c</a><a href="“https://acme.test”">d</a>` +
			`<a href="mailto:">e</a><a href="https://acme .test/x">f</a><a href="acme://order/7">g</a><a href="tel:+491">h</a>`: {
			`high, all programs: 6 links without a host. The first: file:///C:/a.pdf <a href="file:///C:/a.pdf">`},
		`<p>Hi<img src="/a.gif"><a href="#">a</a><a href="#">b</a><a href="http://a.test">c</a><a href="http://b.test">d</a>`: {
			`high, all programs: 2 links without a destination. The first: "a" <a href="#">`,
			`medium, readers who block images: Image without alt text: /a.gif <img src="/a.gif">`,
			`low, browsers: 2 insecure links (http). The first: http://a.test <a href="http://a.test">`},
		`<p>Hi<img><a href="#"><img src="x" alt=""></a>`: {
			`high, all programs: Link without a destination (href="#") <a href="#">`,
			`medium, readers who block images: Image without alt text <img>`},
		`<p>Hi<form></form><video></video><script></script><iframe></iframe>`: {
			"high, all programs: <iframe> is removed <iframe>",
			"high, all programs: <script> is removed <script>",
			"high, Gmail, Outlook on Windows: <video> is removed <video>",
			"high, Outlook on Windows: <form> is removed <form>"},
		`<style>/* opacity: 0 */ a:hover { color: red } .a{border-radius:4px;background:#fff url(/x.png)}</style><p>Hi`: {
			"medium, Outlook on Windows: Ignored style: background images (/x.png)}</style>",
			"low, Outlook on Windows: Ignored style: border-radius :4px;background:#fff url(/x.png)}</style>"},
		`<p style="POSITION: absolute; --gap:1px">Hi<b style="display:grid;transform:none"></b><svg></svg>`: {
			"high, Gmail, Outlook on Windows: <svg> is removed <svg>",
			`medium, Gmail, Outlook on Windows: Ignored style: display: grid <b style="display:grid;transform:none">`,
			`medium, Gmail, Outlook on Windows: Ignored style: position <p style="POSITION: absolute; --gap:1px">`,
			`medium, Gmail, Outlook on Windows: Ignored style: transform <b style="display:grid;transform:none">`,
			`medium, Gmail, Outlook on Windows: Ignored style: custom properties <p style="POSITION: absolute; --gap:1px">`},
		`<style>@media screen and (prefers-color-scheme: dark) { p { row-gap: 1px } }</style>` +
			`<p style="background: linear-gradient(red, blue)">Hi`: {
			"low, Gmail, Outlook on Windows: Ignored style: @media (prefers-color-scheme) e: dark) { p { row-gap: 1px } }</style>",
			"low, Outlook on Windows: Ignored style: gap : 1px } }</style>",
			`low, Outlook on Windows: Ignored style: gradients <p style="background: linear-gradient(red, blue)">`},
		`<style>@font-face { font-family: x } @media (min-width: 1px) { p { margin: 0 } }</style><p>Hi`: {
			"low, Gmail, Outlook on Windows: Ignored style: @font-face e { font-family: x } @media (min-width: 1px) { p { margin: 0 } }</style>"},
		`<p style="background-position: left; display: block; text-transform: none; background: #fff">Hi opacity: 1`: nil,
		`<div><img src="/a.gif" alt=""></div>`: {"high, readers who block images: There is no text, so the message is empty"},
		`<div><b>Hi<i>there</b></div><span>x`:  {"low, all programs: Tags that are not closed: i, span <i>"},
		`<p>` + strings.Repeat("x", 103<<10):   {"high, Gmail: The message has 105 kB: Gmail cuts off what is over 104 kB (102 KiB)"},
	} {
		var got []string
		for _, f := range mail.Check(message, len(message)) {
			line := string(f.Severity) + ", " + f.Affects + ": " + f.Text
			if f.At >= 0 && f.At < mail.Clipped {
				tag, _, _ := strings.Cut(message[f.At:], ">")
				line += " " + tag + ">"
			}
			got = append(got, line)
		}
		assert.Equal(t, want, got, "%.60s", message)
	}
}

func TestTheBeginningOfAMessageIsCheckedWithoutItsEnd(t *testing.T) {
	findings := mail.Check("<div>Hi", 200<<10)
	require.Len(t, findings, 1)
	assert.Equal(t, "The message has 204 kB: Gmail cuts off what is over 104 kB (102 KiB)", findings[0].Text)
	assert.Equal(t, mail.Clipped, findings[0].At)
}

func TestLinksSayWhatIsWrongWithThem(t *testing.T) {
	message := `<a href="http://acme.test">plain</a><a href="JavaScript:x()">run</a><a href="#">top</a>` +
		`<a href="https://localhost:3000/x">here</a><a href="https://127.0.0.1">here</a><a href="https://localhost.test">here</a>` +
		`<a href="http://b.test/x">https://a.test/x</a><a href="https://a.test/x">https://a.test/x</a>`
	var problems [][]string
	for _, link := range mail.Links(message) {
		problems = append(problems, link.Problems)
	}
	assert.Equal(t, [][]string{{"not https"}, {"javascript"}, {"no address"}, {"only on this machine"}, {"only on this machine"}, nil,
		{"not https", "shows another host"}, nil}, problems)
}
