package mail_test

import (
	"encoding/xml"
	"html"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/mail"
)

// TestCleanRemovesWhatConnectsWithoutLoading has each line of the email that a browser shows in another test.
func TestCleanRemovesWhatConnectsWithoutLoading(t *testing.T) {
	content, err := os.ReadFile("../../browsertest/testdata/hostile.html")
	require.NoError(t, err)
	for _, message := range append(strings.Split(string(content), "\n"), string(content)) {
		cleaned, ok := mail.Clean(message)
		require.True(t, ok, message)
		again, ok := mail.Clean(cleaned)
		require.True(t, ok, message)
		assert.Equal(t, cleaned, again, "what a browser reads has nothing to remove: %s", message)
		lower := strings.NewReplacer("&lt;", "", "<style><link", "").Replace(strings.ToLower(cleaned))
		for _, element := range []string{"<link", "http-equiv", "<base", "<script", "<iframe", "<frame", "<object", "<embed",
			"href=\"http", "href=\"//", "<set", "<animate", ":set", "ping=\"http", "action=\"http"} {
			assert.NotContains(t, lower, element, "%s\nis %s", message, cleaned)
		}
	}
}

func TestCleanGivesUpOnWhatIsNestedTooDeeply(t *testing.T) {
	_, ok := mail.Clean(strings.Repeat("<div>", 2000) + "HELLO")
	assert.False(t, ok)
}

func TestCleanKeepsContentAndShowsWhereALinkLeads(t *testing.T) {
	for message, want := range map[string][]string{
		`<a href="https://acme.test/map">See</a> <a href="#top">Up</a> <a href="/x" title="mine">x</a>`: {
			`<a href="#" title="https://acme.test/map">See</a> <a href="#top">Up</a> <a href="#" title="mine">x</a>`},
		`<!doctype html><meta charset=utf-8><style>p{color:red}</style><p style="margin:0">Hi <b>Ada</b></p>`: {
			`<style>p{color:red}</style>`, `<p style="margin:0">Hi <b>Ada</b></p>`, `charset="utf-8"`},
		`<picture><source srcset="https://acme.test/a.webp"/><img src="data:image/png;base64,AA=="/></picture>`: {
			`<picture><source/><img src="data:image/png;base64,AA=="/></picture>`},
	} {
		cleaned, ok := mail.Clean(message)
		require.True(t, ok)
		for _, part := range want {
			assert.Contains(t, cleaned, part)
		}
	}
}

func TestCleanShowsThePlaceOfARemoteImage(t *testing.T) {
	for message, want := range map[string][]string{
		`<img src="https://acme.test/hero.jpg" width=600 height=220 alt="Two <boots>">`: {`width="600" height="220"`, "Two &lt;boots&gt;"},
		`<img src=//acme.test/a.png width=150px alt="Acme">`:                            {`width="150" height="80"`, ">Acme<"},
		`<img src=a.png srcset="b.png 2x" height=100 style="x">`:                        {`width="240" height="100"`, "></text>"},
		`<img src=a.png width=100% alt="a` + "\x01\n" + `b">`:                           {`width="240" height="80"`, ">a b<"},
		`<img src=https://acme.test/open.gif width=1 height=1 alt="tracker">`:           {`width="1" height="1"`},
	} {
		cleaned, ok := mail.Clean(message)
		require.True(t, ok, message)
		assert.NotRegexp(t, `(?i)\.(png|gif|jpg)|srcset`, cleaned)
		source := regexp.MustCompile(`src="data:image/svg\+xml,([^"]*)"`).FindStringSubmatch(cleaned)
		require.NotNil(t, source, cleaned)
		picture, err := url.PathUnescape(html.UnescapeString(source[1]))
		require.NoError(t, err)
		require.NoError(t, xml.Unmarshal([]byte(picture), new(struct{ XMLName xml.Name })), picture)
		for _, part := range want {
			assert.Contains(t, picture, part)
		}
	}
}

func TestMessagesAreReadWithoutABrowser(t *testing.T) {
	message := `<title>x</title><style>a{}</style><h1>Moved</h1><p>Dear&nbsp;{{ first_name }},<br>see
		 <a href="https://acme.test/?a=1&amp;b=2">the <b>map</b></a> {{coupon}}</p>
		 <img src=https://acme.test/p.gif alt=Logo><img src="data:image/gif;base64,R0"><img srcset="/a.png 2x">`
	assert.Equal(t, 2, mail.RemoteImages(message))
	assert.Equal(t, "Moved\nDear {{ first_name }},\nsee the map {{coupon}}\nLogo", mail.Text(message))
	for text, want := range map[string][]string{
		message: {"coupon", "first_name"},
		`{{ customer.first_name | default: "you" }}, {{coupon|upper}}`: {"coupon", "customer.first_name"},
		`{{#if vip}}{{/if}} {{> footer}} {{! note }} {{^x}} {{&y}}`:    nil,
		`{% if vip %}{{ name }}{% endif %}`:                            {"name"},
		`{{ | default: "you" }} {{two words}}`:                         nil,
	} {
		assert.Equal(t, want, mail.Placeholders("", text), text)
	}
	const plain = "1 < 2 and 3 > 2\nhttps://acme.test/map"
	assert.False(t, mail.IsHTML(plain))
	assert.Equal(t, plain, mail.Text(plain))
	for _, html := range []string{message, "<p>", "a <br/> b", "<!DOCTYPE html>", `<a href="x">`, "</div>"} {
		assert.True(t, mail.IsHTML(html), html)
	}
}

func FuzzCleanEnds(f *testing.F) {
	f.Add(`<noscript><style><link rel=preconnect href=x>`)
	f.Fuzz(func(t *testing.T, message string) {
		cleaned, ok := mail.Clean(message)
		if !ok {
			return
		}
		again, ok := mail.Clean(cleaned)
		if !ok || again != cleaned {
			t.Fatalf("not stable: %q becomes %q", cleaned, again)
		}
	})
}

func TestAMessageIsFixedIfAPartOfItIsWiderThanEveryPhone(t *testing.T) {
	for message, want := range map[string]bool{
		`<table width="600px" style="border: 0"><tr><td>Hi</table>`:                          true,
		`<div style="color: red; width: 640px">Hi</div>`:                                     true,
		`<div style="min-width:500px">Hi</div>`:                                              true,
		`<img src="a.png" width=580>`:                                                        true,
		`<table width="320"><tr><td>Hi</table>`:                                              false,
		`<table width="100%"><tr><td>Hi</table>`:                                             false,
		`<style>td { width: 900px }</style><p>Hi`:                                            false,
		`<table width="600" style="width:100%;max-width:600px"><tr><td>Hi</table>`:           false,
		`<!--[if mso]><table width="600"><![endif]--><p>Hi</p>`:                              false,
		`<style>@media (max-width: 480px) { td { width: 100% } }</style><table width="600">`: false,
		"": false,
	} {
		assert.Equal(t, want, mail.IsFixed(message), message)
	}
}
