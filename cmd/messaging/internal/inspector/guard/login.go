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
	"net/url"
	"path"
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
			// not a redirect: its query would look like a search that another site links to
			writeLogin(w, http.StatusUnauthorized, loginView{Next: localPath(r.URL.RequestURI())})
		default:
			w.Header().Set("WWW-Authenticate", "Bearer")
			Refuse(w, http.StatusUnauthorized, "the token of the sandbox is missing or wrong")
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
		Refuse(w, http.StatusMethodNotAllowed, "method not allowed")
	}
}

// loginView is what the login page shows, and where it leads to.
type loginView struct {
	Next   string // a local path
	Failed bool
}

// loginText is complete in itself: nothing else is served without the token.
//
//go:embed login.html
var loginText string

func writeLogin(w http.ResponseWriter, status int, view loginView) {
	_, rest, _ := strings.Cut(loginText, "<style>")
	style, _, _ := strings.Cut(rest, "</style>")
	sum := sha256.Sum256([]byte(style))
	setPolicy(w.Header(), "default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+
		"'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = template.Must(template.New("login").Parse(loginText)).Execute(w, view) // the client may have disconnected
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
