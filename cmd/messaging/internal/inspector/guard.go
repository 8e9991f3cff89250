package inspector

import (
	"net"
	"net/http"
	"path"
	"slices"
	"strings"
)

// CheckHost returns middleware that refuses a request unless its Host is a loopback name
// with the port of the listener, or one of names. Without it, a website whose name
// resolves to the loopback address could read and send with its visitor's browser.
func CheckHost(address net.Addr, names []string) func(http.Handler) http.Handler {
	_, port, _ := net.SplitHostPort(address.String())
	allowed := func(hostPort string) bool {
		host, requested, err := net.SplitHostPort(hostPort)
		if err != nil {
			host, requested = strings.Trim(hostPort, "[]"), "80"
		}
		loopback := host == "127.0.0.1" || strings.EqualFold(host, "localhost") || host == "::1"
		named := slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, host) })
		return loopback && requested == port || named
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !allowed(r.Host) {
				respondError(w, http.StatusMisdirectedRequest, "this host name is not served here; --allow-host adds a name")
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// ProtectService returns middleware for the service: it checks the host, and refuses
// requests that other sites make a browser send. They have no key, but they would take
// faults and fill the history.
func ProtectService(address net.Addr, names []string) func(http.Handler) http.Handler {
	checkHost := CheckHost(address, names)
	return func(next http.Handler) http.Handler {
		return checkHost(refuseForged(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if isCrossSite(r) {
				respondError(w, http.StatusForbidden, "another site sent this request")
				return
			}
			next.ServeHTTP(w, r)
		})))
	}
}

// isCrossSite reports whether a browser says that another site sent the request.
func isCrossSite(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site != "" && site != "same-origin" && site != "none"
}

func refuseForged(next http.Handler) http.Handler {
	forged := http.NewCrossOriginProtection()
	forged.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		respondError(w, http.StatusForbidden, "another site sent this request")
	}))
	return forged.Handler(next)
}

// guard refuses requests that other sites make a browser send, and paths that climb.
func guard(next http.Handler) http.Handler {
	return refuseForged(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/seed" {
			r.Body = http.MaxBytesReader(w, r.Body, maxControlBody)
		}
		private := strings.HasPrefix(r.URL.Path, "/api/") || strings.HasPrefix(r.URL.Path, "/preview/") || r.URL.Path == "/healthz" ||
			r.URL.Path == "/rows"
		switch {
		case private && isCrossSite(r):
			respondError(w, http.StatusForbidden, "another site sent this request")
		case path.Clean(r.URL.Path) != r.URL.Path && r.URL.Path != "/":
			respondError(w, http.StatusNotFound, "no such path")
		default:
			setPolicy(w.Header(), pagePolicy)
			next.ServeHTTP(w, r)
		}
	}))
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
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("X-DNS-Prefetch-Control", "off")
	h.Set("Cache-Control", "no-store")
}
