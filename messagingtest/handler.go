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
	serve        func(*Server, received) answer
}

// routes are all operations of the service.
var routes = []route{
	{http.MethodPost, "/v1/broadcast/send/email", (*Server).sendEmail},
	{http.MethodPost, "/v1/broadcast/send/push-notification", (*Server).sendPush},
	{http.MethodPost, "/v1/events/trigger", (*Server).triggerEvent},
	{http.MethodPost, "/v1/events", (*Server).createEvent},
	{http.MethodGet, "/v1/events", (*Server).listEvents},
	{http.MethodGet, "/v1/customers", (*Server).listCustomers},
	{http.MethodGet, "/v1/messaging/transactional", (*Server).listTransactional},
}

// received is what an operation works on: the body of a POST or the query of a
// GET, and the place for what is wrong with it.
type received struct {
	body     object
	query    url.Values
	problems problems
}

// maxRequestBody is the largest body that is read.
const maxRequestBody = 64 << 20

// serve takes a request through its fault, its operation and the record of both.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBody))
	if err != nil {
		body = nil
	}
	number, fault := s.arrive(r, body)
	if fault.notReached { // the client has a transport of its own
		panic(http.ErrAbortHandler)
	}
	fault.hold(r.Context(), s.closing)
	a := s.answer(r, body, err, fault)
	if fault.answerLost {
		panic(http.ErrAbortHandler)
	}
	if fault.afterwards != nil {
		a = *fault.afterwards
	}
	s.answered(number, a.status)
	a.write(w)
}

// arrive records a request, less its ticket, and returns the fault that is meant
// for it. A request without a ticket takes its fault off the queue here.
func (s *Server) arrive(r *http.Request, body []byte) (number int, fault Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	request := newRequest(r, body)
	fault, known := s.useTicket(r.Header.Get(ticketHeader))
	if known {
		request.Header.Del(ticketHeader)
	} else {
		fault = s.faults.next()
	}
	s.requests = append(s.requests, request)
	return len(s.requests) - 1, fault
}

// answered records the status that a request is answered with.
func (s *Server) answered(number, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests[number].StatusCode = status
}

func (s *Server) answer(r *http.Request, body []byte, bodyErr error, fault Fault) answer {
	var tooLarge *http.MaxBytesError
	switch {
	case fault.instead != nil:
		return *fault.instead
	case errors.As(bodyErr, &tooLarge):
		return refusal(http.StatusRequestEntityTooLarge, "The body is larger than 64 MiB")
	case bodyErr != nil:
		return refusal(http.StatusBadRequest, "The body was broken off")
	}
	operation, refused := find(r.Method, r.URL.Path)
	switch {
	case operation == nil:
		return refused
	case r.Header.Get("X-Authorization") != apiKey:
		return refusal(http.StatusUnauthorized, "The API key in X-Authorization is missing or wrong")
	case r.Method == http.MethodPost:
		return s.post(operation, r, body)
	default:
		return s.get(operation, r)
	}
}

// find returns the operation at a path, or the answer where there is none.
func find(method, path string) (*route, answer) {
	var allowed []string
	for i, route := range routes {
		if route.path != path {
			continue
		}
		if route.method == method {
			return &routes[i], answer{}
		}
		allowed = append(allowed, route.method)
	}
	if len(allowed) == 0 {
		return nil, refusal(http.StatusNotFound, "There is nothing at this path")
	}
	refused := refusal(http.StatusMethodNotAllowed, "The path does not take this method")
	refused.allow = strings.Join(allowed, ", ")
	return nil, refused
}

func (s *Server) post(operation *route, r *http.Request, body []byte) answer {
	if mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); mediaType != "application/json" {
		return refusal(http.StatusUnsupportedMediaType, "The Content-Type is not application/json")
	}
	in := received{problems: make(problems)}
	in.body.problems = in.problems
	if err := json.Unmarshal(body, &in.body.members); err != nil || in.body.members == nil {
		return refusal(http.StatusBadRequest, "The body is not a JSON object")
	}
	return operation.serve(s, in)
}

func (s *Server) get(operation *route, r *http.Request) answer {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return refusal(http.StatusBadRequest, "The query is malformed")
	}
	return operation.serve(s, received{query: query, problems: make(problems)})
}
