package mail_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/messaging-go/messaging/cmd/messaging/internal/mail"
)

func TestCheckFindsWhatGoesWrongInEmailPrograms(t *testing.T) {
	for message, want := range map[string][]string{
		`<p>Hi<br><img src="https://acme.test/a.gif" alt=""><a href="https://acme.test">look</a>`: nil,
		"Hi, no tags here": nil,
		`<p>Hi <img src="/a.gif"><img src="/b.gif"></p>`: {
			"2 images without alt: a reader with images switched off sees nothing there. The first is /a.gif"},
		`<p>Hi <a href=" HTTP://acme.test">look</a></p>`: {"1 link to http: instead of https:. It is HTTP://acme.test"},
		`<p>Hi<a href="javascript:x()">a</a><a href="">b</a><a name="c">c</a><img src="cid:1" alt="">`: {
			"1 image with cid: in the address, but nothing is attached. It is cid:1",
			"1 link with javascript: in the address, which email programs remove. It is javascript:x()",
			"1 link without an address, or only with #. It is b"},
		`<p>Hi<a href="#">a</a><a href="https://shop.test/x">https://SHOP.test</a><a href="https://evil.test">https://acme.test/login</a>`: {
			"1 link without an address, or only with #. It is a",
			"1 link whose text is the address of another host: spam filters take them for phishing. It is https://acme.test/login"},
		`<p>Hi<form></form><script></script><iframe></iframe>`: {"Elements that email programs remove: form, iframe, script."},
		`<style>/* opacity: 0 */ a:hover { color: red } .a{border-radius:4px;background:#fff url(/x.png)}</style><p>Hi`: {
			"Styles that Outlook on Windows ignores: background images, border-radius."},
		`<p style="POSITION: absolute; --gap:1px">Hi<b style="display:grid;transform:none"></b><svg></svg>`: {
			"Elements that email programs remove: svg.",
			"Styles that Gmail and Outlook on Windows ignore: custom properties, display: grid, position, transform."},
		`<p style="background-position: left; display: block; text-transform: none; background: #fff">Hi opacity: 1`: nil,
		`<div><img src="/a.gif" alt=""></div>`: {"There is no plain text: without images, the message is empty."},
		`<div><b>Hi<i>there</b></div><span>x`:  {"Tags that are not closed: i, span."},
		`<p>` + strings.Repeat("x", 103<<10):   {"The message has 103 kB: Gmail clips what is over 102 kB."},
	} {
		assert.Equal(t, want, mail.Check(message), "%.60s", message)
	}
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
