package inspector_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
)

const testToken = "a-token-of-at-least-128-bits"

func startWithToken(t *testing.T) *fixture {
	return startWith(t, records.Demo(), testToken, func(*sandbox.Config) {})
}

func bearer(token string) func(*http.Request) { return header("Authorization", "Bearer "+token) }

func TestInspectorWithATokenAdmitsNobodyElse(t *testing.T) {
	f := startWithToken(t)
	for _, path := range []string{"/", "/requests/1", "/api/requests", "/api/access", "/api/stream", "/api/dump", "/static/style.css",
		"/preview/1", "/rows?section=requests", "/openapi.json", "/help", "/nothing"} {
		for name, change := range map[string]func(*http.Request){
			"nothing":         func(*http.Request) {},
			"another token":   bearer("another-token-of-128-bits"),
			"a part of it":    bearer(testToken[:10]),
			"no token":        bearer(""),
			"a cookie":        header("Cookie", "messaging-sandbox-1=x"),
			"the API key":     bearer(testKey),
			"it in the query": func(r *http.Request) { r.URL.RawQuery = "token=" + testToken },
		} {
			got := f.do("GET", f.ui+path, "", change)
			assert.Equal(t, 401, got.Status, "%s with %s", path, name)
			assert.Equal(t, "Bearer", got.Header.Get("WWW-Authenticate"))
		}
	}
	assert.Equal(t, 401, f.post("/api/reset", "").Status)
	assert.JSONEq(t, `{"ok":true}`, f.get("/healthz").Body)
	assert.Equal(t, 200, f.do("GET", f.ui+"/api/access", "", bearer(testToken)).Status)
}

func TestLoginLeadsBackToThePage(t *testing.T) {
	f := startWithToken(t)
	f.send("GET", "/v1/events", "")
	browser := header("Accept", "text/html,*/*")
	asked := f.do("GET", f.ui+"/requests/1?tab=copy&q=%22%3E", "", browser)
	assert.Equal(t, 401, asked.Status)
	assert.Contains(t, asked.Body, `<input type="hidden" name="next" value="/requests/1?tab=copy&amp;q=%22%3E">`)
	assert.NotContains(t, asked.Header.Get("Content-Security-Policy"), "unsafe")
	linked := f.do("GET", f.ui+"/requests/1", "", browser, header("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate",
		"Sec-Fetch-Dest", "document"))
	assert.Equal(t, 401, linked.Status)
	assert.Contains(t, linked.Body, `value="/requests/1"`, "another site may link to a page")

	form := header("Content-Type", "application/x-www-form-urlencoded")
	next := "next=" + url.QueryEscape("/requests/1?tab=copy")
	wrong := f.do("POST", f.ui+"/login", "token=wrong&"+next, form)
	assert.Equal(t, 403, wrong.Status)
	assert.Contains(t, wrong.Body, `value="/requests/1?tab=copy"`, "a second attempt leads there too")
	right := f.do("POST", f.ui+"/login", "token="+url.QueryEscape(testToken)+"&"+next, form)
	assert.Equal(t, 303, right.Status)
	assert.Equal(t, "/requests/1?tab=copy", right.Header.Get("Location"))
	cookie, _, _ := strings.Cut(right.Header.Get("Set-Cookie"), ";")
	assert.Equal(t, 200, f.do("GET", f.ui+right.Header.Get("Location"), "", header("Cookie", cookie)).Status)
}

func TestLoginLeadsToNoOtherSite(t *testing.T) {
	f := startWithToken(t)
	form := header("Content-Type", "application/x-www-form-urlencoded")
	for _, next := range []string{"", "https://evil.example", "//evil.example", "//evil.example/x",
		"///evil.example", `/\evil.example`, `\/evil.example`,
		"/\t/evil.example", "/\n/evil.example", "\t//evil.example", " //evil.example", "javascript:alert(1)", "evil.example", "/login",
		"/login?next=/login",
		"/..//evil.example", "/.//evil.example", "http:/evil.example", "/%0d%0aX: y\r\nLocation: //evil.example", "?x",
		"/%2f/evil.example"} {
		got := f.do("POST", f.ui+"/login", "token="+url.QueryEscape(testToken)+"&next="+url.QueryEscape(next), form)
		assert.Equal(t, 303, got.Status, next)
		assert.Equal(t, "/", got.Header.Get("Location"), next)
		wrong := f.do("POST", f.ui+"/login", "token=wrong&next="+url.QueryEscape(next), form)
		assert.Contains(t, wrong.Body, `name="next" value="/"`, next)
	}
	got := f.do("GET", f.ui+"//evil.example", "", header("Accept", "text/html"))
	assert.Equal(t, 404, got.Status, "a path that is not clean has no page")
}

func TestLoginSetsACookieForThisPortAlone(t *testing.T) {
	f := startWithToken(t)
	form := header("Content-Type", "application/x-www-form-urlencoded")
	page := f.get("/login")
	assert.Equal(t, 200, page.Status)
	assert.NotContains(t, page.Header.Get("Content-Security-Policy"), "unsafe")
	wrong := f.do("POST", f.ui+"/login", "token=wrong", form)
	assert.Equal(t, 403, wrong.Status)
	assert.Empty(t, wrong.Header.Get("Set-Cookie"))
	assert.Contains(t, wrong.Body, "That is not the token")
	body := "token=" + url.QueryEscape(testToken)
	forged := f.do("POST", f.ui+"/login", body, form, header("Origin", "https://evil.example"))
	assert.Equal(t, 403, forged.Status)
	assert.Empty(t, forged.Header.Get("Set-Cookie"))

	right := f.do("POST", f.ui+"/login", body, form, header("Origin", f.ui))
	require.Equal(t, 303, right.Status)
	cookie := right.Header.Get("Set-Cookie")
	_, port, _ := strings.Cut(strings.TrimPrefix(f.ui, "http://"), ":")
	assert.Contains(t, cookie, "messaging-sandbox-"+port+"=")
	assert.NotContains(t, cookie, testToken)
	for _, attribute := range []string{"HttpOnly", "SameSite=Strict", "Path=/"} {
		assert.Contains(t, cookie, attribute)
	}
	cookie, _, _ = strings.Cut(cookie, ";")
	assert.Equal(t, 200, f.do("GET", f.ui+"/", "", header("Cookie", cookie)).Status)
	assert.Equal(t, 401, f.do("GET", f.api+"/v1/events", "", header("Cookie", cookie)).Status, "the service wants its key")
	assert.Equal(t, 401, f.do("GET", f.api+"/v1/events", "", bearer(testToken)).Status)
}
