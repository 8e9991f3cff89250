package messagingtest

import (
	"bytes"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Request is a request that the server received.
type Request struct {
	Method string
	Path   string
	// Query holds "REDACTED" instead of the value of each parameter whose name suggests a
	// credential, such as api_key or token.
	Query url.Values
	// Header holds "REDACTED" instead of the API key and of other credentials.
	Header http.Header
	// Body is empty if the body of the request was larger than 64 MiB or incomplete.
	Body []byte
	// StatusCode is the status code of the response. It is 0 if a fault lost the
	// response, or if the response has not been sent yet.
	StatusCode int
}

var requests = keep(history[*Request])

// Requests returns all requests that arrived, in order, including those that were refused
// and those that failed because of a fault. [WithHistory] limits their number.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Request
	for _, r := range requests.of(s).all {
		all = append(all, r.clone())
	}
	return all
}

func newRequest(r *http.Request, body []byte) *Request {
	header, query := r.Header.Clone(), r.URL.Query()
	for name := range header {
		if isSecret(name) {
			header[name] = []string{redacted}
		}
	}
	for name := range query {
		if isSecret(name) {
			query.Set(name, redacted)
		}
	}
	return &Request{Method: r.Method, Path: r.URL.Path, Query: query, Header: header, Body: body}
}

const redacted = "REDACTED"

// isSecret reports whether the name of a header field or a query parameter suggests a
// credential. The service only uses X-Authorization, but a misconfigured program may send
// other credentials.
func isSecret(name string) bool {
	name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
	return slices.Contains([]string{"key", "auth", "sig", "bearer"}, name) || strings.HasSuffix(name, "-auth") ||
		slices.ContainsFunc([]string{"authorization", "api-key", "apikey", "token", "secret", "password", "signature", "credential", "cookie"},
			func(part string) bool { return strings.Contains(name, part) })
}

func (r Request) clone() Request {
	r.Query = cloneValues(r.Query)
	r.Header = r.Header.Clone()
	r.Body = bytes.Clone(r.Body)
	return r
}

func cloneValues(values url.Values) url.Values {
	values = maps.Clone(values)
	for key, list := range values {
		values[key] = slices.Clone(list)
	}
	return values
}
