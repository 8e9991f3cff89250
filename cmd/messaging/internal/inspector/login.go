package inspector

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"html/template"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
)

// door admits only who knows the token. Programs send it with each request. Browsers send
// it once, and then a cookie for this port.
type door struct {
	token   string
	cookie  string // its name
	session string // its value
}

func newDoor(address net.Addr, token string) *door {
	_, port, _ := net.SplitHostPort(address.String())
	return &door{token: token, cookie: "messaging-sandbox-" + port, session: rand.Text()}
}

// wrap returns a handler that admits everybody to /healthz and /login.
func (d *door) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/login":
			d.login(w, r)
		case r.URL.Path == "/healthz", d.admits(r):
			next.ServeHTTP(w, r)
		case r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html"):
			// not a redirect: its query would look like a search that another site links to
			writeLogin(w, http.StatusUnauthorized, loginView{Next: localPath(r.URL.RequestURI())})
		default:
			w.Header().Set("WWW-Authenticate", "Bearer")
			respondError(w, http.StatusUnauthorized, "the token of the sandbox is missing or wrong")
		}
	})
}

func (d *door) admits(r *http.Request) bool {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && same(token, d.token) {
		return true
	}
	cookie, err := r.Cookie(d.cookie)
	return err == nil && same(cookie.Value, d.session)
}

// same compares in a time that shows nothing of the texts.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

func (d *door) login(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
		writeLogin(w, http.StatusOK, loginView{Next: "/"})
	case http.MethodPost:
		next := localPath(r.PostFormValue("next"))
		if same(strings.TrimSpace(r.PostFormValue("token")), d.token) {
			http.SetCookie(w, &http.Cookie{Name: d.cookie, Value: d.session, Path: "/", HttpOnly: true,
				SameSite: http.SameSiteStrictMode})
			http.Redirect(w, r, next, http.StatusSeeOther)
			return
		}
		writeLogin(w, http.StatusForbidden, loginView{Next: next, Failed: true})
	default:
		w.Header().Set("Allow", "GET, POST")
		respondError(w, http.StatusMethodNotAllowed, "method not allowed")
	}
}

// loginView is what the login page shows, and where it leads to.
type loginView struct {
	Next   string // a local path
	Failed bool
}

func writeLogin(w http.ResponseWriter, status int, view loginView) {
	setPolicy(w.Header(), loginPolicy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = loginPage().Execute(w, view) // the client may have disconnected
}

// localPath returns a path of this server with its query, or "/" in place of what is none:
// browsers read // and /\ as the beginning of another address.
func localPath(target string) string {
	parsed, err := url.Parse(target)
	if err != nil || !strings.HasPrefix(target, "/") || strings.HasPrefix(target, "//") || strings.Contains(target, `\`) ||
		path.Clean(parsed.Path) != parsed.Path || parsed.Path == "/login" {
		return "/"
	}
	return parsed.RequestURI()
}

const loginStyle = `:root { color-scheme: light dark }
body { margin: 0; min-height: 100dvh; display: grid; place-items: center;
  background: light-dark(#f7f7f5, #121211); color: light-dark(#1c1b19, #eae8e4);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif }
main { box-sizing: border-box; width: min(400px, 100vw - 32px); margin: 16px; padding: 26px 28px 28px;
  border: 1px solid light-dark(#e6e5e1, #2a2927);
  border-radius: 12px; background: light-dark(#fff, #1e1e1c) }
h1 { display: flex; align-items: center; gap: 10px; margin: 0 0 10px; font-size: 18px; letter-spacing: -.015em }
svg { width: 23px; fill: none; stroke: light-dark(#2b5bd0, #8db0ff); stroke-width: 1.9; stroke-linejoin: round }
p { margin: 0 0 16px; color: light-dark(#6b6862, #9d998f) }
label { display: grid; gap: 5px; font-weight: 550 }
input { font: inherit; padding: 8px 11px; border: 1px solid light-dark(#8d8a83, #6f6c65); border-radius: 7px;
  background: light-dark(#fff, #121211); color: inherit }
input:focus-visible, button:focus-visible { outline: 2px solid light-dark(#2b5bd0, #8db0ff); outline-offset: 2px }
input[aria-invalid] { border-color: light-dark(#ad231b, #ff938a) }
[role=alert] { margin: 8px 0 0; color: light-dark(#ad231b, #ff938a) }
button { width: 100%; margin-top: 18px; padding: 9px; border: 0; border-radius: 7px; font: inherit; font-weight: 600; cursor: pointer;
  background: light-dark(#2b5bd0, #8db0ff); color: light-dark(#fff, #0d1424) }`

// The page is complete in itself: nothing else is served without the token.
var (
	loginPolicy = "default-src 'none'; style-src 'sha256-" + styleHash() + "'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	loginPage   = sync.OnceValue(func() *template.Template { return template.Must(template.New("login").Parse(loginText)) })
)

const loginText = `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>Log in · messaging sandbox</title><style>` + loginStyle + `</style>
<main><h1><svg viewBox="0 0 24 24" aria-hidden="true">` +
	`<path d="M3 8.5 12 3l9 5.5v8L12 22l-9-5.5z"/><path d="m3 8.5 9 5.5 9-5.5M12 14v8"/></svg>` +
	`messaging sandbox</h1>
<p>The token is that of --token-file or MESSAGING_SANDBOX_TOKEN, or else the one that the sandbox printed to stderr when it started.</p>
<form method="post" action="/login"><input type="hidden" name="next" value="{{.Next}}"><label>Token
<input type="password" name="token" autocomplete="current-password" required autofocus
  {{- if .Failed}} aria-invalid="true" aria-describedby="wrong"{{end}}></label>
{{if .Failed}}<p id="wrong" role="alert">That is not the token of this sandbox.</p>{{end}}
<button>Log in</button></form></main></html>
`

func styleHash() string {
	sum := sha256.Sum256([]byte(loginStyle))
	return base64.StdEncoding.EncodeToString(sum[:])
}
