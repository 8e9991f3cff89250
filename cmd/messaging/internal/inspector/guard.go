package inspector

import (
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
)

// CheckHost returns middleware that refuses a request unless its Host is one of these, with
// the port of the listener: a loopback name, the address that the connection was made to,
// or one of names. A name can have another port, which a container may publish. Without
// the check, a website whose name resolves to such an address could read and send with its
// visitor's browser.
func CheckHost(address net.Addr, names []string) func(http.Handler) http.Handler {
	_, port, _ := net.SplitHostPort(address.String())
	allowed := func(r *http.Request) bool {
		host, requested := splitHost(r.Host)
		if requested == port && (isLoopback(host) || host == localHost(r)) {
			return true
		}
		return slices.ContainsFunc(names, func(name string) bool {
			if _, _, err := net.SplitHostPort(name); err != nil {
				name = net.JoinHostPort(strings.Trim(name, "[]"), port)
			}
			return strings.EqualFold(name, net.JoinHostPort(host, requested))
		})
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !allowed(r) {
				respondError(w, http.StatusMisdirectedRequest, "this host name is not served here; --allow-host adds a name")
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// splitHost returns the name and the port of a Host header.
func splitHost(hostPort string) (host, port string) {
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		return strings.Trim(hostPort, "[]"), "80"
	}
	return host, port
}

func isLoopback(host string) bool {
	return host == "127.0.0.1" || strings.EqualFold(host, "localhost") || host == "::1"
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

// ProtectService returns middleware for the service: it checks the host, and refuses what
// other sites make a browser send, and what a browser asks for in a tab. Neither has a key,
// but it would take faults and fill the history.
func ProtectService(address net.Addr, names []string) func(http.Handler) http.Handler {
	checkHost := CheckHost(address, names)
	return func(next http.Handler) http.Handler {
		return checkHost(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch dest := r.Header.Get("Sec-Fetch-Dest"); {
			case isForeign(r):
				respondError(w, http.StatusForbidden, "another site sent this request")
			case strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
				respondError(w, http.StatusForbidden, "the service has no WebSockets")
			case dest != "" && dest != "empty", r.URL.Path == "/favicon.ico":
				respondError(w, http.StatusNotFound, "this is the port of the service; the inspector has another port")
			default:
				next.ServeHTTP(w, r)
			}
		}))
	}
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
		r.URL.RawQuery == "" && !r.URL.ForceQuery && r.Header.Get("Origin") == "" && !isPrivate(r.URL.Path)
}

// isPrivate reports whether a path is none of a page.
func isPrivate(path string) bool {
	return path == "/healthz" || path == "/rows" || path == openAPIPath ||
		slices.ContainsFunc([]string{"/api/", "/preview/", "/static/", "/download/"}, func(prefix string) bool {
			return strings.HasPrefix(path, prefix)
		})
}

// guard refuses requests that other sites make a browser send, and paths that climb.
func guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/seed" {
			r.Body = http.MaxBytesReader(w, r.Body, maxControlBody)
		}
		switch {
		case isForeign(r) && !isLink(r):
			respondError(w, http.StatusForbidden, "another site sent this request")
		case path.Clean(r.URL.Path) != r.URL.Path && r.URL.Path != "/":
			respondError(w, http.StatusNotFound, "no such path")
		default:
			setPolicy(w.Header(), pagePolicy)
			next.ServeHTTP(w, r)
		}
	})
}

const (
	pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-src 'self'; " +
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	// previewPolicy allows the styles of an email, and nothing that has to be fetched.
	previewPolicy = "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; font-src data:; base-uri 'none'; " +
		"form-action 'none'; frame-ancestors 'self'"
)

func setPolicy(h http.Header, policy string) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // with no-referrer, the Origin of a form would be null
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("X-DNS-Prefetch-Control", "off")
	h.Set("Cache-Control", "no-store")
}
