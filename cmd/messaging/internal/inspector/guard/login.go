package guard

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	_ "embed" // for the page
	"encoding/base64"
	"html/template"
	"net"
	"net/http"
	"strings"
)

// door admits only who knows the token. Programs send it with each request. Browsers send
// it once, in a form at the address that they asked for, and then a cookie for this port.
func door(address net.Addr, token string, next http.Handler) http.Handler {
	_, port, _ := net.SplitHostPort(address.String())
	cookie, session := "messaging-sandbox-"+port, rand.Text()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, err := r.Cookie(cookie)
		switch {
		case r.URL.Path == "/healthz", same(r.Header.Get("Authorization"), "Bearer "+token), err == nil && same(sent.Value, session):
			next.ServeHTTP(w, r)
		case r.Method == http.MethodPost && same(strings.TrimSpace(r.PostFormValue("token")), token):
			http.SetCookie(w, &http.Cookie{Name: cookie, Value: session, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
			http.Redirect(w, r, r.URL.RequestURI(), http.StatusSeeOther) // whose path is clean, so that it leads to no other site
		case strings.Contains(r.Header.Get("Accept"), "text/html"):
			writeLogin(w, r.PostForm.Has("token"))
		default:
			w.Header().Set("WWW-Authenticate", "Bearer")
			Refuse(w, http.StatusUnauthorized, "the token of the sandbox is missing or wrong")
		}
	})
}

// same compares in a time that shows nothing of the texts.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// loginText is complete in itself: nothing else is served without the token.
//
//go:embed login.html
var loginText string

func writeLogin(w http.ResponseWriter, failed bool) {
	_, rest, _ := strings.Cut(loginText, "<style>")
	style, _, _ := strings.Cut(rest, "</style>")
	sum := sha256.Sum256([]byte(style))
	setPolicy(w.Header(), "default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+
		"'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(http.StatusUnauthorized)
	_ = template.Must(template.New("login").Parse(loginText)).Execute(w, failed) // the client may have disconnected
}
