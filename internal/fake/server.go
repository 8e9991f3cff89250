package fake

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/messaging-go/messaging/internal/redact"
	"github.com/messaging-go/messaging/internal/service"
)

// DefaultAPIKey is obviously a fake, so that nobody mistakes it for a secret.
const DefaultAPIKey = "fake-api-key-of-messagingtest"

// MaxBody is the size of the largest body of a request, in bytes.
const MaxBody = 16 << 20

// Config configures a [Server]. Its zero value is a server without limits.
type Config struct {
	Key        string     // that the server accepts; the default is [DefaultAPIKey]
	Identifier Identifier // the field that identifies a customer
	NoHistory  bool       // keep no requests, broadcasts and triggers
	// MaxRecords limits the customers, and the event definitions, that requests make the
	// server store. A request that would exceed the limit fails with status 507 and changes
	// nothing. What the Add methods add counts, but is always added. 0 means no limit.
	MaxRecords int
	// Observe is called once for every request, when its outcome is known and before any of
	// the response is sent. The calls are made one at a time, in the order of [Exchange.Number].
	// Observe may call the methods of the server, but must not send requests to it.
	Observe func(*Exchange)
}

// Server is the service. Create one with [New]. It is safe for concurrent use.
type Server struct {
	key     string
	keys    redact.Keys
	observe func(*Exchange)
	closing chan struct{}
	close   func()
	*state
	*rules

	observing    sync.Mutex // held during a call of observe; protects lastExchange
	lastExchange int
}

// New returns a server.
func New(c Config) *Server {
	s := &Server{key: c.Key, observe: c.Observe, closing: make(chan struct{}), rules: new(rules),
		state: &state{identifier: c.Identifier, maxRecords: c.MaxRecords, noHistory: c.NoHistory}}
	if s.key == "" {
		s.key = DefaultAPIKey
	}
	s.keys.Use(s.key)
	s.customers.identifier = c.Identifier
	s.customers.reset()
	s.close = sync.OnceFunc(func() { close(s.closing) })
	return s
}

// APIKey returns the API key that the server accepts. It is not a secret.
func (s *Server) APIKey() string { return s.key }

// Close ends the delay of [Slow] requests, now and from now on.
func (s *Server) Close() { s.close() }

// handlers holds the handler of each operation.
var handlers = map[*service.Operation]func(*state, *input) response{
	service.SendEmailBroadcast: sendEmail,
	service.SendPushBroadcast:  sendPush,
	service.CreateEvent:        createEvent,
	service.TriggerEvent:       triggerEvent,
	service.ListEvents:         listEvents,
	service.ListCustomers:      listCustomers,
	service.ListTransactional:  listTransactional,
}

// ServeHTTP carries out a request. A fault that closes the connection is a panic with
// http.ErrAbortHandler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, answered := s.serve(w, r, 0); !answered {
		panic(http.ErrAbortHandler)
	}
}

// Replay carries out a request within the process, and returns its exchange, which says
// that it is a replay of another one.
func (s *Server) Replay(r *http.Request, of int) *Exchange {
	e, _ := s.serve(httptest.NewRecorder(), r, of)
	return e
}

// serve records a request, applies its fault and carries out its operation. It reports
// whether there is a response.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, replayOf int) (e *Exchange, answered bool) {
	e = &Exchange{At: time.Now(), ReplayOf: replayOf, ForeignKey: hasForeignKey(r, s.key)}
	if op, _ := service.Find(r.Method, r.URL.Path); op != nil {
		e.Op = op.Name
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	if err != nil {
		body = nil
	}
	body = s.keys.Body(body, len(body))
	request := newRequest(r, body, &s.keys)
	s.addRequest(request)
	e.Request = *request
	fault, given := r.Context().Value(faultKey{}).(Fault)
	if !given {
		fault = s.NextFault(e)
	}
	e.Fault = fault.Kind
	if fault.Kind == NotReached {
		s.done(e)
		return e, false
	}
	fault.wait(r.Context(), s.closing)
	resp := s.respond(e, r, body, err, fault)
	if fault.Kind == AnswerLost {
		s.done(e)
		return e, false
	}
	if fault.Kind == Malformed {
		resp = response{http.StatusOK, make(http.Header), []byte(fault.Body)}
	}
	s.setStatus(request, resp.status)
	resp.setContentType()
	if r.Context().Err() == nil { // the client has not disconnected
		e.Status, e.ResponseHeader, e.ResponseBody = resp.status, resp.header, resp.body
		e.Request.StatusCode = resp.status
	}
	s.done(e)
	resp.write(w)
	return e, true
}

// done numbers an exchange, and passes it to the observer.
func (s *Server) done(e *Exchange) {
	s.observing.Lock()
	defer s.observing.Unlock()
	e.Took = time.Since(e.At)
	s.lastExchange++
	e.Number = s.lastExchange
	if s.observe != nil {
		s.observe(e)
	}
}

// respond carries out a request, unless it or its fault forbids that.
func (s *Server) respond(e *Exchange, r *http.Request, body []byte, bodyErr error, fault Fault) response {
	if rejection := fault.rejection(); rejection != nil {
		return *rejection
	}
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(bodyErr, &tooLarge):
		return errorResponse(http.StatusRequestEntityTooLarge, "body is larger than 16 MiB")
	case bodyErr != nil:
		return errorResponse(http.StatusBadRequest, "cannot read the body")
	}
	operation, allowed := service.Find(r.Method, r.URL.Path)
	switch {
	case operation == nil:
		return noOperation(allowed)
	case r.Header.Get("X-Authorization") != s.key:
		return errorResponse(http.StatusUnauthorized, "missing or invalid API key in X-Authorization")
	}
	in := input{operation: operation, exchange: e}
	if refused, ok := in.read(r, body); !ok {
		return refused
	}
	resp := handlers[operation](s.state, &in)
	if len(in.problems) > 0 {
		e.Problems = in.problems
	}
	return resp
}

// Reset removes everything that the server stores and has recorded, and its rules, as that of
// package messagingtest does. It does not restart numbers.
func (s *Server) Reset() {
	s.RemoveRules()
	s.reset()
}
