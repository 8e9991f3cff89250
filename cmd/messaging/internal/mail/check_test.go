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
			`medium: 2 images without alt text. The first: /a.gif`},
		`<p>Hi <a href=" HTTP://acme.test">look</a><img src="http://acme.test/a.gif" alt="a">`: {
			`high: 1 image loaded over http: http://acme.test/a.gif`,
			`low: 1 link over http, which is insecure: HTTP://acme.test`},
		`<p>Hi<a href="javascript:x()">a</a><a href="">b</a><a name="c">c</a><a href="#">d</a>`: {
			`high: 2 links without a destination`,
			`high: 1 link without a host: javascript:x()`},
		`<p>Hi<a href="/offer">a</a><a href="https:///offer">b</a><a href="//acme.test/c">c</a>` +
			`<a href="{{url}}">d</a><a href="mailto:a@acme.test">e</a>`: {
			`high: 2 links without a host. The first: /offer`},
		`<p>Hi<a href="C:\a.pdf">b</a><a href="“https://acme.test”">d</a><a href="file:///C:/a.pdf">a</a>` +
			`<a href="mailto:">e</a><a href="https://acme .test/x">f</a><a href="acme://order/7">g</a><a href="tel:+491">h</a>`: {
			`high: 5 links without a host. The first: C:\a.pdf`},
		`<p>Hi<a href="JavaScript:x()">run</a><a href="#top">up</a><a href="http://localhost:3000/x">here</a>` +
			`<a href="https://127.0.0.1">here</a><a href="https://localhost.test">here</a>`: {
			`high: 2 links to this machine, which nobody else can open. The first: http://localhost:3000/x`,
			`high: 1 link without a host: JavaScript:x()`},
		`<div><img src="/a.gif" alt=""></div>`: {"high: There is no text: readers who block images see an empty message"},
		`<p>` + strings.Repeat("x", 103<<10):   {"high: The message has 105 kB: Gmail cuts off what is over 104 kB (102 KiB)"},
	} {
		var got []string
		for _, f := range mail.Check(message, len(message)) {
			got = append(got, f.Severity+": "+f.Text)
		}
		assert.Equal(t, want, got, "%.60s", message)
	}
}

func TestTheBeginningOfAMessageIsCheckedWithoutItsEnd(t *testing.T) {
	findings := mail.Check("<div>Hi", 200<<10)
	require.Len(t, findings, 1)
	assert.Equal(t, "The message has 204 kB: Gmail cuts off what is over 104 kB (102 KiB)", findings[0].Text)
}
