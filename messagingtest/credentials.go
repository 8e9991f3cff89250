package messagingtest

import (
	"net/http"
	"slices"
	"strings"

	"github.com/messaging-go/messaging/internal/redact"
)

// credentials are the API keys that are removed from a request before it is recorded and
// carried out.
type credentials struct{ keys redact.Keys }

// credentialsOf returns own, the key of the server, and the key that the request was sent with:
// a misconfigured program may send one that is valid elsewhere.
func credentialsOf(r *http.Request, own string) *credentials {
	var c credentials
	c.keys.Use(r.Header.Get("X-Authorization"))
	c.keys.Use(own)
	return &c
}

// newRequest returns the record of a request, without credentials. The body has none.
func (c *credentials) newRequest(r *http.Request, body []byte) *Request {
	return &Request{
		Method: c.keys.Text(r.Method),
		Path:   c.keys.Text(r.URL.Path),
		Query:  c.values(r.URL.Query()),
		Header: c.values(r.Header),
		Body:   body,
	}
}

// values returns a copy of the header or the query of a request, without credentials.
func (c *credentials) values(values map[string][]string) map[string][]string {
	kept := make(http.Header, len(values))
	for name, list := range values {
		if isSecret(name) && strings.Join(list, "") != "" { // an empty value is no credential, and worth seeing
			list = []string{redacted}
		}
		kept[c.keys.Text(name)] = slices.Clone(list)
	}
	return c.keys.Header(kept)
}

const redacted = "REDACTED"

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

// body returns the body of a request without the keys. The search takes many times the
// memory of the text that it searches, so it is made in pieces. A key that begins in a
// piece is found in it, since the pieces overlap.
func (c *credentials) body(body []byte) []byte {
	const piece = 64 << 10
	for rest := body; len(rest) > 0; rest = rest[min(len(rest), piece):] {
		if c.keys.AreIn(string(rest[:min(len(rest), c.keys.Window(piece))])) {
			return c.keys.Body(body, len(body))
		}
	}
	return body
}
