package messagingtest

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// route is one operation of the service. Its op is the name of the operation in
// errors of package messaging.
type route struct {
	op           string
	method, path string
	serve        func(*Server, input) response
}

// routes lists all operations of the service.
var routes = []route{
	{"send email broadcast", http.MethodPost, "/v1/broadcast/send/email", (*Server).sendEmail},
	{"send push broadcast", http.MethodPost, "/v1/broadcast/send/push-notification", (*Server).sendPush},
	{"trigger event", http.MethodPost, "/v1/events/trigger", (*Server).triggerEvent},
	{"create event", http.MethodPost, "/v1/events", (*Server).createEvent},
	{"list events", http.MethodGet, "/v1/events", (*Server).listEvents},
	{"list customers", http.MethodGet, "/v1/customers", (*Server).listCustomers},
	{"list transactional messages", http.MethodGet, "/v1/messaging/transactional", (*Server).listTransactional},
}

// operationNames returns the names of all operations.
func operationNames() []string {
	names := make([]string, len(routes))
	for i, route := range routes {
		names[i] = route.op
	}
	return names
}

// operationName returns the name of the operation of a request, or "".
func operationName(method, path string) string {
	for _, route := range routes {
		if route.method == method && route.path == path {
			return route.op
		}
	}
	return ""
}

// input is the input of an operation: the body of a POST or the query of a GET.
// The operation adds the problems that it finds to problems, and its effects to
// exchange, unless it is nil.
type input struct {
	body     object
	query    url.Values
	problems problems
	exchange *Exchange
}

const maxRequestBody = 64 << 20

// serve records a request, applies its fault and carries out its operation.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBody))
	if err != nil {
		body = nil
	}
	request, fault := s.recordRequest(r, body)
	exchange := s.newExchange(at, r, request, fault)
	if fault.notReached { // the client does not use the transport of the server
		s.observe(exchange, 0, nil, nil)
		panic(http.ErrAbortHandler)
	}
	fault.wait(r.Context(), s.closing)
	resp := s.respond(exchange, r, body, err, fault)
	if fault.responseLost {
		s.observe(exchange, 0, nil, nil)
		panic(http.ErrAbortHandler)
	}
	if fault.replacement != nil {
		resp = *fault.replacement
	}
	s.recordStatus(request, resp.status)
	header := resp.header()
	if r.Context().Err() == nil {
		s.observe(exchange, resp.status, header, resp.body)
	} else { // the client has disconnected
		s.observe(exchange, 0, nil, nil)
	}
	resp.write(w, header)
}

// recordRequest records a request without its ticket, and returns it with its
// fault. A request without a valid ticket takes the next fault for its
// operation.
func (s *Server) recordRequest(r *http.Request, body []byte) (request *Request, fault Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	request = newRequest(r, body)
	fault, ok := s.useTicket(r.Header.Get(ticketHeader))
	if ok {
		request.Header.Del(ticketHeader)
	} else {
		fault = s.nextFault(operationName(r.Method, r.URL.Path))
	}
	s.requests.add(request)
	return request, fault
}

func (s *Server) recordStatus(request *Request, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	request.StatusCode = status
}

// newExchange returns nil if there is no observer.
func (s *Server) newExchange(at time.Time, r *http.Request, request *Request, fault Fault) *Exchange {
	if s.observer == nil {
		return nil
	}
	foreign := func(key string) bool { return key != "" && strings.TrimPrefix(key, "Bearer ") != apiKey }
	keys := slices.Concat(r.Header["X-Authorization"], r.Header["Authorization"])
	return &Exchange{At: at, Op: operationName(r.Method, r.URL.Path), Request: *request, Fault: fault.Kind(),
		ForeignKey: slices.ContainsFunc(keys, foreign)}
}

func (s *Server) respond(e *Exchange, r *http.Request, body []byte, bodyErr error, fault Fault) response {
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
	}
	in := input{problems: make(problems), exchange: e}
	if refused, ok := in.read(r, body); !ok {
		return refused
	}
	resp := operation.serve(s, in)
	if e != nil && len(in.problems) > 0 {
		e.Problems = in.problems
	}
	return resp
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

// read reads the body of a POST or the query of a GET. If it is malformed, read
// returns the response to it.
func (in *input) read(r *http.Request, body []byte) (refused response, ok bool) {
	if r.Method != http.MethodPost {
		query, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil {
			return errorResponse(http.StatusBadRequest, "malformed query"), false
		}
		in.query = query
		return response{}, true
	}
	if mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); mediaType != "application/json" {
		return errorResponse(http.StatusUnsupportedMediaType, "Content-Type is not application/json"), false
	}
	in.body.problems = in.problems
	if err := json.Unmarshal(body, &in.body.members); err != nil || in.body.members == nil {
		return errorResponse(http.StatusBadRequest, "body is not a JSON object"), false
	}
	return response{}, true
}
