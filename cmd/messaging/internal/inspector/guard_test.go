package inspector_test

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector/guard"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
)

var (
	same  = header("Sec-Fetch-Site", "same-origin")
	cross = header("Sec-Fetch-Site", "cross-site")
	link  = header("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document")
	frame = header("Sec-Fetch-Dest", "iframe", "Sec-Fetch-Site", "same-origin")
)

func TestRequestsThatAreRefusedChangeNothing(t *testing.T) {
	f := start(t)
	ui, err := url.Parse(f.ui)
	require.NoError(t, err)
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	large := strings.Repeat(" ", 64<<20+1)
	f.fill()
	for _, test := range []struct {
		name, method, target, body string
		change                     func(*http.Request)
		status                     int
	}{
		{"a page", "GET", f.ui + "/", "", host(ui.Host), 200},
		{"a page as localhost", "GET", f.ui + "/", "", host("localhost:" + ui.Port()), 200},
		{"a page as ::1", "GET", f.ui + "/", "", host("[::1]:" + ui.Port()), 200},
		{"a page under a name that is allowed", "GET", f.ui + "/", "", host("sandbox.internal:" + ui.Port()), 200},
		{"a page under a name with another port", "GET", f.ui + "/", "", host("Sandbox.internal:1"), 200},
		{"a page through a forwarded port", "GET", forwarded(t, f.ui) + "/", "", same, 200},
		{"the service through a forwarded port in a tab", "GET", forwarded(t, f.api) + "/favicon.ico", "", same, 404},
		{"a page that another site links to", "GET", f.ui + "/requests/4", "", link, 200},
		{"a search that another site links to", "GET", f.ui + "/?q=ada", "", link, 403},
		{"a page with an empty query that another site links to", "GET", f.ui + "/?", "", link, 403},
		{"a page in a frame of another site", "GET", f.ui + "/", "",
			header("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"), 403},
		{"a style sheet that another site uses", "GET", f.ui + "/static/style.css", "", cross, 403},
		{"the API that another site links to", "GET", f.ui + "/api/requests", "", link, 403},
		{"an evil host", "GET", f.ui + "/", "", host("evil.example:" + ui.Port()), 421},
		{"a host that begins like ours", "GET", f.ui + "/", "", host("localhost.evil.example"), 421},
		{"our host with another port", "GET", f.ui + "/", "", host("127.0.0.1:1"), 200},
		{"our host without a port", "GET", f.ui + "/", "", host("localhost"), 200},
		{"a rebound send to the service", "POST", f.api + "/v1/events", "{}", host("evil.example"), 421},
		{"a cross-site send to the service", "POST", f.api + "/v1/events/trigger", "{}", cross, 403},
		{"a send of another origin to the service", "POST", f.api + "/v1/events", "{}", header("Origin", "https://evil.example"), 403},
		{"a WebSocket of another origin to the service", "GET", f.api + "/v1/events", "",
			header("Origin", "https://evil.example", "Connection", "Upgrade", "Upgrade", "websocket"), 403},
		{"a WebSocket without an origin to the service", "GET", f.api + "/v1/events", "",
			header("Connection", "Upgrade", "Upgrade", "websocket"), 403},
		{"the service in a tab", "GET", f.api + "/", "",
			header("Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"), 404},
		{"the icon of the service in a tab", "GET", f.api + "/favicon.ico", "",
			header("Sec-Fetch-Site", "same-origin", "Sec-Fetch-Dest", "image"), 404},
		{"a forged post", "POST", f.ui + "/api/reset", "", cross, 403},
		{"a post of an older browser from another site", "POST", f.ui + "/api/reset", "", header("Origin", "https://evil.example"), 403},
		{"a post of the origin null", "POST", f.ui + "/api/reset", "", header("Origin", "null"), 403},
		{"a read from the same site on another port", "GET", f.ui + "/api/dump", "", header("Sec-Fetch-Site", "same-site"), 403},
		{"a cross-site read of the key", "GET", f.ui + "/api/access", "", cross, 403},
		{"a preview in its frame", "GET", f.ui + "/preview/4", "", frame, 200},
		{"a preview opened directly", "GET", f.ui + "/preview/4", "", header("Sec-Fetch-Dest", "document", "Sec-Fetch-Site", "none"), 403},
		{"a preview without a browser", "GET", f.ui + "/preview/4", "", header(), 403},
		{"a preview in a frame of another site", "GET", f.ui + "/preview/4", "",
			header("Sec-Fetch-Dest", "iframe", "Sec-Fetch-Site", "cross-site"), 403},

		{"a preview of what is not an email", "GET", f.ui + "/preview/1", "", frame, 404},
		{"a request that does not exist", "GET", f.ui + "/api/requests/999", "", same, 404},
		{"a trigger that is a broadcast", "GET", f.ui + "/api/triggers/4", "", same, 404},
		{"a path beside the API", "GET", f.ui + "/apis", "", same, 404},
		{"the API alone", "GET", f.ui + "/api", "", same, 404},
		{"a page that does not exist", "GET", f.ui + "/requests/999", "", header(), 404},
		{"a number with a sign", "GET", f.ui + "/api/requests/+1", "", same, 404},
		{"a number with a zero before it", "GET", f.ui + "/api/requests/01", "", same, 404},
		{"an id that climbs", "GET", f.ui + "/api/requests/../../../etc/passwd", "", same, 404},
		{"an id that climbs, escaped", "GET", f.ui + "/api/requests/..%2f..%2fetc%2fpasswd", "", same, 404},
		{"a file that climbs", "GET", f.ui + "/static/../server.go", "", same, 404},
		{"a rule that does not exist", "DELETE", f.ui + "/api/faults/99", "", same, 404},

		{"a seed over the limit", "POST", f.ui + "/api/seed", large, same, 413},
		{"a form that does not say what to reset", "POST", f.ui + "/reset", "", same, 422},
		{"a reset with a body", "POST", f.ui + "/api/reset", `{"what":"faults"}`, same, 400},
		{"a mark with a long name", "POST", f.ui + "/api/mark", `{"name":"` + strings.Repeat("x", 201) + `"}`, same, 422},
		{"an unknown key of a mark", "POST", f.ui + "/api/mark", `{"nme":"x"}`, same, 422},
		{"more text after a fault", "POST", f.ui + "/api/faults", `{"fault":{"kind":"answer_lost"}} x`, same, 422},
		{"an unknown kind of fault", "POST", f.ui + "/api/faults", `{"fault":{"kind":"fire"}}`, same, 422},
		{"a fault for requests with a status", "POST", f.ui + "/api/faults", `{"match":"status:502","fault":{"kind":"answer_lost"}}`, same, 422},
		{"an unknown key", "POST", f.ui + "/api/faults", `{"operation":"","fault":{"kind":"answer_lost"}}`, same, 422},
		{"an outage without end", "POST", f.ui + "/api/outage", `{"for":"0s"}`, same, 422},
		{"a broken seed", "POST", f.ui + "/api/seed", `{"customers":[{"emial":"a@b.test"}]}`, same, 422},
		{"a wait longer than 60 s", "GET", f.ui + "/api/wait?timeout=61s", "", same, 400},
		{"a wait for no duration", "GET", f.ui + "/api/wait?timeout=long", "", same, 400},
		{"a query that cannot be read", "GET", f.ui + "/api/requests?q=status:many", "", same, 400},
		{"a wait for too many", "GET", f.ui + "/api/wait?count=1001", "", same, 400},
		{"a wait for less than none", "GET", f.ui + "/api/wait?count=-1", "", same, 400},
		{"a wait after nothing", "GET", f.ui + "/api/wait?after=-1", "", same, 400},
		{"a limit over 200", "GET", f.ui + "/api/requests?limit=201", "", same, 400},
	} {
		got := f.do(test.method, test.target, test.body, test.change)
		assert.Equal(t, test.status, got.Status, "%s: %s", test.name, got.Body)
		assert.Empty(t, got.Header.Get("Access-Control-Allow-Origin"), test.name)
		if api := strings.HasPrefix(test.target, f.ui+"/api/") || test.target == f.ui+"/api"; api && got.Status == 404 {
			assert.Equal(t, "application/json", got.Header.Get("Content-Type"), test.name)
		}
		if got.Status >= 400 && got.Header.Get("Content-Type") == "application/json" {
			assert.True(t, json.Valid([]byte(got.Body)), got.Body)
		}
		if strings.HasPrefix(test.target, f.ui) {
			assert.NotEmpty(t, got.Header.Get("Content-Security-Policy"), test.name)
		}
	}
	assert.Len(t, f.box.Rules(), 0, "none of them added a rule")
	assert.Equal(t, 7, f.box.History.State().Requests, "and none reset the history or reached the service")
}

// forwarded returns the URL of a proxy on another port, which leaves the Host as it is.
func forwarded(t *testing.T, target string) string {
	address, err := url.Parse(target)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(address)
	proxy.Transport = newClient(t).Transport
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL
}

func TestTheServiceChecksTheHostOnALoopbackAddressAlone(t *testing.T) {
	hosts := map[string]int{"evil.example": 421, "localhost:1": 200, "sandbox.internal": 200}
	for address, status := range map[string]int{"127.0.0.1:0": 421, "0.0.0.0:0": 200} {
		f := start(t, func(c *sandbox.Config, _ *guard.Config) {
			require.NoError(t, c.Listener.Close())
			listener, err := net.Listen("tcp", address)
			require.NoError(t, err)
			c.Listener, c.Wrap = listener, guard.Service(listener.Addr(), []string{"sandbox.internal"})
		})
		f.api = strings.Replace("http://"+f.box.Addr(), "0.0.0.0", "127.0.0.1", 1)
		hosts["evil.example"] = status
		for name, want := range hosts {
			got := f.do("GET", f.api+"/v1/events", "", header("X-Authorization", testKey), func(r *http.Request) { r.Host = name })
			assert.Equal(t, want, got.Status, "%s at %s", name, address)
		}
		cross := f.do("GET", f.api+"/v1/events", "", cross, header("X-Authorization", testKey))
		assert.Equal(t, 403, cross.Status, "another site does not reach it at %s", address)
	}
	f := start(t)
	for name, want := range map[string]string{"devbox:8078": `--allow-host "devbox"`, "a;b": `--allow-host "a;b"`,
		strings.Repeat("x", 9000): `--allow-host "` + strings.Repeat("x", 100) + `…"`} {
		got := f.do("GET", f.ui+"/", "", func(r *http.Request) { r.Host = name })
		var body struct{ Error string }
		require.NoError(t, json.Unmarshal([]byte(got.Body), &body), got.Body)
		assert.Equal(t, "unknown host name; if it is one of this machine, start the sandbox with "+want, body.Error)
	}
}

func TestPagesAndPreviewsHaveTheirPolicies(t *testing.T) {
	f := start(t)
	f.fill()
	page := f.get("/requests/4").Header.Get("Content-Security-Policy")
	for _, directive := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-src 'self'",
		"frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"} {
		assert.Contains(t, page, directive)
	}
	assert.NotContains(t, page, "unsafe")
	preview := f.do("GET", f.ui+"/preview/4", "", frame)
	assert.Equal(t, "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; font-src data:; base-uri 'none'; "+
		"form-action 'none'; frame-ancestors 'self'", preview.Header.Get("Content-Security-Policy"))
	for name, want := range map[string]string{"X-DNS-Prefetch-Control": "off", "Referrer-Policy": "no-referrer",
		"X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin"} {
		assert.Equal(t, want, preview.Header.Get(name), name)
	}
	assert.Contains(t, preview.Body, "Hi {{name}}")
}

const testToken = "a-token-of-at-least-128-bits"

func withToken(_ *sandbox.Config, c *guard.Config) { c.Token = testToken }

func bearer(token string) func(*http.Request) { return header("Authorization", "Bearer "+token) }

func TestInspectorWithATokenAdmitsNobodyElse(t *testing.T) {
	f := start(t, withToken)
	for _, path := range []string{"/", "/api/requests", "/api/stream", "/static/style.css", "/preview/1", "/nothing"} {
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

func TestLoginSetsACookieForThisPortAndLeadsBackToThePage(t *testing.T) {
	f := start(t, withToken)
	f.read()
	browser := header("Accept", "text/html,*/*", "Content-Type", "application/x-www-form-urlencoded")
	const page = "/requests/1?tab=again&q=%3E"
	login := func(token string, change ...func(*http.Request)) reply {
		return f.do("POST", f.ui+page, url.Values{"token": {token}}.Encode(), append(change, browser)...)
	}
	for name, got := range map[string]reply{"a page": f.do("GET", f.ui+page, "", browser), "a wrong token": login("wrong"),
		"a page that another site links to": f.do("GET", f.ui+"/requests/1", "", browser, link)} {
		assert.Equal(t, 401, got.Status, name)
		assert.Contains(t, got.Body, `<form method="post"><label>Token`, name)
		assert.NotContains(t, got.Header.Get("Content-Security-Policy"), "unsafe", name)
		assert.Empty(t, got.Header.Get("Set-Cookie"), name)
		assert.Equal(t, name == "a wrong token", strings.Contains(got.Body, "That is not the token"), name)
	}
	forged := login(testToken, header("Origin", "https://evil.example"))
	assert.Equal(t, 403, forged.Status)
	assert.Empty(t, forged.Header.Get("Set-Cookie"))

	right := login(testToken)
	require.Equal(t, 303, right.Status)
	assert.Equal(t, page, right.Header.Get("Location"))
	cookie := right.Header.Get("Set-Cookie")
	_, port, _ := strings.Cut(strings.TrimPrefix(f.ui, "http://"), ":")
	assert.NotContains(t, cookie, testToken)
	for _, part := range []string{"messaging-sandbox-" + port + "=", "HttpOnly", "SameSite=Strict", "Path=/"} {
		assert.Contains(t, cookie, part)
	}
	cookie, _, _ = strings.Cut(cookie, ";")
	assert.Equal(t, 200, f.do("GET", f.ui+page, "", header("Cookie", cookie)).Status)
	assert.Equal(t, 401, f.do("GET", f.api+"/v1/events", "", header("Cookie", cookie)).Status, "the service wants its key")
	assert.Equal(t, 401, f.do("GET", f.api+"/v1/events", "", bearer(testToken)).Status)
	for path, location := range map[string]string{"//evil.example": "", "/..//evil.example": "", "/.//evil.example": "",
		"/%2f/evil.example": "", "/%5Cevil.example": "/%5Cevil.example"} {
		got := f.do("POST", f.ui+path, url.Values{"token": {testToken}}.Encode(), browser)
		assert.Equal(t, location == "", got.Status == 404, path)
		assert.Equal(t, location, got.Header.Get("Location"), "%s leads to no other site", path)
	}
}
