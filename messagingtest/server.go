package messagingtest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/fake"
)

// Server is an in-memory messaging service that listens on a loopback address, or on none
// with [InMemory]. Create one with [NewServer] in a test or with [Start] in a program. It is
// safe for concurrent use.
type Server struct {
	service  *fake.Server
	inMemory bool
	http     *httptest.Server
	pool     *http.Transport // of the clients
	tickets  tickets
	close    func()
}

// Option configures a [Server].
type Option func(*config)

type config struct {
	fake.Config
	inMemory bool
}

// InMemory connects the clients of [Server.Client] to the server within the process, without
// a port. Create such a server in a bubble of [testing/synctest], and call [NewServer] with
// the testing.T of the bubble: it must be closed before the bubble ends.
//
// The server has no URL, and [Server.URL] panics. A client with [messaging.WithHTTPClient]
// is not connected to it.
func InMemory() Option { return func(c *config) { c.inMemory = true } }

// IdentifyByCustomerID identifies customers by their customer id, and IdentifyByEmail by their
// email address. The service has this setting for each integration. Every customer in a request must
// have the chosen field, which alone decides whether a customer is created or updated.
//
// Without either, a customer needs a customer id, an email address or both. A request
// updates the customer with the same customer id, or else a customer with the same email
// address. It does not take an email address from another customer. Email addresses are
// compared without regard to case.
func IdentifyByCustomerID() Option { return func(c *config) { c.Identifier = fake.CustomerID } }

// IdentifyByEmail makes the email address identify a customer; see [IdentifyByCustomerID].
func IdentifyByEmail() Option { return func(c *config) { c.Identifier = fake.Email } }

// NewServer starts a server, and closes it when the test ends. It calls tb.Fatal if the
// server cannot start.
func NewServer(tb testing.TB, opts ...Option) *Server {
	tb.Helper()
	s, err := Start(opts...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	return s
}

// Start starts a server. The caller must call [Server.Close]. The error of Start says why
// it cannot listen on a loopback address.
func Start(opts ...Option) (*Server, error) {
	var config config
	for _, opt := range opts {
		opt(&config)
	}
	s := &Server{service: fake.New(config.Config), inMemory: config.inMemory, pool: &http.Transport{MaxIdleConnsPerHost: 256}}
	listener, err := s.listen()
	if err != nil {
		return nil, fmt.Errorf("messagingtest: %w", err)
	}
	s.http = &httptest.Server{Listener: listener, Config: &http.Server{Handler: s.Handler()}}
	s.http.Start()
	s.close = sync.OnceFunc(func() {
		s.service.Close()
		s.http.Close()
		s.pool.CloseIdleConnections()
	})
	return s, nil
}

// listen returns what the server listens to.
func (s *Server) listen() (net.Listener, error) {
	if s.inMemory {
		p := newPipe()
		s.pool.DialContext = p.dial
		return p, nil
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		listener, err = net.Listen("tcp", "[::1]:0")
	}
	return listener, err
}

// URL returns the base URL of the server, for [messaging.NewClient]. It panics with
// [InMemory].
func (s *Server) URL() string {
	if s.inMemory {
		panic("messagingtest: URL: a server with InMemory has none")
	}
	return s.http.URL
}

// APIKey returns the API key that the server accepts. It is not a secret.
func (s *Server) APIKey() string { return s.service.APIKey() }

// Handler returns the HTTP handler of the server. Use it to add middleware or a path
// prefix, or to serve it with another HTTP server. It still works after [Server.Close].
func (s *Server) Handler() http.Handler { return s.tickets.handler(s.service) }

// Close shuts down the server. It ends the delay of [Slow] requests, and blocks until all
// outstanding requests have been carried out. The methods that return records still work
// afterward. Close may be called more than once.
func (s *Server) Close() { s.close() }

// Reset removes everything that the server stores and has recorded, and its faults. It does
// not restart ids: an earlier id never identifies a later record.
//
// A request that is in flight is carried out after the reset. If it arrived before the
// reset, it keeps its fault; otherwise, it has none. Its effect is recorded, but
// [Server.Requests] does not return it.
func (s *Server) Reset() {
	s.tickets.faults.Clear()
	s.service.Reset()
}

// Client returns a client for the server, which waits only a few milliseconds before a
// retry. The options are those of [messaging.NewClient], and override the defaults.
// Client panics if an option is invalid.
func (s *Server) Client(opts ...messaging.Option) *messaging.Client {
	own := []messaging.Option{
		messaging.WithHTTPClient(&http.Client{Transport: transport{s}}),
		messaging.WithRetryPolicy(messaging.RetryPolicy{MinWait: time.Millisecond, MaxWait: 10 * time.Millisecond}),
		// NewClient does not allow an API key together with WithKeySource, which opts may
		// contain.
		messaging.WithKeySource(func(context.Context) (string, error) { return s.APIKey(), nil }),
		messaging.WithInsecureHTTP(), // to the host of InMemory, which is no loopback address
	}
	client, err := messaging.NewClient(s.http.URL, "", append(own, opts...)...)
	if err != nil {
		panic(err)
	}
	return client
}
