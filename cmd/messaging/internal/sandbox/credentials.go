package sandbox

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/messaging-go/messaging/internal/fake"
	"github.com/messaging-go/messaging/internal/redact"
)

// withoutCredentials removes the credentials from a request before it is kept: a
// misconfigured program may send some that are valid elsewhere. Instead of the values of a
// header or a query whose name suggests a credential, it has "REDACTED", and wherever it
// quotes the key that it was sent with, "[API key]".
func withoutCredentials(r *fake.Request) {
	var keys redact.Keys
	keys.Use(r.Header.Get("X-Authorization"))
	values := func(values map[string][]string) map[string][]string {
		kept := make(http.Header, len(values))
		for name, list := range values {
			if isSecret(name) && strings.Join(list, "") != "" { // an empty value is no credential, and worth seeing
				list = []string{"REDACTED"}
			}
			kept[keys.Text(name)] = list
		}
		return keys.Header(kept)
	}
	r.Method, r.Path = keys.Text(r.Method), keys.Text(r.Path)
	r.Query, r.Header = url.Values(values(r.Query)), values(r.Header)
	r.Body = keys.Body(r.Body, len(r.Body))
}

// isSecret reports whether the name of a header field or a query parameter suggests a
// credential. The service only uses X-Authorization, but a misconfigured program may send
// other credentials.
func isSecret(name string) bool {
	name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
	is := func(matches func(s, part string) bool, parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return matches(name, part) })
	}
	return is(strings.Contains, "authorization", "api-key", "apikey", "token", "secret", "password", "signature", "credential", "cookie") ||
		is(strings.HasSuffix, "key", "session", "session-id", "jwt", "pass", "passwd", "-auth") ||
		slices.Contains([]string{"auth", "sig", "bearer"}, name)
}
