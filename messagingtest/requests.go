package messagingtest

import (
	"bytes"
	"maps"
	"net/http"
	"net/url"
	"slices"
)

// Request is a request as it came, whatever became of it.
type Request struct {
	Method string
	Path   string
	Query  url.Values
	// Header has "REDACTED" in the place of the API key.
	Header http.Header
	// Body is empty for one that was over 64 MiB, or broken off.
	Body []byte
	// StatusCode is what the request was answered with, 0 where the answer was
	// lost or is still due.
	StatusCode int
}

// Requests returns every request that arrived, in order: those that were
// refused, and those that [Server.FailNext] let fail, as well.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return copied(s.requests, Request.copy)
}

func newRequest(r *http.Request, body []byte) Request {
	header := r.Header.Clone()
	if keys := header["X-Authorization"]; len(keys) > 0 {
		header.Set("X-Authorization", "REDACTED")
	}
	return Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.Query(), Header: header, Body: body}
}

func (r Request) copy() Request {
	r.Query = copiedValues(r.Query)
	r.Header = r.Header.Clone()
	r.Body = bytes.Clone(r.Body)
	return r
}

func copiedValues(values url.Values) url.Values {
	values = maps.Clone(values)
	for key, list := range values {
		values[key] = slices.Clone(list)
	}
	return values
}
