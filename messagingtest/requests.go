package messagingtest

import (
	"bytes"
	"maps"
	"net/http"
	"net/url"
	"slices"
)

// Request is a request that the server received.
type Request struct {
	Method string
	Path   string
	Query  url.Values
	// Header has "REDACTED" in place of the API key.
	Header http.Header
	// Body is empty if the body was larger than 64 MiB or incomplete.
	Body []byte
	// StatusCode is the status of the response. It is 0 if the response was lost
	// or has not been sent yet.
	StatusCode int
}

// Requests returns all requests that arrived, in order. They include requests
// that were refused and requests that failed because of [Server.FailNext].
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return cloneSlice(s.requests, Request.clone)
}

func newRequest(r *http.Request, body []byte) Request {
	header := r.Header.Clone()
	if keys := header["X-Authorization"]; len(keys) > 0 {
		header.Set("X-Authorization", "REDACTED")
	}
	return Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.Query(), Header: header, Body: body}
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
