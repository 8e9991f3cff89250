package messagingtest

import (
	"bytes"
	"maps"
	"net/http"
	"net/url"
	"slices"
)

// Request is a request that the server received. It holds "[API key]" wherever the request
// quoted the API key of the server, or the key that it was sent with, even if the key was
// escaped as in JSON or in a URL. What a request creates holds no API key either.
type Request struct {
	Method string
	Path   string
	// Query and Header hold "REDACTED" instead of the values, unless all are empty, whose name
	// suggests a credential, such as X-Authorization, api_key or token.
	Query  url.Values
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
	s.lock()
	defer s.mu.Unlock()
	var all []Request
	for _, r := range requests.of(s).all {
		all = append(all, r.clone())
	}
	return all
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
