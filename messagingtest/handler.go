package messagingtest

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
)

// route is one operation of the service.
type route struct {
	method, path string
	serve        func(*Server, input) response
}

// routes lists all operations of the service.
var routes = []route{
	{http.MethodPost, "/v1/broadcast/send/email", (*Server).sendEmail},
	{http.MethodPost, "/v1/broadcast/send/push-notification", (*Server).sendPush},
	{http.MethodPost, "/v1/events/trigger", (*Server).triggerEvent},
	{http.MethodPost, "/v1/events", (*Server).createEvent},
	{http.MethodGet, "/v1/events", (*Server).listEvents},
	{http.MethodGet, "/v1/customers", (*Server).listCustomers},
	{http.MethodGet, "/v1/messaging/transactional", (*Server).listTransactional},
}

// input is the input of an operation: the body of a POST or the query of a GET.
// The operation adds the problems that it finds to problems.
type input struct {
	body     object
	query    url.Values
	problems problems
}

const maxRequestBody = 64 << 20

// serve records a request, applies its fault and carries out its operation.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBody))
	if err != nil {
		body = nil
	}
	i, fault := s.recordRequest(r, body)
	if fault.notReached { // the client does not use the transport of the server
		panic(http.ErrAbortHandler)
	}
	fault.wait(r.Context(), s.closing)
	resp := s.respond(r, body, err, fault)
	if fault.responseLost {
		panic(http.ErrAbortHandler)
	}
	if fault.replacement != nil {
		resp = *fault.replacement
	}
	s.recordStatus(i, resp.status)
	resp.write(w)
}

// recordRequest records a request without its ticket, and returns its index and
// its fault. A request without a valid ticket takes the next fault of the queue.
func (s *Server) recordRequest(r *http.Request, body []byte) (i int, fault Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	request := newRequest(r, body)
	fault, ok := s.useTicket(r.Header.Get(ticketHeader))
	if ok {
		request.Header.Del(ticketHeader)
	} else {
		fault = s.faults.next()
	}
	s.requests = append(s.requests, request)
	return len(s.requests) - 1, fault
}

func (s *Server) recordStatus(i, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests[i].StatusCode = status
}

func (s *Server) respond(r *http.Request, body []byte, bodyErr error, fault Fault) response {
	var tooLarge *http.MaxBytesError
	switch {
	case fault.rejection != nil:
		return *fault.rejection
	case errors.As(bodyErr, &tooLarge):
		return errorResponse(http.StatusRequestEntityTooLarge, "body is larger than 64 MiB")
	case bodyErr != nil:
		return errorResponse(http.StatusBadRequest, "cannot read the body")
	}
	operation, refused := find(r.Method, r.URL.Path)
	switch {
	case operation == nil:
		return refused
	case r.Header.Get("X-Authorization") != apiKey:
		return errorResponse(http.StatusUnauthorized, "missing or invalid API key in X-Authorization")
	case r.Method == http.MethodPost:
		return s.post(operation, r, body)
	default:
		return s.get(operation, r)
	}
}

// find returns the route of a request. If there is none, it returns nil and a
// 404 or 405 response.
func find(method, path string) (*route, response) {
	var allowed []string
	for i, route := range routes {
		if route.path != path {
			continue
		}
		if route.method == method {
			return &routes[i], response{}
		}
		allowed = append(allowed, route.method)
	}
	if len(allowed) == 0 {
		return nil, errorResponse(http.StatusNotFound, "no such path")
	}
	refused := errorResponse(http.StatusMethodNotAllowed, "method not allowed")
	refused.allow = strings.Join(allowed, ", ")
	return nil, refused
}

func (s *Server) post(operation *route, r *http.Request, body []byte) response {
	if mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); mediaType != "application/json" {
		return errorResponse(http.StatusUnsupportedMediaType, "Content-Type is not application/json")
	}
	in := input{problems: make(problems)}
	in.body.problems = in.problems
	if err := json.Unmarshal(body, &in.body.members); err != nil || in.body.members == nil {
		return errorResponse(http.StatusBadRequest, "body is not a JSON object")
	}
	return operation.serve(s, in)
}

func (s *Server) get(operation *route, r *http.Request) response {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return errorResponse(http.StatusBadRequest, "malformed query")
	}
	return operation.serve(s, input{query: query, problems: make(problems)})
}
