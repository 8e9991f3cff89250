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

	"github.com/messaging-go/messaging/internal/service"
)

// handler carries out an operation.
type handler func(*Server, input) response

// handlers holds the handler of each operation.
var handlers = make(map[*service.Operation]handler)

// handle registers the handler of an operation. The file of each resource calls it for
// its operations.
func handle(operation *service.Operation, carryOut handler) { handlers[operation] = carryOut }

// operationName returns the name of the operation that a request is for, or "".
func operationName(r *http.Request) string {
	if operation, _ := service.Find(r.Method, r.URL.Path); operation != nil {
		return operation.Name
	}
	return ""
}

// input is a request as its handler receives it. It has the body of a send or the query
// of a read. The handler adds the problems that it finds to problems, and its effects to
// exchange, which is nil without an observer.
type input struct {
	operation *service.Operation
	body      object
	query     url.Values
	problems  problems
	exchange  *Exchange
}

const maxRequestBody = 64 << 20

// serve records a request, applies its fault and carries out its operation.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBody))
	if err != nil {
		body = nil
	}
	secrets := credentialsOf(r, s.config.apiKey)
	body = secrets.body(body)
	request := secrets.newRequest(r, body)
	fault := s.recordRequest(r, request)
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

// recordRequest records a request without its ticket, and returns its fault.
func (s *Server) recordRequest(r *http.Request, request *Request) Fault {
	s.lock()
	defer s.mu.Unlock()
	fault, withTicket := s.arrived(r)
	if withTicket {
		request.Header.Del(ticketHeader)
	}
	requests.of(s).add(request)
	return fault
}

func (s *Server) recordStatus(request *Request, status int) {
	s.lock()
	defer s.mu.Unlock()
	request.StatusCode = status
}

// newExchange returns nil if there is no observer.
func (s *Server) newExchange(at time.Time, r *http.Request, request *Request, fault Fault) *Exchange {
	if s.config.observer == nil {
		return nil
	}
	foreign := func(key string) bool { return key != "" && strings.TrimPrefix(key, "Bearer ") != s.config.apiKey }
	keys := slices.Concat(r.Header["X-Authorization"], r.Header["Authorization"], r.Header["X-Api-Key"])
	return &Exchange{At: at, Op: operationName(r), Request: *request, Fault: fault.Kind(),
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
	operation, allowed := service.Find(r.Method, r.URL.Path)
	switch {
	case operation == nil:
		return noOperation(allowed)
	case r.Header.Get("X-Authorization") != s.config.apiKey:
		return errorResponse(http.StatusUnauthorized, "missing or invalid API key in X-Authorization")
	}
	in := input{operation: operation, problems: make(problems), exchange: e}
	if refused, ok := in.read(r, body); !ok {
		return refused
	}
	resp := handlers[operation](s, in)
	if e != nil && len(in.problems) > 0 {
		e.Problems = in.problems
	}
	return resp
}

// noOperation returns the response to a request that is for no operation. allowed holds
// the methods that its path does allow.
func noOperation(allowed []string) response {
	if len(allowed) == 0 {
		return errorResponse(http.StatusNotFound, "no such path")
	}
	refused := errorResponse(http.StatusMethodNotAllowed, "method not allowed")
	refused.allow = strings.Join(allowed, ", ")
	return refused
}

// read reads the body of a send or the query of a read. If either is malformed, read
// returns the response to the request.
func (in *input) read(r *http.Request, body []byte) (refused response, ok bool) {
	if in.operation.IsRead() {
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
