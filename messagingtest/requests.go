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
	// Query has "REDACTED" in place of the value of a parameter that is a key by
	// its name, such as api_key or token.
	Query url.Values
	// Header has "REDACTED" in place of the API key and of other credentials.
	Header http.Header
	// Body is empty if the body was larger than 64 MiB or incomplete.
	Body []byte
	// StatusCode is the status of the response. It is 0 if a fault lost the
	// response, or if it has not been sent yet.
	StatusCode int
}

var requests = keep(history[*Request])

// Requests returns all requests that arrived, in order. They include requests
// that were refused and requests that failed because of a fault. [WithHistory]
// limits their number.
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

// isSecret reports whether a header field or a query parameter holds a credential
// by its name. The service has only X-Authorization, but a program that is not
// set up correctly may send others.
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
