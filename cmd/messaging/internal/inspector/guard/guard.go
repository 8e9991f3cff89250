package guard

import (
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
)

// Service returns middleware for the service: it checks the host, and refuses what other
// sites make a browser send, and what a browser asks for in a tab. Neither has a key, but it
// would take faults and fill the history.
func Service(address net.Addr, names []string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return checkHost(address, names, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
		}))
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
		next = newDoor(cfg.Address, cfg.Token).wrap(next)
	}
	return checkHost(cfg.Address, cfg.AllowHosts, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
