// Package guard protects a server on this machine from what other sites make a browser do,
// and from everybody who does not know its token.
package guard

import (
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// Service returns middleware for the service: it refuses what other sites make a browser
// send, and what a browser asks for in a tab. Neither has a key, but it would take faults and
// fill the history. On a loopback address, it checks the host too. On another one, programs
// reach it by names that are not known here, and the key guards what is sent.
func Service(address net.Addr, names []string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		served := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch dest := r.Header.Get("Sec-Fetch-Dest"); {
			case isForeign(r):
				Refuse(w, http.StatusForbidden, "another site sent this request")
			case strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
				Refuse(w, http.StatusForbidden, "the service has no WebSockets")
			case dest != "" && dest != "empty", r.URL.Path == "/favicon.ico":
				Refuse(w, http.StatusNotFound, "this is the port of the service; the inspector has another port")
			default:
				next.ServeHTTP(w, r)
			}
		})
		if host, _, _ := net.SplitHostPort(address.String()); !net.ParseIP(host).IsLoopback() {
			return served
		}
		return checkHost(names, served)
	}
}

// Config configures the protection of pages.
type Config struct {
	// Address is that of the listener.
	Address net.Addr
	// AllowHosts are host names beside those of the loopback address.
	AllowHosts []string
	// Token admits to the pages. If it is "", everybody is admitted.
	Token string
	// IsPage reports whether other sites may link to a path.
	IsPage func(path string) bool
}

// Pages protects pages and their API: it checks the host and the token, and refuses what
// other sites make a browser send, and paths that climb.
func Pages(cfg Config, next http.Handler) http.Handler {
	if cfg.Token != "" {
		next = door(cfg.Address, cfg.Token, next)
	}
	return checkHost(cfg.AllowHosts, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case isForeign(r) && !(isLink(r) && cfg.IsPage(r.URL.Path)):
			Refuse(w, http.StatusForbidden, "another site sent this request")
		case path.Clean(r.URL.Path) != r.URL.Path && r.URL.Path != "/":
			Refuse(w, http.StatusNotFound, "no such path")
		default:
			setPolicy(w.Header(), pagePolicy)
			next.ServeHTTP(w, r)
		}
	}))
}

// isForeign reports whether a browser says that another site sent the request. For a
// WebSocket, and for a host that is not a loopback name, only the Origin says so.
func isForeign(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site != "same-origin" && site != "none"
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	parsed, err := url.Parse(origin)
	return err != nil || parsed.Host != r.Host
}

// isLink reports whether a request opens a page in a tab. Other sites may link to a page,
// but not to a search: the time that it takes would show what is in the history.
func isLink(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" &&
		r.URL.RawQuery == "" && !r.URL.ForceQuery && r.Header.Get("Origin") == ""
}

// checkHost refuses a request unless its Host is one of these, with any port, since a port can
// be forwarded: a loopback name, the address that the connection was made to, or one of names.
// Without the check, a website whose name resolves to such an address could read and send with
// its visitor's browser.
func checkHost(names []string, next http.Handler) http.Handler {
	const longest = 100
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := (&url.URL{Host: r.Host}).Hostname()
		served := append([]string{"127.0.0.1", "::1", "localhost", localHost(r)}, names...)
		if !slices.ContainsFunc(served, func(name string) bool { return strings.EqualFold(name, host) }) {
			Refuse(w, http.StatusMisdirectedRequest, "unknown host name; if it is one of this machine, start the sandbox with --allow-host "+
				visible.Quote(words.Shortened(host, longest)))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// localHost returns the address of this end of the connection. A name cannot be rebound to
// it, because it is no name.
func localHost(r *http.Request) string {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return ""
	}
	host, _, _ := net.SplitHostPort(local.String())
	return host
}

const (
	pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-src 'self'; " +
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	// previewPolicy allows the styles of an email, and nothing that has to be fetched.
	previewPolicy = "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; font-src data:; base-uri 'none'; " +
		"form-action 'none'; frame-ancestors 'self'"
)

// LockPreview sets the policy of an email, and reports whether the request comes from the
// frame of its page: if it was opened directly, a click on a link would leave the machine.
func LockPreview(w http.ResponseWriter, r *http.Request) bool {
	setPolicy(w.Header(), previewPolicy)
	w.Header().Set("Referrer-Policy", "no-referrer")
	return r.Header.Get("Sec-Fetch-Dest") == "iframe"
}

func setPolicy(h http.Header, policy string) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // with no-referrer, the Origin of a form would be null
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("X-DNS-Prefetch-Control", "off")
	h.Set("Cache-Control", "no-store")
}

// Refuse responds with an error as JSON.
func Refuse(w http.ResponseWriter, status int, message string) {
	setPolicy(w.Header(), pagePolicy)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)                            // for people who read the response in a terminal
	_ = encoder.Encode(map[string]string{"error": message}) // the client may have disconnected
}
