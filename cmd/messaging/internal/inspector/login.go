package inspector

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"html/template"
	"net"
	"net/http"
	"strings"
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
			http.Redirect(w, r, "/login", http.StatusSeeOther)
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
	failed := false
	switch r.Method {
	case http.MethodGet:
	case http.MethodPost:
		if same(strings.TrimSpace(r.PostFormValue("token")), d.token) {
			http.SetCookie(w, &http.Cookie{Name: d.cookie, Value: d.session, Path: "/", HttpOnly: true,
				SameSite: http.SameSiteStrictMode})
			http.Redirect(w, r, "/", http.StatusSeeOther)
			return
		}
		failed = true
	default:
		w.Header().Set("Allow", "GET, POST")
		respondError(w, http.StatusMethodNotAllowed, "method not allowed")
		return
	}
	setPolicy(w.Header(), loginPolicy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if failed {
		w.WriteHeader(http.StatusForbidden)
	}
	_ = loginPage.Execute(w, failed) // the client may have disconnected
}

const loginStyle = `:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;` +
	`max-width:26rem;margin:18vh auto;padding:0 1.25rem}h1{font-size:1.3rem}label{display:grid;gap:.4rem}` +
	`input,button{font:inherit;padding:.5rem .7rem}button{margin-top:.8rem}`

// The page is complete in itself: nothing else is served without the token.
var (
	loginPolicy = "default-src 'none'; style-src 'sha256-" + styleHash() + "'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	loginPage   = template.Must(template.New("login").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Log in · messaging sandbox</title><style>` + loginStyle + `</style>
<main><h1>messaging sandbox</h1>
<p>The sandbox printed a token when it started, unless you gave it one.</p>
{{if .}}<p role="alert"><strong>That is not the token.</strong></p>{{end}}
<form method="post" action="/login"><label>Token
<input type="password" name="token" autocomplete="current-password" required autofocus></label>
<button>Log in</button></form></main></html>
`))
)

func styleHash() string {
	sum := sha256.Sum256([]byte(loginStyle))
	return base64.StdEncoding.EncodeToString(sum[:])
}
