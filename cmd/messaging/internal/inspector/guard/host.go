// Package guard protects a server on this machine from what other sites make a browser do,
// and from everybody who does not know its token.
package guard

import (
	"net"
	"net/http"
	"slices"
	"strings"
)

// checkHost refuses a request unless its Host is one of these, with the port of the
// listener: a loopback name, the address that the connection was made to, or one of names. A
// name can have another port, which a container may publish. Without the check, a website
// whose name resolves to such an address could read and send with its visitor's browser.
func checkHost(address net.Addr, names []string, next http.Handler) http.Handler {
	_, port, _ := net.SplitHostPort(address.String())
	allowed := func(r *http.Request) bool {
		host, requested, err := net.SplitHostPort(r.Host)
		if err != nil {
			host, requested = strings.Trim(r.Host, "[]"), "80"
		}
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
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !allowed(r) {
			Refuse(w, http.StatusMisdirectedRequest, "this host name is not served here; --allow-host adds a name")
			return
		}
		next.ServeHTTP(w, r)
	})
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
