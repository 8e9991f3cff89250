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

// Requests returns all requests that arrived, in order. They include requests
// that were refused and requests that failed because of a fault. [WithHistory]
// limits their number.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var requests []Request
	for _, r := range s.requests.records {
		requests = append(requests, r.clone())
	}
	return requests
}

func newRequest(r *http.Request, body []byte) *Request {
	header, query := r.Header.Clone(), r.URL.Query()
	for _, name := range secretHeaders {
		if len(header[name]) > 0 {
			header.Set(name, redacted)
		}
	}
	for name := range query {
		if secretParameters[strings.ToLower(name)] {
			query.Set(name, redacted)
		}
	}
	return &Request{Method: r.Method, Path: r.URL.Path, Query: query, Header: header, Body: body}
}

const redacted = "REDACTED"

// secretHeaders are the header fields that hold keys, and secretParameters the
// query parameters that do by their name, in lower case. The service has no such
// parameters, but a program that is not set up correctly may send one.
var (
	secretHeaders    = []string{"X-Authorization", "Authorization", "Proxy-Authorization", "Cookie", "X-Api-Key"}
	secretParameters = map[string]bool{"x-authorization": true, "authorization": true, "auth": true, "api_key": true, "api-key": true,
		"apikey": true, "key": true, "token": true, "access_token": true, "secret": true, "password": true}
)

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
